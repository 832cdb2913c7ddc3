"""Bank statements and matching."""

from datetime import date

import pytest

from ledgerline.bank import Movement, match, read_statement, running_balance, settle
from ledgerline.invoices import Invoice, Line

DAY = date(2026, 4, 7)


def invoice(number, cents):
    """Return an invoice without tax over an amount."""
    return Invoice(number, "Marlow", date(2026, 3, 2), [Line("paper", 1, cents)], tax_rate=0)


def test_read_statement():
    """Comments and empty lines are left out, spaces around columns do not count."""
    lines = ["# April", "2026-04-07; invoice 2026-014 ;121.00", "", "2026-04-08;fees;-3.50"]
    assert read_statement(lines) == [
        Movement(DAY, "invoice 2026-014", 12_100),
        Movement(date(2026, 4, 8), "fees", -350),
    ]


def test_read_statement_names_the_bad_line():
    """A line with a missing column is named by its number."""
    with pytest.raises(ValueError, match="line 2: 2 columns"):
        read_statement(["2026-04-07;a;1.00", "2026-04-08;fees"])


def test_match_by_number():
    """The number in the reference decides, whatever the amount."""
    first, second = invoice("2026-014", 500), invoice("2026-015", 700)
    assert match(Movement(DAY, "for 2026-015, thanks", 500), [first, second]) is second


def test_match_by_amount():
    """Without a number the only invoice over that amount is taken."""
    first, second = invoice("2026-014", 500), invoice("2026-015", 700)
    assert match(Movement(DAY, "thanks", 700), [first, second]) is second


def test_no_match_where_two_amounts_are_equal():
    """Two invoices over the same amount are left for a person to tell apart."""
    assert match(Movement(DAY, "thanks", 500), [invoice("2026-014", 500), invoice("2026-015", 500)]) is None


def test_paid_invoices_are_not_matched():
    """What is paid cannot be paid again."""
    paid = invoice("2026-014", 500)
    paid.pay(500)
    assert match(Movement(DAY, "2026-014", 500), [paid]) is None


def test_settle():
    """Incoming money is booked, the rest is handed back in order."""
    bill = invoice("2026-014", 500)
    fees, gift = Movement(DAY, "fees 2026-014", -350), Movement(DAY, "a gift", 9)
    assert settle([fees, Movement(DAY, "2026-014", 200), gift], [bill]) == [fees, gift]
    assert bill.open_amount == 300


def test_running_balance():
    """Each movement changes the balance that the one before left."""
    movements = [Movement(DAY, "in", 500), Movement(DAY, "out", -200), Movement(DAY, "in", 50)]
    assert running_balance(1_000, movements) == [1_500, 1_300, 1_350]
    assert running_balance(1_000, []) == []
