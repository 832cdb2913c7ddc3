"""A run as its readers go through it: one entry an iteration, with the decision that followed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pytest_noepicycle.domain.decision import Action, Decision
from pytest_noepicycle.domain.ladder import Ladder
from pytest_noepicycle.domain.run import Attempt, HistoryEntry, StopReason


def history(
    attempts: Sequence[Attempt], decisions: Mapping[int, Decision], ladder: Ladder, stop: StopReason
) -> tuple[HistoryEntry, ...]:
    """Return an entry for each attempt; ``decisions`` are keyed by the number of attempts that they looked at."""
    return tuple(_entry(attempt, decisions.get(attempt.iteration), ladder, stop) for attempt in attempts)


def _entry(attempt: Attempt, decision: Decision | None, ladder: Ladder, stop: StopReason) -> HistoryEntry:
    rung = ladder.rungs[attempt.rung]
    return HistoryEntry(
        iteration=attempt.iteration,
        model=rung.name if rung.kind == "search" else rung.model,
        score=attempt.score,
        delta=attempt.delta,
        tokens_used=attempt.tokens,
        decision=_action(decision, stop),
        reason=decision.reason if decision else stop.sentence,
        signal=str(decision.signal) if decision else "",
        note=attempt.note,
        error=attempt.error,
    )


def _action(decision: Decision | None, stop: StopReason) -> str:
    """A proof that held is where the run stopped."""
    if decision is None or (decision.action is Action.VERIFY and stop is StopReason.SOLVED):
        return str(Action.STOP)
    return str(decision.action)
