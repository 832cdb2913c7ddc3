"""The state and the ports of a run whose candidates are texts: no tree, no sandbox, a score from outside."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from pytest_noepicycle.domain.decision import Decision
from pytest_noepicycle.domain.ladder import Ladder
from pytest_noepicycle.domain.loop import Draft, LoopContext, Scored
from pytest_noepicycle.domain.run import Attempt, StopReason
from pytest_noepicycle.domain.settings import Thresholds
from pytest_noepicycle.ports import Clock, Journal
from pytest_noepicycle.supervisor.purse import Purse


class Writer(Protocol):
    """Whoever writes a candidate: a model, or an inner loop."""

    def write(self, context: LoopContext) -> Draft:
        """Write one candidate.

        :raises ProviderError: where none came, because of whoever should have written it.
        """
        ...


@dataclass(frozen=True, slots=True)
class Writing:
    """All that the next step needs. ``best`` is None before the first candidate; ``failure`` is the scorer's."""

    rung: str
    best: str | None = None
    best_score: float = 0.0
    feedback: str = ""
    attempts: tuple[Attempt, ...] = ()
    since_switch: int = 0
    left_behind: tuple[str, ...] = ()
    low_used: tuple[str, ...] = ()
    decision: Decision | None = None
    stop: StopReason | None = None
    why: str = ""
    failure: str = ""
    warnings: tuple[str, ...] = ()

    @property
    def scores(self) -> tuple[float, ...]:
        """Return the scores of the candidates that there were, in their order."""
        return tuple(attempt.score for attempt in self.attempts if attempt.candidates)


@dataclass(frozen=True, slots=True)
class Desk:
    """The ports of one run; ``deadline`` is on ``clock``; ``cancelled`` is asked before each decision.

    ``score`` raises :class:`ScoreError` for what is no score, ``warn`` says something to the caller at once.
    """

    task: str
    ladder: Ladder
    thresholds: Thresholds
    writers: Mapping[str, Writer]
    score: Callable[[str], Scored]
    purse: Purse
    journal: Journal
    clock: Clock
    deadline: float
    blocked: frozenset[str]
    told: Callable[[Any, Any], None]
    warn: Callable[[str], None]
    cancelled: Callable[[], bool]
