"""The journal and its balances."""

from datetime import date

import pytest

from ledgerline.accounts import Chart, UnknownAccount
from ledgerline.journal import Entry, Journal, Posting, Unbalanced

BANK, CASH, SALES = "assets:bank", "assets:cash", "income:sales"


@pytest.fixture
def journal():
    """A journal with a sale in March and cash taken from the bank in April."""
    journal = Journal(Chart([BANK, CASH, SALES]))
    journal.transfer(date(2026, 4, 2), "cash for the till", BANK, CASH, 2_000)
    journal.post(Entry(date(2026, 3, 31), "sale", (Posting(BANK, 10_000), Posting(SALES, -10_000)), cleared=True))
    return journal


def test_entries_are_in_order_of_their_days(journal):
    """What was posted late but happened early comes first."""
    assert [entry.text for entry in journal] == ["sale", "cash for the till"]


def test_balance(journal):
    """A balance is what all entries leave; the account above holds the sum."""
    assert journal.balance(BANK) == 8_000
    assert journal.balance(CASH) == 2_000
    assert journal.balance("assets") == 10_000


def test_balance_until_a_day_includes_that_day(journal):
    """The entry of the last day counts, a later one does not."""
    assert journal.balance(BANK, until=date(2026, 3, 31)) == 10_000
    assert journal.balance(BANK, until=date(2026, 3, 30)) == 0


def test_unbalanced_entries_are_refused(journal):
    """An entry that makes money from nothing is not taken."""
    with pytest.raises(Unbalanced, match="off by 5 cents"):
        journal.post(Entry(date(2026, 4, 3), "magic", (Posting(BANK, 10), Posting(CASH, -5))))
    assert len(journal) == 2


def test_unknown_accounts_are_refused(journal):
    """An entry on an account that the chart lacks is not taken."""
    with pytest.raises(UnknownAccount):
        journal.transfer(date(2026, 4, 3), "rent", BANK, "expenses:rent", 100)


def test_pending_entries(journal):
    """Only what the bank has not confirmed is pending, and only on the account it touches."""
    assert [entry.text for entry in journal.pending(BANK)] == ["cash for the till"]
    assert journal.pending(SALES) == []
