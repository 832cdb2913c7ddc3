"""The tab of an inner loop: what it takes is known only afterwards, so what it took decides whether it may go on."""

from __future__ import annotations

from dataclasses import dataclass

from pytest_noepicycle.domain.budget import Usage
from pytest_noepicycle.domain.ladder import Rung
from pytest_noepicycle.supervisor.purse import BudgetExhausted, BudgetOverrun, Purse

PURPOSE = "inner_loop"
_HINT = "Raise budget_cap, or let the inner loop take less at a time."


@dataclass(frozen=True, slots=True)
class Tab:
    """Charges one rung's inner loop to a purse."""

    purse: Purse
    rung: Rung

    def make_room(self) -> None:
        """See that another iteration may start: the dearest so far must still fit.

        :raises BudgetExhausted: where it does not fit, or nothing is left.
        :raises BudgetOverrun: where an earlier one took more than there was.
        """
        ledger, dearest = self.purse.ledger, self._dearest
        if ledger.overrun:
            raise BudgetOverrun("an earlier iteration took more than was left for it")
        if not ledger.fits(max(1, dearest), self._dearest_usd):
            raise BudgetExhausted(
                f"the dearest iteration so far took {dearest} tokens, {ledger.left} are left", hint=_HINT
            )

    def charge(self, usage: Usage) -> None:
        """Book what an iteration took; above what was left it is an overrun, and no other one starts."""
        self.purse.charge(self.rung, PURPOSE, usage)

    def charge_lost(self, least: int) -> None:
        """Book an iteration that told nothing of itself: as much as the dearest so far, ``least`` at the least."""
        self.charge(Usage(output=max(least, self._dearest)))

    @property
    def _dearest(self) -> int:
        return max((entry.tokens for entry in self.purse.ledger.entries if entry.purpose == PURPOSE), default=0)

    @property
    def _dearest_usd(self) -> float:
        return max((e.dollars or 0.0 for e in self.purse.ledger.entries if e.purpose == PURPOSE), default=0.0)
