"""Invoices: lines, discount, tax, what is still owed and what paying late costs."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import date

from ledgerline.dates import days_late, due_date
from ledgerline.money import percentage

REMINDER_FEE = 500
GRACE_DAYS = 3


@dataclass(frozen=True)
class Line:
    """Something sold: how many, at which price in cents each."""

    text: str
    quantity: int
    price: int

    @property
    def total(self) -> int:
        """Return the price of the whole line in cents."""
        return self.quantity * self.price


@dataclass
class Invoice:
    """A bill for a customer; rates are in basis points, terms in days."""

    number: str
    customer: str
    issued: date
    lines: list[Line]
    tax_rate: int = 2_100
    discount_rate: int = 0
    terms: int = 30
    payments: list[int] = field(default_factory=list)

    @property
    def subtotal(self) -> int:
        """Return the sum of the lines before discount and tax."""
        return sum(line.total for line in self.lines)

    @property
    def net(self) -> int:
        """Return what is left of the subtotal after the discount."""
        return self.subtotal + percentage(self.subtotal, self.discount_rate)

    @property
    def tax(self) -> int:
        """Return the tax on the net amount."""
        return percentage(self.net, self.tax_rate)

    @property
    def total(self) -> int:
        """Return what the customer has to pay."""
        return self.net + self.tax

    @property
    def open_amount(self) -> int:
        """Return what is still owed; nothing where more was paid than asked."""
        return max(0, self.total - sum(self.payments))

    @property
    def due(self) -> date:
        """Return the day by which it must be paid."""
        return due_date(self.issued, self.terms)

    def pay(self, cents: int) -> None:
        """Book a payment.

        :raises ValueError: where the amount is not positive.
        """
        if cents <= 0:
            raise ValueError("a payment must be more than zero")
        self.payments.append(cents)

    def late_fee(self, today: date) -> int:
        """Return the fee for a reminder, once the days of grace are over and money is still owed."""
        if not self.open_amount:
            return 0
        return REMINDER_FEE if days_late(self.due, today) > GRACE_DAYS else 0
