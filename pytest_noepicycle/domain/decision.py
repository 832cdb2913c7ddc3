"""Signals read from the score's movement, and the decision they lead to: pure, replayable, with its reason."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from pytest_noepicycle.domain.ladder import STOP, Ladder
from pytest_noepicycle.domain.run import Attempt, StopReason
from pytest_noepicycle.domain.settings import Thresholds


class Signal(StrEnum):
    """What the movement of the score says."""

    SOLVED = "solved"
    OUT_OF_TIME = "out_of_time"
    INTERRUPTED = "interrupted"
    ERROR = "error"
    BUDGET_STOP = "budget_stop"
    BUDGET_LOW = "budget_low"
    EXHAUSTED = "exhausted"
    FIXATION = "fixation"
    REGRESSION = "regression"
    PLATEAU = "plateau"
    NONE = "none"


class Action(StrEnum):
    """What to do next."""

    VERIFY = "verify"
    CONTINUE = "continue"
    SWITCH = "switch"
    STOP = "stop"


@dataclass(frozen=True, slots=True)
class Situation:
    """All that a decision may look at.

    ``left_behind`` are rungs left for plateau, regression or fixation; ``low_used`` are budget-low edges taken;
    ``blocked`` are rungs that cannot be used (no key, for one); ``budget_left`` is a share in [0, 1] or None
    where no rung of the ladder costs anything; ``halt`` is a signal from outside: no time left, or Ctrl-C;
    ``solved_at`` is the score that counts as solved, ``proven`` whether a cold run of tests has the last word then.
    """

    ladder: Ladder
    rung: str
    attempts: tuple[Attempt, ...]
    thresholds: Thresholds
    budget_left: float | None = None
    since_switch: int = 0
    left_behind: frozenset[str] = frozenset()
    low_used: frozenset[str] = frozenset()
    blocked: frozenset[str] = frozenset()
    halt: Signal | None = None
    solved_at: float = 1.0
    proven: bool = True


@dataclass(frozen=True, slots=True)
class Decision:
    """What was decided and why: ``rung`` is where it goes on, ``stop`` the reason where it ends."""

    action: Action
    signal: Signal
    reason: str
    rung: str | None = None
    stop: StopReason | None = None


def read_signal(situation: Situation) -> Signal:
    """Return the strongest signal of the situation; a switch earns a grace period first."""
    attempts, limits = situation.attempts, situation.thresholds
    here = _on_rung(situation)
    if not here:
        return situation.halt or Signal.NONE
    last = here[-1]
    if last.score >= situation.solved_at:
        return Signal.SOLVED
    if situation.halt:
        return situation.halt
    if last.error:
        return Signal.ERROR
    if last.unaffordable:
        return Signal.BUDGET_STOP if situation.budget_left == 0 else Signal.BUDGET_LOW
    if _costs(situation):
        if situation.budget_left is not None and situation.budget_left <= limits.budget_stop_pct:
            return Signal.BUDGET_STOP
        if situation.budget_left is not None and situation.budget_left <= limits.budget_low_pct:
            return Signal.BUDGET_LOW
    if last.exhausted:
        return Signal.EXHAUSTED
    if _fixated(here, limits.fixation_threshold):
        return Signal.FIXATION
    if len(here) < max(1, limits.grace_period) and len(here) < len(attempts):
        return Signal.NONE
    if len(here) > 1 and last.score < here[-2].score:
        return Signal.REGRESSION
    window = here[-limits.plateau_window :]
    if len(window) == limits.plateau_window and all(a.delta < limits.delta_threshold for a in window):
        return Signal.PLATEAU
    return Signal.NONE


def decide(situation: Situation) -> Decision:
    """Turn the situation into the next step along the ladder."""
    signal = read_signal(situation)
    if signal is Signal.SOLVED:
        return Decision(Action.VERIFY, signal, _reached(situation))
    if signal in _HALTS:
        stop, reason = _HALTS[signal]
        return Decision(Action.STOP, signal, reason, stop=stop)
    if signal is Signal.BUDGET_STOP:
        share = f"{situation.budget_left:.0%}" if situation.budget_left is not None else "nothing"
        return Decision(Action.STOP, signal, f"{share} of the budget is left", stop=StopReason.BUDGET)
    if signal is Signal.BUDGET_LOW:
        return _follow_low(situation)
    if signal is Signal.NONE:
        return Decision(Action.CONTINUE, signal, _movement(situation), rung=situation.rung)
    return _leave(situation, signal)


_HALTS = {
    Signal.OUT_OF_TIME: (StopReason.TIME_LIMIT, "what time is left is reserved for the proof"),
    Signal.INTERRUPTED: (StopReason.INTERRUPTED, "interrupted from the keyboard"),
}


def _follow_low(situation: Situation) -> Decision:
    """Budget low may enter any rung again, but each such edge only once."""
    rung = situation.ladder.rungs[situation.rung]
    if rung.name in situation.low_used:
        if _may_go_on(situation):
            return Decision(Action.CONTINUE, Signal.BUDGET_LOW, "its budget-low edge was taken before", rung=rung.name)
        return Decision(Action.STOP, Signal.BUDGET_LOW, "budget low, and no way on", stop=StopReason.BUDGET)
    target = rung.edge("on_budget_low")
    share = f"{situation.budget_left:.0%}" if situation.budget_left is not None else "little"
    if target == STOP or target in situation.blocked:
        return Decision(Action.STOP, Signal.BUDGET_LOW, f"{share} of the budget is left", stop=StopReason.BUDGET)
    return Decision(Action.SWITCH, Signal.BUDGET_LOW, f"{share} of the budget is left: {target} is next", rung=target)


def _may_go_on(situation: Situation) -> bool:
    here = _on_rung(situation)
    window = here[-situation.thresholds.plateau_window :]
    return any(a.delta >= situation.thresholds.delta_threshold for a in window) or len(here) < 2


_EDGE = {
    Signal.ERROR: "on_error",
    Signal.EXHAUSTED: "on_plateau",
    Signal.PLATEAU: "on_plateau",
    Signal.REGRESSION: "on_regression",
    Signal.FIXATION: "on_fixation",
}


def _leave(situation: Situation, signal: Signal) -> Decision:
    """Follow the signal's edge past rungs that cannot be entered, until one can or the ladder ends."""
    edge, name = _EDGE[signal], situation.rung
    closed = situation.left_behind | {situation.rung}
    passed: list[str] = []
    while True:
        name = situation.ladder.rungs[name].edge(edge)
        if name == STOP:
            return Decision(Action.STOP, signal, _ending(situation, signal, passed), stop=_why_stop(situation, signal))
        if name not in closed and name not in situation.blocked:
            return Decision(Action.SWITCH, signal, f"{_because(situation, signal)}: {name} is next", rung=name)
        passed.append(name)
        closed, edge = closed | {name}, "on_plateau"
        if passed.count(name) > 1:
            return Decision(Action.STOP, signal, _ending(situation, signal, passed), stop=StopReason.EXHAUSTED)


def _why_stop(situation: Situation, signal: Signal) -> StopReason:
    """Exhausted means that every reachable rung was tried; else the edge itself said stop."""
    if signal is Signal.ERROR:
        return StopReason.PROVIDER_ERROR
    tried = {attempt.rung for attempt in situation.attempts} | situation.blocked
    return StopReason.EXHAUSTED if tried >= set(situation.ladder.rungs) else StopReason.PLATEAU


def _because(situation: Situation, signal: Signal) -> str:
    last = situation.attempts[-1]
    if signal is Signal.ERROR:
        return f"{last.rung} failed: {last.error}"
    if signal is Signal.EXHAUSTED:
        return f"{last.rung} has nothing more to offer after {last.candidates} candidates"
    if signal is Signal.REGRESSION:
        return f"the score fell to {last.score:.2f}"
    if signal is Signal.FIXATION:
        return f"the last {situation.thresholds.fixation_threshold} attempts had the same effect"
    return f"{situation.thresholds.plateau_window} attempts gained less than {situation.thresholds.delta_threshold}"


def _ending(situation: Situation, signal: Signal, passed: Sequence[str]) -> str:
    cannot = [name for name in passed if name in situation.blocked]
    tail = f", and {', '.join(cannot)} cannot be used" if cannot else ""
    return f"{_because(situation, signal)}{tail}: the ladder ends here"


def _reached(situation: Situation) -> str:
    if situation.proven:
        return "every target passes in the sandbox; a cold run decides"
    return f"scored {situation.attempts[-1].score:.2f}, {situation.solved_at:.2f} was asked for"


def _movement(situation: Situation) -> str:
    if not situation.attempts:
        return "nothing was tried yet"
    last = situation.attempts[-1]
    if last.delta > 0:
        return f"the score rose by {last.delta:.2f} to {last.score:.2f}"
    return f"no gain yet ({last.score:.2f}); {situation.rung} may try again"


def _on_rung(situation: Situation) -> tuple[Attempt, ...]:
    """Return the attempts since the last switch, all of them on the present rung."""
    return situation.attempts[-situation.since_switch :] if situation.since_switch else ()


def _fixated(here: Sequence[Attempt], threshold: int) -> bool:
    last = here[-threshold:]
    return len(last) == threshold and threshold > 1 and len({a.effect for a in last}) == 1 and last[-1].delta <= 0


def _costs(situation: Situation) -> bool:
    return situation.ladder.rungs[situation.rung].kind != "search"
