"""The chart of accounts: a tree of names such as ``assets:bank:savings``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

KINDS = ("assets", "liabilities", "equity", "income", "expenses")


class UnknownAccount(KeyError):
    """An account that the chart does not hold."""


@dataclass(frozen=True)
class Account:
    """One account; its kind is the first part of its name."""

    name: str

    @property
    def kind(self) -> str:
        """Return the first part of the name."""
        return self.name.split(":", 1)[0]

    @property
    def parent(self) -> str | None:
        """Return the name one step up, or None at the top."""
        head, colon, _ = self.name.rpartition(":")
        return head if colon else None

    @property
    def depth(self) -> int:
        """Return how many steps lie above it."""
        return self.name.count(":")

    @property
    def grows_by_debit(self) -> bool:
        """Whether debits are its ordinary side."""
        return self.kind in ("assets", "expenses")


class Chart:
    """All accounts of a business, in order of their names."""

    def __init__(self, names: Iterable[str] = ()) -> None:
        self._accounts: dict[str, Account] = {}
        for name in names:
            self.open(name)

    def open(self, name: str) -> Account:
        """Add an account, and those above it where they are missing.

        :raises ValueError: where the first part of the name is no kind of account.
        """
        account = Account(name)
        if account.kind not in KINDS:
            raise ValueError(f"{name}: the first part must be one of {', '.join(KINDS)}")
        if account.parent is not None and account.parent not in self._accounts:
            self.open(account.parent)
        return self._accounts.setdefault(name, account)

    def find(self, name: str) -> Account:
        """Return an account by its full name.

        :raises UnknownAccount: where there is none.
        """
        try:
            return self._accounts[name]
        except KeyError:
            raise UnknownAccount(name) from None

    def below(self, name: str) -> list[Account]:
        """Return the account and all under it, sorted by name."""
        top = self.find(name)
        return [account for account in self if account == top or account.name.startswith(top.name + ":")]

    def __iter__(self) -> Iterator[Account]:
        return iter(sorted(self._accounts.values(), key=lambda account: account.name))

    def __contains__(self, name: str) -> bool:
        return name in self._accounts

    def __len__(self) -> int:
        return len(self._accounts)
