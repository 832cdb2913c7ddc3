"""The ledger: append-only reservations and settlements; every total is derived from them."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from pytest_noepicycle.domain.ladder import Price


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one call as the provider counted them, each kind apart."""

    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0

    @property
    def total(self) -> int:
        """Return all kinds together: this is what the token cap counts."""
        return self.input + self.output + self.cache_read + self.cache_write

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.input + other.input,
            self.output + other.output,
            self.cache_read + other.cache_read,
            self.cache_write + other.cache_write,
        )

    def cost(self, price: Price | None) -> float | None:
        """Return US dollars, or None where the price is unknown (never zero by mistake)."""
        if price is None:
            return 0.0 if self.total == 0 else None
        dollars = self.input * price.input + self.output * price.output
        dollars += self.cache_read * price.cache_read + self.cache_write * price.cache_write
        return dollars / 1e6


@dataclass(frozen=True, slots=True)
class Entry:
    """One call: what was set aside for it before, and what it took after (None: still open, or lost)."""

    call: str
    rung: str
    purpose: str
    reserved_tokens: int
    reserved_usd: float | None
    usage: Usage | None = None
    usd: float | None = None
    lost: bool = False

    @property
    def tokens(self) -> int:
        """Return what counts against the cap: the provider's figure, or the reservation while there is none."""
        return self.usage.total if self.usage is not None else self.reserved_tokens

    @property
    def outgrew(self) -> bool:
        """Return whether the call took more tokens or money than was set aside for it, rounding apart."""
        if self.usage is None:
            return False
        if self.usd is not None and self.reserved_usd is not None and self.usd > self.reserved_usd * (1 + 1e-9):
            return True
        return self.usage.total > self.reserved_tokens

    @property
    def dollars(self) -> float | None:
        """Return what counts against the money cap; None where the price is unknown."""
        return self.usd if self.usage is not None else self.reserved_usd


@dataclass(frozen=True, slots=True)
class Ledger:
    """All calls of a run against its caps: ``cap`` in tokens, ``cap_usd`` in dollars or None."""

    cap: int
    cap_usd: float | None = None
    entries: tuple[Entry, ...] = field(default=())

    @property
    def spent(self) -> int:
        """Return the tokens that count: used, lost, or still in flight."""
        return sum(entry.tokens for entry in self.entries)

    @property
    def left(self) -> int:
        """Return the tokens that may still be reserved; never below zero."""
        return max(0, self.cap - self.spent)

    @property
    def spent_usd(self) -> float | None:
        """Return the dollars that count; None as soon as one call's price is unknown."""
        total = 0.0
        for entry in self.entries:
            if entry.dollars is None:
                return None
            total += entry.dollars
        return total

    @property
    def usage(self) -> Usage:
        """Return what providers reported, all calls together."""
        total = Usage()
        for entry in self.entries:
            total += entry.usage or Usage()
        return total

    @property
    def overrun(self) -> bool:
        """Whether some call took more than was set aside for it: such a run must end."""
        return any(entry.outgrew for entry in self.entries)

    @property
    def left_share(self) -> float:
        """Return the share of the budget that is left, the scarcer of tokens and money, in [0, 1]."""
        share = self.left / self.cap if self.cap else 0.0
        if self.cap_usd:
            share = min(share, max(0.0, 1 - (self.spent_usd or 0.0) / self.cap_usd))
        return share

    def fits(self, tokens: int, usd: float | None) -> bool:
        """Whether a reservation of that size stays within both caps; unknown money never fits a money cap."""
        if tokens > self.left:
            return False
        if self.cap_usd is None:
            return True
        spent = self.spent_usd
        return usd is not None and spent is not None and spent + usd <= self.cap_usd

    def reserve(self, entry: Entry) -> Ledger:
        """Return the ledger with a call set aside.

        :raises ValueError: where it does not fit; ask :meth:`fits` first.
        """
        if not self.fits(entry.reserved_tokens, entry.reserved_usd):
            raise ValueError(f"{entry.call}: {entry.reserved_tokens} tokens do not fit the {self.left} that are left")
        return replace(self, entries=(*self.entries, entry))

    def settle(self, call: str, usage: Usage, usd: float | None) -> Ledger:
        """Return the ledger with a call's real usage in the place of its reservation."""
        return self._replace(call, usage=usage, usd=usd)

    def lose(self, call: str) -> Ledger:
        """Return the ledger with a call whose answer never came: it stays charged as reserved."""
        return self._replace(call, lost=True)

    def _replace(self, call: str, **fields: object) -> Ledger:
        entries = tuple(replace(e, **fields) if e.call == call else e for e in self.entries)  # type: ignore[arg-type]
        return replace(self, entries=entries)
