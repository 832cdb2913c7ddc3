"""Reports."""

from datetime import date

import pytest

from ledgerline.accounts import Chart
from ledgerline.invoices import Invoice, Line
from ledgerline.journal import Journal
from ledgerline.statements import age_class, aging, average_order, profit, totals, trial_balance

TODAY = date(2026, 6, 1)


@pytest.fixture
def journal():
    """A quarter of a small shop: sales of 900.00, rent of 400.00."""
    journal = Journal(Chart(["assets:bank", "income:sales", "expenses:rent"]))
    journal.transfer(date(2026, 1, 15), "sale", "income:sales", "assets:bank", 90_000)
    journal.transfer(date(2026, 2, 1), "rent", "assets:bank", "expenses:rent", 40_000)
    return journal


def invoice(issued, cents):
    """Return an invoice without tax, due at once."""
    return Invoice("1", "Marlow", issued, [Line("paper", 1, cents)], tax_rate=0, terms=0)


def test_profit(journal):
    """What was earned less what was spent."""
    assert profit(journal) == 50_000


def test_profit_until_a_day(journal):
    """Rent that is paid later does not count yet."""
    assert profit(journal, until=date(2026, 1, 31)) == 90_000


def test_totals_balance(journal):
    """Debits and credits are equal in a journal that balances."""
    assert totals(journal) == (130_000, 130_000)


@pytest.mark.parametrize(
    ("late", "name"), [(0, "current"), (1, "1-30"), (30, "1-30"), (31, "31-60"), (60, "31-60"), (90, "61-90"), (91, "over 90")]
)
def test_age_class(late, name):
    """Each class includes its last day."""
    assert age_class(late) == name


def test_aging():
    """Open amounts are added up by age; what is paid does not count."""
    paid = invoice(date(2026, 1, 5), 999)
    paid.pay(999)
    bills = [invoice(TODAY, 100), invoice(date(2026, 5, 29), 20), invoice(date(2026, 5, 18), 3), paid]
    assert aging(bills, TODAY) == {"current": 100, "1-30": 23, "31-60": 0, "61-90": 0, "over 90": 0}


def test_average_order():
    """The mean of the net amounts, rounded down."""
    assert average_order([invoice(TODAY, 100), invoice(TODAY, 201)]) == 150


def test_average_order_of_nothing():
    """Without invoices there is no average to speak of."""
    assert average_order([]) == 0


def test_trial_balance(journal):
    """Accounts with a balance are listed by name, debits and credits in columns of their own."""
    assert trial_balance(journal).splitlines() == [
        "account         debit  credit",
        "-------------  ------  ------",
        "assets:bank    500.00",
        "expenses:rent  400.00",
        "income:sales           900.00",
    ]
