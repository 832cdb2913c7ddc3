"""Signals and decisions: pure tables, and the theorem that every walk along a ladder ends."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_noepicycle.domain.decision import Action, Signal, Situation, decide, read_signal
from pytest_noepicycle.domain.ladder import Ladder
from pytest_noepicycle.domain.run import Attempt, StopReason
from pytest_noepicycle.domain.settings import Thresholds

LADDER = Ladder.from_mapping(
    {
        "search": {"kind": "search", "on_plateau": "small"},
        "small": {"on_plateau": "middle", "on_regression": "large", "on_budget_low": None},
        "middle": {"on_plateau": "large", "on_budget_low": "small"},
        "large": {"on_plateau": None, "on_budget_low": "middle"},
    }
)


def attempts(rung: str, *scores: float, **fields) -> tuple[Attempt, ...]:
    """Return attempts on a rung with these scores, each with an effect of its own unless one is given."""
    best, made = 0.0, []
    for number, value in enumerate(scores, 1):
        effect = fields.get("effect", f"{rung}{number}")
        made.append(Attempt(number, rung, value, value - best, effect))
        best = max(best, value)
    last = {key: value for key, value in fields.items() if key != "effect"}
    return (*made[:-1], replace(made[-1], **last)) if made else ()


def situation(rung: str, made: tuple[Attempt, ...], **fields) -> Situation:
    """Return a situation with all attempts on the present rung unless said otherwise."""
    fields.setdefault("since_switch", len(made))
    fields.setdefault("budget_left", 1.0)
    return Situation(LADDER, rung, made, Thresholds(), **fields)


@pytest.mark.parametrize(
    ("given", "signal"),
    [
        (situation("small", ()), Signal.NONE),
        (situation("small", attempts("small", 0.2)), Signal.NONE),
        (situation("small", attempts("small", 0.2, 0.4)), Signal.NONE),
        (situation("small", attempts("small", 0.0, 0.0)), Signal.PLATEAU),
        (situation("small", attempts("small", 0.5, 0.5, 0.51)), Signal.PLATEAU),
        (situation("small", attempts("small", 0.5, 0.2)), Signal.REGRESSION),
        (situation("small", attempts("small", 0.0, 0.0, effect="same")), Signal.FIXATION),
        (situation("small", attempts("small", 1.0)), Signal.SOLVED),
        (situation("small", attempts("small", 0.0, error="down")), Signal.ERROR),
        (situation("search", attempts("search", 0.0, exhausted=True)), Signal.EXHAUSTED),
        (situation("search", attempts("search", 0.5)), Signal.NONE),
        (situation("small", attempts("small", 0.2), budget_left=0.25), Signal.BUDGET_LOW),
        (situation("small", attempts("small", 0.2), budget_left=0.05), Signal.BUDGET_STOP),
        (situation("small", attempts("small", 0.2, unaffordable=True)), Signal.BUDGET_LOW),
        (situation("search", attempts("search", 0.5), budget_left=0.0), Signal.NONE),
        (situation("small", attempts("small", 0.2), halt=Signal.OUT_OF_TIME), Signal.OUT_OF_TIME),
        (situation("small", attempts("small", 1.0), halt=Signal.OUT_OF_TIME), Signal.SOLVED),
    ],
)
def test_the_movement_of_the_score_is_read(given, signal):
    """Each signal from the smallest situation that shows it."""
    assert read_signal(given) is signal


@pytest.mark.parametrize(
    ("given", "action", "rung", "stop"),
    [
        (situation("small", attempts("small", 1.0)), Action.VERIFY, None, None),
        (situation("small", attempts("small", 0.2)), Action.CONTINUE, "small", None),
        (situation("search", attempts("search", 0.0, exhausted=True)), Action.SWITCH, "small", None),
        (situation("small", attempts("small", 0.0, 0.0)), Action.SWITCH, "middle", None),
        (situation("small", attempts("small", 0.5, 0.2)), Action.SWITCH, "large", None),
        (situation("middle", attempts("middle", 0.2), budget_left=0.2), Action.SWITCH, "small", None),
        (situation("small", attempts("small", 0.2), budget_left=0.2), Action.STOP, None, StopReason.BUDGET),
        (situation("small", attempts("small", 0.2), budget_left=0.0), Action.STOP, None, StopReason.BUDGET),
        (situation("large", attempts("large", 0.0, 0.0)), Action.STOP, None, StopReason.PLATEAU),
        (
            situation(
                "search", attempts("search", 0.0, exhausted=True), blocked=frozenset({"small", "middle", "large"})
            ),
            Action.STOP,
            None,
            StopReason.EXHAUSTED,
        ),
        (
            situation("search", attempts("search", 0.0, exhausted=True), blocked=frozenset({"small"})),
            Action.SWITCH,
            "middle",
            None,
        ),
        (situation("large", attempts("large", 0.0, error="529")), Action.STOP, None, StopReason.PROVIDER_ERROR),
        (
            situation("small", attempts("small", 0.2), halt=Signal.INTERRUPTED),
            Action.STOP,
            None,
            StopReason.INTERRUPTED,
        ),
    ],
)
def test_each_signal_leads_along_its_edge(given, action, rung, stop):
    """The decision follows the ladder, past rungs that cannot be used."""
    decision = decide(given)
    assert (decision.action, decision.rung, decision.stop) == (action, rung, stop)
    assert decision.reason


def test_a_rung_that_was_left_is_not_entered_again_by_the_same_kind_of_signal():
    """Plateau on the middle rung goes past the one that was left behind."""
    decision = decide(situation("middle", attempts("middle", 0.0, 0.0), left_behind=frozenset({"large"})))
    assert decision.action is Action.STOP


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_every_walk_ends_whatever_the_scores_and_the_budget_do(data):
    """Termination is a theorem about ladder and budget: no walk is longer than the ladder allows."""
    rung, made, since = "search", (), 0
    left, low = frozenset[str](), frozenset[str]()
    budget, best = 1.0, 0.0
    for step in range(200):
        value = data.draw(st.sampled_from([0.0, best, min(0.99, best + 0.1)]))
        budget = max(0.0, budget - data.draw(st.sampled_from([0.0, 0.02, 0.2])))
        effect = data.draw(st.sampled_from(["a", "b", str(step)]))
        made = (
            *made,
            Attempt(step + 1, rung, value, value - best, effect, exhausted=rung == "search" and value <= best),
        )
        best, since = max(best, value), since + 1
        now = Situation(LADDER, rung, made, Thresholds(), budget, since, left, low)
        decision = decide(now)
        if decision.action is Action.STOP:
            return
        if decision.action is Action.SWITCH:
            low = low | {rung} if decision.signal is Signal.BUDGET_LOW else low
            left = left if decision.signal is Signal.BUDGET_LOW else left | {rung}
            rung, since = decision.rung, 0
    raise AssertionError("the walk did not end")
