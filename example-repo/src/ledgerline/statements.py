"""Reports: trial balance, profit, and how old the open invoices are."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date

from ledgerline.dates import days_late
from ledgerline.invoices import Invoice
from ledgerline.journal import Journal
from ledgerline.money import format_amount
from ledgerline.tables import render

AGES = (("current", 0), ("1-30", 30), ("31-60", 60), ("61-90", 90))
OLDEST = "over 90"


def profit(journal: Journal, until: date | None = None) -> int:
    """Return income less expenses in cents; income is kept as credits, so its sign is turned."""
    income = -journal.balance("income", until=until)
    expenses = journal.balance("expenses", until=until)
    return income - expenses


def age_class(late: int) -> str:
    """Return the class for a number of days late."""
    for name, limit in AGES:
        if late <= limit:
            return name
    return OLDEST


def aging(invoices: Iterable[Invoice], today: date) -> dict[str, int]:
    """Return the open amounts by age class, each class present even where nothing is owed."""
    sums = dict.fromkeys([name for name, _ in AGES] + [OLDEST], 0)
    for invoice in invoices:
        sums[age_class(days_late(invoice.due, today))] += invoice.open_amount
    return sums


def average_order(invoices: list[Invoice]) -> int:
    """Return the mean net amount of invoices in whole cents, rounded down; nothing where there are none."""
    if not invoices:
        return 0
    return sum(invoice.net for invoice in invoices) // len(invoices)


def totals(journal: Journal) -> tuple[int, int]:
    """Return all debits and all credits, both as positive cents."""
    debits = credits = 0
    for entry in journal:
        for posting in entry.postings:
            if posting.cents > 0:
                debits += posting.cents
            else:
                debits -= posting.cents
    return debits, credits


def trial_balance(journal: Journal) -> str:
    """Return a table with a line for each account that has a balance, debits and credits apart."""
    rows = []
    for account in journal.chart:
        cents = sum(entry.amount(account.name) for entry in journal)
        if cents > 0:
            rows.append([account.name, format_amount(cents), ""])
        elif cents < 0:
            rows.append([account.name, "", format_amount(-cents)])
    return render(["account", "debit", "credit"], rows, right=frozenset({1, 2}))
