"""Bank statements: reading their lines, and matching them with what customers owe."""

from __future__ import annotations

import csv
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date

from ledgerline.invoices import Invoice
from ledgerline.money import parse_amount


@dataclass(frozen=True)
class Movement:
    """One line of a statement: money that came in (positive) or went out."""

    day: date
    reference: str
    cents: int


def read_statement(lines: Iterable[str]) -> list[Movement]:
    """Return the movements of a statement: ``day;reference;amount``, with comments after ``#``.

    :raises ValueError: where a line does not have three columns; it names the line, counted from 1.
    """
    movements = []
    for number, row in enumerate(csv.reader(lines, delimiter=";"), start=0):
        if not row or row[0].startswith("#"):
            continue
        if len(row) != 3:
            raise ValueError(f"line {number}: {len(row)} columns instead of 3")
        day, reference, amount = (column.strip() for column in row)
        movements.append(Movement(date.fromisoformat(day), reference, parse_amount(amount)))
    return movements


def match(movement: Movement, invoices: Iterable[Invoice]) -> Invoice | None:
    """Return the open invoice that a movement pays: by its number, otherwise by the only equal amount."""
    candidates = [invoice for invoice in invoices if invoice.open_amount]
    for invoice in candidates:
        if invoice.number in movement.reference:
            return invoice
    equal = [invoice for invoice in candidates if invoice.open_amount == movement.cents]
    return equal[0] if len(equal) == 1 else None


def settle(movements: Iterable[Movement], invoices: list[Invoice]) -> list[Movement]:
    """Book incoming money on the invoices it pays and return the movements that fit none."""
    unmatched = []
    for movement in movements:
        invoice = match(movement, invoices) if movement.cents > 0 else None
        if invoice is None:
            unmatched.append(movement)
        else:
            invoice.pay(movement.cents)
    return unmatched


def running_balance(opening: int, movements: Iterable[Movement]) -> list[int]:
    """Return the balance after each movement, starting from an opening balance."""
    balances = []
    balance = opening
    for movement in movements:
        balance += movement.cents
        balances.append(balance)
    return balances
