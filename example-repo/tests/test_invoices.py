"""Invoices: amounts, payments and late fees."""

from datetime import date

import pytest

from ledgerline.invoices import Invoice, Line


def invoice(**changes):
    """Return an invoice for 100.00 net, issued on a Monday and due on Wednesday, 1 April 2026."""
    values = {"number": "2026-014", "customer": "Marlow", "issued": date(2026, 3, 2), "lines": [Line("paper", 4, 2_500)]}
    return Invoice(**{**values, **changes})


def test_total_with_tax():
    """Tax comes on top of the net amount."""
    bill = invoice()
    assert (bill.net, bill.tax, bill.total) == (10_000, 2_100, 12_100)


def test_discount_lowers_the_net_amount():
    """Ten per cent off is taken before tax."""
    bill = invoice(discount_rate=1_000)
    assert bill.net == 9_000
    assert bill.total == 10_890


def test_lines_add_up():
    """Each line counts its quantity."""
    bill = invoice(lines=[Line("paper", 4, 2_500), Line("pens", 10, 120)])
    assert bill.subtotal == 11_200


def test_payments_lower_what_is_owed():
    """Two payments are both taken off, and paying too much leaves nothing open."""
    bill = invoice()
    bill.pay(2_000)
    bill.pay(100)
    assert bill.open_amount == 10_000
    bill.pay(20_000)
    assert bill.open_amount == 0


@pytest.mark.parametrize("cents", [0, -5])
def test_payments_must_be_positive(cents):
    """Nothing, and less than nothing, is no payment."""
    with pytest.raises(ValueError, match="more than zero"):
        invoice().pay(cents)


def test_due_date():
    """Thirty days after the second of March is the first of April."""
    assert invoice().due == date(2026, 4, 1)


def test_no_late_fee_within_the_days_of_grace():
    """Three days after the due date still cost nothing."""
    assert invoice().late_fee(date(2026, 4, 1)) == 0
    assert invoice().late_fee(date(2026, 4, 4)) == 0


def test_late_fee():
    """From the fourth day on a reminder is charged."""
    assert invoice().late_fee(date(2026, 4, 5)) == 500


def test_no_late_fee_once_paid():
    """Who has paid gets no reminder."""
    bill = invoice()
    bill.pay(12_100)
    assert bill.late_fee(date(2026, 6, 1)) == 0
