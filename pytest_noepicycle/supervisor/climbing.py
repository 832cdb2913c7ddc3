"""One rung is left for another: what every kind of run has to remember of it."""

from __future__ import annotations

from dataclasses import replace
from typing import Protocol, TypeVar

from pytest_noepicycle.domain.decision import Decision, Signal


class Climber(Protocol):
    """A state that stands on a rung."""

    @property
    def rung(self) -> str:
        """The rung it stands on."""
        ...

    @property
    def left_behind(self) -> tuple[str, ...]:
        """The rungs left for plateau, regression or fixation."""
        ...

    @property
    def low_used(self) -> tuple[str, ...]:
        """The rungs whose budget-low edge was taken."""
        ...


S = TypeVar("S", bound=Climber)


def entered(state: S, decision: Decision) -> S:
    """Return the state on the rung that the decision names; the one before is closed to all but a low budget."""
    low = decision.signal is Signal.BUDGET_LOW
    return replace(  # type: ignore[type-var]
        state,
        rung=decision.rung or state.rung,
        since_switch=0,
        left_behind=state.left_behind if low else _added(state.left_behind, state.rung),
        low_used=_added(state.low_used, state.rung) if low else state.low_used,
    )


def _added(names: tuple[str, ...], name: str) -> tuple[str, ...]:
    return names if name in names else (*names, name)
