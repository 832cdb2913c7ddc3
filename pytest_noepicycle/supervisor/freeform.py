"""The loop over texts: the same graph and the same decision, with a scorer in the place of tests and sandbox."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from pytest_noepicycle.codec import decode, encode
from pytest_noepicycle.domain import loop
from pytest_noepicycle.domain.decision import Decision, Signal, Situation
from pytest_noepicycle.domain.decision import decide as decided
from pytest_noepicycle.domain.loop import LoopContext, Scored
from pytest_noepicycle.domain.run import Attempt, StopReason
from pytest_noepicycle.domain.settings import Thresholds
from pytest_noepicycle.domain.signal_quality import binary_warning, is_binary, widened
from pytest_noepicycle.errors import ProviderError, ScoreError
from pytest_noepicycle.supervisor import graph
from pytest_noepicycle.supervisor.climbing import entered
from pytest_noepicycle.supervisor.purse import BudgetExhausted, BudgetOverrun
from pytest_noepicycle.supervisor.untraced import untraced
from pytest_noepicycle.supervisor.writing import Desk, Writing


def run(start: Writing, desk: Desk) -> Writing:
    """Walk the graph to its end; Ctrl-C ends it with the last whole state, and so with the best."""
    last = start
    walk = graph.build(desk, STEPS, Writing).compile()
    try:
        with untraced():
            for values in walk.stream({"state": encode(start)}, {"recursion_limit": 1_000_000}, stream_mode="values"):
                last = decode(Writing, values["state"])
    except KeyboardInterrupt:
        desk.journal.write("interrupted")
        return replace(last, stop=StopReason.INTERRUPTED, why="interrupted from the keyboard")
    return last


def begin(state: Writing, desk: Desk) -> Writing:
    """Nothing was written yet, so there is nothing to measure."""
    desk.journal.write("task", text=desk.task)
    return state


def attempt(state: Writing, desk: Desk) -> Writing:
    """Have a candidate written and scored; keep it where it is better than the best."""
    began, spent = desk.clock(), desk.purse.ledger.spent
    tried = _tried(state, desk)
    made = Attempt(
        iteration=len(state.attempts) + 1,
        rung=state.rung,
        score=tried.scored.score if tried.scored else state.best_score,
        delta=tried.scored.score - state.best_score if tried.scored else 0.0,
        effect=loop.effect_of(tried.text) if tried.text is not None else "nothing",
        candidates=int(tried.scored is not None),
        tokens=desk.purse.ledger.spent - spent,
        unaffordable=tried.unaffordable,
        error=tried.error,
        note=tried.note,
        seconds=desk.clock() - began,
    )
    desk.journal.write("attempt", **encode(made), candidate=tried.text)
    state = replace(
        state,
        attempts=(*state.attempts, made),
        since_switch=state.since_switch + 1,
        feedback=_feedback(made, tried),
        failure=tried.failure,
    )
    if tried.text is not None and (state.best is None or made.score > state.best_score):
        state = replace(state, best=tried.text, best_score=made.score)
    return state


@dataclass(frozen=True, slots=True)
class _Tried:
    """What one attempt came to: a text with its score, or why there is none."""

    text: str | None = None
    scored: Scored | None = None
    note: str = ""
    error: str | None = None
    unaffordable: bool = False
    failure: str = ""


def _tried(state: Writing, desk: Desk) -> _Tried:
    tried = _Tried()
    try:
        draft = desk.writers[state.rung].write(_context(state, desk))
        tried = _Tried(draft.text, note=draft.note)
        return tried if draft.text is None else replace(tried, scored=desk.score(draft.text))
    except (BudgetExhausted, BudgetOverrun) as problem:
        desk.journal.write("unaffordable", why=str(problem))
        return replace(tried, unaffordable=True, note=str(problem))
    except ProviderError as problem:
        return replace(tried, error=str(problem))
    except ScoreError as problem:
        return replace(tried, error=str(problem), failure=str(problem))


def _context(state: Writing, desk: Desk) -> LoopContext:
    return LoopContext(
        task=desk.task,
        best=state.best or "",
        best_score=state.best_score,
        feedback=state.feedback,
        model=desk.ladder.rungs[state.rung].model,
        tokens_left=desk.purse.ledger.left,
        attempts=state.attempts,
        constraints=loop.constraints(state.attempts),
        direction=loop.direction(state.attempts),
        seconds_left=max(0.0, desk.deadline - desk.clock()),
    )


def _feedback(made: Attempt, tried: _Tried) -> str:
    if tried.scored is None:
        return f"The last attempt gave no candidate: {tried.error or tried.note}"
    said = f" {tried.scored.feedback}" if tried.scored.feedback else ""
    return f"The last candidate scored {made.score:.2f} ({made.delta:+.2f} against the best before it).{said}"


def decide(state: Writing, desk: Desk) -> Writing:
    """Take the decision: pure, from the situation alone; a score of only two values asks for more patience."""
    thresholds, warned = _patience(state, desk)
    situation = Situation(
        ladder=desk.ladder,
        rung=state.rung,
        attempts=state.attempts,
        thresholds=thresholds,
        budget_left=_budget_left(desk),
        since_switch=state.since_switch,
        left_behind=frozenset(state.left_behind),
        low_used=frozenset(state.low_used),
        blocked=desk.blocked,
        halt=_halt(state, desk),
        solved_at=thresholds.success_threshold,
        proven=False,
    )
    decision = decided(situation)
    inputs = {k: v for k, v in encode(situation).items() if k not in ("ladder", "attempts")}
    desk.journal.write("decision", **encode(decision), situation=inputs)
    desk.told(situation, decision)
    return replace(state, decision=decision, warnings=warned)


def _budget_left(desk: Desk) -> float:
    """Whoever took more than was left for it leaves nothing to go on with."""
    ledger = desk.purse.ledger
    return 0.0 if ledger.overrun else ledger.left_share


def _patience(state: Writing, desk: Desk) -> tuple[Thresholds, tuple[str, ...]]:
    limits, scores = desk.thresholds, state.scores
    if not is_binary(scores):
        return limits, state.warnings
    said = binary_warning(limits)
    if said not in state.warnings and scores[-1] < limits.success_threshold:
        desk.warn(said)
        return widened(limits), (*state.warnings, said)
    return widened(limits), state.warnings


def _halt(state: Writing, desk: Desk) -> Signal | None:
    if state.failure or desk.cancelled():
        return Signal.INTERRUPTED
    return Signal.OUT_OF_TIME if desk.clock() >= desk.deadline else None


def climb(state: Writing, desk: Desk) -> Writing:
    """Enter the rung that the decision names, with a clean mind."""
    return entered(state, _decision(state))


def solved(state: Writing, desk: Desk) -> Writing:
    """The scorer's word is the last one here: there is nothing else to prove it by."""
    return replace(state, stop=StopReason.SOLVED, why=_decision(state).reason)


def close(state: Writing, desk: Desk) -> Writing:
    """End the run with the decision's reason; the best stays the best."""
    decision = _decision(state)
    return replace(state, stop=decision.stop or StopReason.EXHAUSTED, why=decision.reason)


STEPS: Mapping[str, Callable[[Writing, Desk], Writing]] = {
    "baseline": begin,
    "attempt": attempt,
    "decide": decide,
    "climb": climb,
    "verify": solved,
    "close": close,
}


def _decision(state: Writing) -> Decision:
    if state.decision is None:
        raise ValueError("no decision was taken before this step")
    return state.decision
