"""The journal: entries whose postings add up to nothing, and the balances that follow from them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date

from ledgerline.accounts import Chart


class Unbalanced(ValueError):
    """Postings that do not add up to nothing."""


@dataclass(frozen=True)
class Posting:
    """A change of one account in cents; debits are positive, credits negative."""

    account: str
    cents: int


@dataclass(frozen=True)
class Entry:
    """What happened on a day, as postings that balance."""

    day: date
    text: str
    postings: tuple[Posting, ...]
    cleared: bool = False

    def amount(self, account: str) -> int:
        """Return what the entry changes on one account."""
        return sum(posting.cents for posting in self.postings if posting.account == account)


class Journal:
    """Entries in the order of their days, on the accounts of a chart."""

    def __init__(self, chart: Chart) -> None:
        self.chart = chart
        self._entries: list[Entry] = []

    def post(self, entry: Entry) -> None:
        """Add an entry; entries of the same day keep the order in which they came.

        :raises Unbalanced: where the postings do not add up to nothing.
        :raises UnknownAccount: where the chart lacks an account.
        """
        difference = sum(posting.cents for posting in entry.postings)
        if difference != 0:
            raise Unbalanced(f"{entry.text}: off by {difference} cents")
        for posting in entry.postings:
            self.chart.find(posting.account)
        self._entries.append(entry)
        self._entries.sort(key=lambda other: other.day)

    def transfer(self, day: date, text: str, source: str, target: str, cents: int) -> Entry:
        """Move an amount from one account to another and return the entry."""
        entry = Entry(day, text, (Posting(target, cents), Posting(source, -cents)))
        self.post(entry)
        return entry

    def balance(self, account: str, *, until: date | None = None) -> int:
        """Return the balance of an account and all under it, up to and including a day."""
        names = {one.name for one in self.chart.below(account)}
        entries = [entry for entry in self if until is None or entry.day <= until]
        return sum(posting.cents for entry in entries for posting in entry.postings if posting.account in names)

    def pending(self, account: str) -> list[Entry]:
        """Return the entries on an account that the bank has not confirmed yet."""
        return [entry for entry in self if entry.cleared and entry.amount(account)]

    def __iter__(self) -> Iterator[Entry]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)
