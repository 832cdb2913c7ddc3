"""Decisions taken again: what agrees, what does not, and what other thresholds would have done, if that is known."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import pytest
from journals import Pretended, check_form
from loops import Loop, first_number

from pytest_noepicycle import Supervisor
from pytest_noepicycle.domain.decision import Action, Decision, Situation, decide
from pytest_noepicycle.domain.settings import Thresholds
from pytest_noepicycle.errors import RecordError, UsageError
from pytest_noepicycle.replay import _Walk, replay, thresholds
from pytest_noepicycle.report import journal


def changed(events: list[dict[str, Any]], number: int, **fields: Any) -> list[dict[str, Any]]:
    """Return the events with other fields in one decision, counted from zero."""
    places = [place for place, event in enumerate(events) if event["event"] == "decision"]
    return [{**event, **fields} if place == places[number] else event for place, event in enumerate(events)]


def test_a_long_climb_agrees_to_the_last_decision():
    """Four rungs, gains and plateaus: every decision comes out as it is recorded."""
    events = Pretended(gains={1: 1, 4: 1, 8: 1}).run(40)
    done = replay(events)
    assert done.recorded == len(done.decisions) > 8
    assert done.differing == ()
    assert done.decisions[-1].again.action is Action.STOP


@pytest.mark.parametrize(
    ("fields", "unlike"),
    [
        ({"action": "stop", "stop": "plateau"}, ("action", "stop")),
        ({"signal": "plateau"}, ("signal",)),
        ({"reason": "because"}, ("reason",)),
        ({"rung": "claude-opus-4-8"}, ("rung",)),
    ],
)
def test_a_decision_that_was_not_taken_so_is_found(fields: dict[str, Any], unlike: tuple[str, ...]):
    """Action, signal, reason, rung and stop are all compared."""
    done = replay(changed(Pretended().run(1), 0, **fields))
    assert done.differing[0].unlike == unlike


def test_a_journal_whose_path_contradicts_its_decisions_is_found():
    """The rung and what was left behind are rebuilt from the events, not believed."""
    events = Pretended().run(6)
    last = [event for event in events if event["event"] == "decision"][-1]
    lying = {**last["situation"], "left_behind": [], "since_switch": 7}
    assert last["situation"]["left_behind"]
    done = replay(changed(events, -1, situation=lying))
    assert done.differing[-1].unlike == ("situation.since_switch", "situation.left_behind")


def test_an_effect_that_the_journal_had_to_cut_is_still_told_apart():
    """Two attempts whose long effects look the same once cut are no fixation: the digest decides."""
    events = [{**event, "effect": "cut"} if event["event"] == "attempt" else event for event in Pretended().run(6)]
    assert replay(events).differing == ()
    blind = [{key: value for key, value in event.items() if key != "effect_digest"} for event in events]
    assert replay(blind).differing


def test_a_resumed_run_is_taken_again_from_where_it_went_on():
    """An attempt that was made twice counts once, on the rung and with the memory that it began with."""
    events = Pretended().run(40)
    switch = next(n for n, event in enumerate(events) if event.get("action") == "switch")
    first = next(n for n, event in enumerate(events) if n > switch and event["event"] == "attempt")
    broken_off = [*events[: first + 1], {**events[0], "event": "resumed"}, *events[switch + 1 :]]
    assert replay(broken_off).differing == ()
    assert replay(broken_off).recorded == replay(events).recorded
    retaken = [*events[: switch + 1], {**events[0], "event": "resumed"}, *events[switch:]]
    assert replay(retaken).differing == ()


def test_a_shorter_window_would_have_left_a_rung_earlier_and_spared_what_came_of_it():
    """What was spent on the rung after that is known; what the next rung would have said then is not."""
    done = replay(Pretended().run(40), {"plateau_window": 1, "grace_period": 0})
    parted = done.differing[0]
    assert (parted.number, parted.recorded.action, parted.again.action) == (1, Action.CONTINUE, Action.SWITCH)
    assert len(done.decisions) == 1
    assert (done.stint.attempts, done.stint.best) == (1, 0.0)
    assert done.rest.attempts == len([e for e in Pretended().run(40) if e["event"] == "attempt"]) - 1


def test_a_stop_that_other_settings_would_have_made_saves_all_that_came_after_and_loses_its_gain():
    """A whole share of the budget is asked for, which a model's first call takes: the rest of the run is counted."""
    events = Pretended(gains={4: 2}, cap=1000).run(40)
    spent = sum(event["usage"]["input"] for event in events if event["event"] == "call_settled")
    done = replay(events, {"budget_stop_pct": 0.98})
    parted = done.differing[0]
    assert (parted.then.attempts, str(parted.again.stop)) == (3, "budget")
    assert done.rest.tokens == spent - parted.then.tokens > 0
    assert done.rest.usd == pytest.approx(0.005 * done.rest.tokens / 10)
    assert done.rest.best == 0.5


def test_settings_that_change_nothing_are_said_to_change_nothing():
    """The whole run is walked, and no decision is another."""
    done = replay(Pretended().run(40), {"delta_threshold": 0.01})
    assert done.differing == ()
    assert len(done.decisions) == done.recorded


def test_a_run_over_texts_is_taken_again_with_its_own_patience(tmp_path, monkeypatch):
    """Two-valued scores widen the window; the journal has the widened one, and a change of it is widened too."""
    monkeypatch.chdir(tmp_path)
    with pytest.warns(UserWarning, match="Binary scoring"):
        Supervisor(score_fn=first_number, dir="records", ladder={"one": {"on_plateau": None}}).run(
            "the task", inner_loop=Loop([0.0])
        )
    (record,) = (tmp_path / "records/runs").iterdir()
    events = list(journal.read(record / "decisions.jsonl"))
    check_form(events)
    done = replay(events)
    assert done.differing == ()
    assert done.recorded > 1
    sooner = replay(events, {"success_threshold": 0.0}).differing[0]
    assert (sooner.number, sooner.again.action) == (1, Action.VERIFY)


def test_a_journal_without_its_beginning_cannot_be_taken_again():
    """The ladder stands in the event that begins a run: without it nothing is guessed."""
    with pytest.raises(RecordError, match="the event that began the run"):
        replay(Pretended().run(2)[1:])


@pytest.mark.parametrize(
    ("word", "value"),
    [
        ("plateau_window=3", {"plateau_window": 3}),
        ("delta_threshold=.5", {"delta_threshold": 0.5}),
        ("", "no threshold"),
        ("budget=3", "no threshold"),
        ("plateau_window=1.5", "not a value"),
        ("delta_threshold=x", "not a value"),
        ("delta_threshold=nan", "not below zero"),
        ("grace_period=-1", "not below zero"),
        ("grace_period", "not a value"),
    ],
)
def test_thresholds_are_read_from_words(word: str, value: Any):
    """Whole numbers where the setting counts, any number elsewhere, and a sentence for everything else."""
    if isinstance(value, dict):
        assert thresholds([word]) == value
        return
    with pytest.raises(UsageError, match=value):
        thresholds([word])


def test_the_work_for_a_decision_does_not_grow_with_the_run(monkeypatch):
    """Each decision of a long stay on one rung is taken from the last few attempts, and agrees all the same."""
    patient = Thresholds(delta_threshold=-1.0, fixation_threshold=4, plateau_window=3)
    events = Pretended(thresholds=patient).run(300)
    seen: list[int] = []

    def watched(situation: Situation) -> Decision:
        seen.append(len(situation.attempts))
        return decide(situation)

    monkeypatch.setattr("pytest_noepicycle.replay.decide", watched)
    assert replay(events).differing == ()
    assert (len(seen), max(seen)) == (300, 5)


@pytest.mark.parametrize("name", Thresholds.__slots__)
@pytest.mark.parametrize("value", [0, 1, 3])
def test_what_is_left_out_of_a_decision_would_not_have_changed_it(monkeypatch, name, value):
    """Every threshold at its edges: taken from all attempts, each decision is the same as from the last few."""
    kind = type(getattr(Thresholds(), name))
    thresholds = replace(Thresholds(plateau_window=3), **{name: kind(value)})
    events = Pretended(gains={1: 1, 4: 1, 9: 1}, thresholds=thresholds).run(60)
    short = replay(events)
    monkeypatch.setattr(_Walk, "_recent", lambda walk, limits: tuple(walk.attempts))
    assert short.decisions == replay(events).decisions
    assert short.differing == ()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("delta_threshold", 0.3),
        ("plateau_window", 1),
        ("fixation_threshold", 1000),
        ("grace_period", 9),
        ("budget_low_pct", 1.0),
        ("budget_stop_pct", 1.0),
    ],
)
def test_every_threshold_that_a_decision_asks_for_can_be_another(name, value):
    """Each of them alone sends the run another way; with fixation, a run whose attempts all had one effect."""
    events = Pretended(gains={2: 1}).run(40)
    if name == "fixation_threshold":
        events = [{**e, "effect_digest": "one"} if e["event"] == "attempt" else e for e in events]
        assert replay(events, {"delta_threshold": 0.02}).differing != replay(events, {name: value}).differing
        return
    assert len(replay(events, {name: value}).differing) == 1


def test_a_threshold_that_decides_nothing_is_named():
    """Where tests judge, no threshold says what is solved."""
    events = Pretended().run(5)
    assert replay(events, {"success_threshold": 0.0}).idle == ("success_threshold",)
    assert replay(events, {"plateau_window": 9}).idle == ()


def test_a_solved_run_over_texts_agrees_in_its_reason_too(tmp_path, monkeypatch):
    """What a scorer took is told as such, and not as a proof: the same again from the journal."""
    monkeypatch.chdir(tmp_path)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        Supervisor(score_fn=first_number, dir="records", ladder={"one": {"on_plateau": None}}).run(
            "the task", inner_loop=Loop([0.5, 1.0])
        )
    (record,) = (tmp_path / "records/runs").iterdir()
    done = replay(journal.read(record / "decisions.jsonl"))
    assert done.differing == ()
    assert done.decisions[-1].again.reason == "scored 1.00, 1.00 was asked for"
