"""The loop on LangGraph, over a toy world: what each run ends with, what it spends, what it remembers."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest
from supervised import BOTH, edits, fails, run, two_wrong_values
from toy import World, edit

from pytest_noepicycle.codec import decode, encode
from pytest_noepicycle.domain.context import Context
from pytest_noepicycle.domain.failure import Failure
from pytest_noepicycle.domain.patch import Patch, Proposal
from pytest_noepicycle.domain.run import StopReason
from pytest_noepicycle.domain.settings import Settings
from pytest_noepicycle.domain.trial import Outcome, Report, Status, Trial
from pytest_noepicycle.errors import ProviderError, SandboxError
from pytest_noepicycle.stages.holdout import hold_out
from pytest_noepicycle.supervisor.purse import BudgetExhausted
from pytest_noepicycle.supervisor.state import State
from pytest_noepicycle.supervisor.work import Grade


@pytest.fixture
def world() -> World:
    """Two wrong values and a guarded one."""
    return two_wrong_values()


def test_a_search_that_mends_everything_is_solved_without_a_model(world: World):
    """One attempt, a proof, no token."""
    told = run(world, search=[edits(world, *BOTH)])
    assert told.state.stop is StopReason.SOLVED
    assert told.state.verified
    assert told.state.best.files() == {"m.py": b"a = 2\n\n\nb = 2\n\n\nc = 1\n"}
    assert told.decisions == [("verify", "solved")]
    assert told.rungs["small"].seen == []


def test_where_the_search_ends_the_model_goes_on_from_its_best(world: World):
    """A partial gain is kept, searched on from once more, then the next rung builds on it."""
    told = run(world, search=[edits(world, BOTH[0])], small=[edits(world, BOTH[1])])
    assert told.state.stop is StopReason.SOLVED
    assert told.decisions == [("continue", "none"), ("switch", "exhausted"), ("verify", "solved")]
    assert told.rungs["small"].seen[0].best.files() == {"m.py": b"a = 2\n\n\nb = 1\n\n\nc = 1\n"}
    assert told.rungs["small"].seen[0].remaining == ("test_m.py::b",)


def test_a_ladder_that_is_used_up_says_so(world: World):
    """Every rung was tried, nothing helped: exhausted, and nothing is shown as gained."""
    nothing = [edits(world, (b"a = 1", b"a = 7")), edits(world, (b"a = 1", b"a = 8"))]
    told = run(
        world, small=list(nothing), large=[edits(world, (b"b = 1", b"b = 7")), edits(world, (b"b = 1", b"b = 8"))]
    )
    assert told.state.stop is StopReason.EXHAUSTED
    assert told.state.best == Patch()
    assert not told.state.verified


def test_without_keys_the_model_rungs_are_passed_over(world: World):
    """Blocked rungs are not entered; the run ends as exhausted after the search."""
    told = run(world, blocked=frozenset({"small", "large"}))
    assert told.state.stop is StopReason.EXHAUSTED
    assert {attempt.rung for attempt in told.state.attempts} == {"search"}


def test_a_partial_gain_is_proved_when_the_run_ends(world: World):
    """One of two is mended: not solved, but verified, and the patch is kept."""
    told = run(world, blocked=frozenset({"small", "large"}), search=[edits(world, BOTH[0])])
    assert told.state.stop is StopReason.EXHAUSTED
    assert told.state.verified
    assert told.state.fixed == ("test_m.py::a",)


def test_a_patch_that_a_cold_run_refutes_is_never_solved_and_never_tried_again(world: World):
    """The warm run flattered; the proof does not hold; the same patch is not looked at a second time."""
    world.flaky["test_m.py::c"] = []
    honest = world.run

    def warm_lies(trial):
        report = honest(trial)
        changed = trial.patch != Patch()
        return replace(report, end=report.end if not (changed and trial.cold) else "died")

    world.run = warm_lies  # the cold run with the patch dies
    told = run(world, blocked=frozenset({"small", "large"}), search=[whatever_applies(world)] * 4)
    assert told.state.stop is StopReason.EXHAUSTED
    assert told.state.best == Patch()
    verdicts = [event for event in told.journal.events if event["event"] == "verdict"]
    assert not any(verdict["holds"] for verdict in verdicts)
    assert len({verdict["patch"] for verdict in verdicts}) == len(verdicts)


def whatever_applies(world: World) -> Callable[[Context], list[Proposal]]:
    """Return a step that proposes each of the two right edits that is not in the best patch yet."""

    def step(context: Context) -> list[Proposal]:
        text = context.read("m.py")
        return [edit(world, "m.py", old, new, context.best) for old, new in BOTH if old in text]

    return step


def test_one_bad_gain_among_several_costs_only_itself(world: World):
    """The cold run refutes the two together; the good one alone is proven, the bad one is not shipped."""
    honest = world.run

    def cold_knows(trial):
        report = honest(trial)
        bad = trial.cold and b"b = 2" in (trial.patch.read("m.py", world.read) or b"")
        return replace(report, end="died") if bad else report

    world.run = cold_knows
    told = run(world, blocked=frozenset({"small", "large"}), search=[whatever_applies(world)] * 4)
    assert told.state.verified
    assert told.state.fixed == ("test_m.py::a",)


def test_a_lost_sandbox_keeps_what_was_found_out(world: World):
    """The machine fails in the middle: targets and attempts stay in the record, the reason is named."""
    honest = world.run

    def then_gone(trial):
        if trial.patch != Patch():
            raise SandboxError("the engine has gone away")
        return honest(trial)

    world.run = then_gone
    told = run(world, search=[whatever_applies(world)])
    assert told.state.stop is StopReason.SANDBOX_LOST
    assert told.state.baseline.targets == ("test_m.py::a", "test_m.py::b")
    assert "gone away" in told.state.why


def test_a_provider_that_fails_leads_to_the_next_rung(world: World):
    """An error of the server is an outcome: the ladder goes on."""
    down = fails(ProviderError("overloaded", kind="overloaded", retryable=True))
    told = run(world, small=[down], large=[edits(world, *BOTH[:1])])
    assert ("switch", "error") in told.decisions
    assert told.state.attempts[1].error == "overloaded"


def test_a_call_that_does_not_fit_ends_in_budget(world: World):
    """Nothing affordable is left, the edge says stop: budget."""
    told = run(world, small=[fails(BudgetExhausted("too dear"))])
    assert told.state.stop is StopReason.BUDGET


def test_ctrl_c_in_the_middle_keeps_and_proves_what_was_gained(world: World):
    """The gain before the interrupt is proved; the reason is interrupted."""

    def step(context: Context) -> Iterator[Proposal]:
        yield edit(world, "m.py", b"a = 1", b"a = 2", context.best)
        yield edit(world, "m.py", b"b = 1", b"b = 5", context.best)
        yield edit(world, "m.py", b"b = 1", b"b = 6", context.best)
        raise KeyboardInterrupt

    told = run(world, search=[step])
    assert told.state.stop is StopReason.INTERRUPTED
    assert told.state.verified
    assert told.state.fixed == ("test_m.py::a",)


@pytest.mark.parametrize(
    ("turns", "stop"), [([True] * 9, StopReason.FLAKY), ([False, True, False, False], StopReason.FLAKY)]
)
def test_flaky_failures_end_before_anything_is_tried(world: World, turns, stop):
    """No rung is asked about a test that passes when it is run again."""
    world.flaky = {"test_m.py::a": list(turns), "test_m.py::b": list(turns)}
    told = run(world)
    assert told.state.stop is stop
    assert all(not rung.seen for rung in told.rungs.values())


def test_a_proposal_that_the_guard_refuses_is_never_run(world: World):
    """All that the rungs offer touches a test: refused, and no trial saw it."""
    world.files["test_m.py"] = b"x = 1\n"

    def step(context: Context) -> list[Proposal]:
        return [edit(world, "test_m.py", b"x = 1", b"x = 2")]

    told = run(world, blocked=frozenset({"small", "large"}), search=[step])
    assert told.state.stop is StopReason.REFUSED
    assert all(trial.patch == Patch() for trial in world.trials)


def test_a_dry_run_looks_and_tries_nothing(world: World):
    """Triage and localisation only; no rung is asked."""
    told = run(world, settings=Settings(dry_run=True), search=[edits(world, *BOTH)])
    assert told.state.stop is StopReason.DRY_RUN
    assert all(not rung.seen for rung in told.rungs.values())


def test_time_that_runs_out_ends_the_run_with_its_reason(world: World):
    """What is left is reserved for the proof: the run ends as time_limit, not as a failure."""
    told = run(world, settings=Settings(), small=[edits(world, (b"a = 1", b"a = 7"))])
    assert told.state.stop is StopReason.EXHAUSTED
    late = replace(Settings(), time_limit=1000.0)
    world.trials.clear()
    slow = world.run

    def slowly(trial):
        return replace(slow(trial), seconds=100_000.0)

    world.run = slowly
    told = run(world, settings=replace(late, time_limit=10_000.0), search=[edits(world, BOTH[0])])
    assert told.state.stop is StopReason.TIME_LIMIT


def test_the_state_is_json_between_any_two_steps(world: World):
    """What LangGraph keeps can be written down and read back as the same value."""
    told = run(world, search=[edits(world, BOTH[0])], small=[edits(world, BOTH[1])])
    assert decode(State, json.loads(json.dumps(encode(told.state)))) == told.state


def test_every_event_that_a_decision_needs_is_in_the_journal(world: World):
    """Baseline, attempts and decisions are recorded with their numbers, in their order."""
    told = run(world, search=[edits(world, *BOTH)])
    names = [event["event"] for event in told.journal.events]
    assert names == ["triaged", "baseline", "candidate", "candidate", "attempt", "decision", "verdict"]
    assert told.journal.events[4]["candidates"] == 2


@pytest.mark.parametrize("again", [False, True])
def test_ctrl_c_outside_a_trial_proves_the_best_and_a_second_one_drops_it(world: World, again: bool):
    """The interrupt strikes while a second measurement runs: the gain is proved, unless it strikes there too."""
    honest, strikes = world.run, [True, again]

    def run_and_strike(trial):
        measuring = trial.coverage and trial.patch != Patch()
        proving = trial.cold and trial.patch != Patch()
        if (measuring or proving) and strikes and strikes.pop(0):
            raise KeyboardInterrupt
        return honest(trial)

    world.run = run_and_strike
    told = run(world, search=[edits(world, BOTH[0]), edits(world, (b"b = 1", b"b = 9"))])
    assert told.state.stop is StopReason.INTERRUPTED
    assert told.state.verified is not again
    assert told.state.fixed == (() if again else ("test_m.py::a",))


def test_what_a_patch_does_not_need_is_left_out_before_it_is_proved(world: World):
    """A model mends two values and rewrites a third for nothing: the proof is taken on the smaller patch."""

    def step(context: Context) -> list[Proposal]:
        text = b"a = 2\n\n\nb = 2\n\n\nc = 2 - 1\n"
        return [Proposal(context.best.with_file("m.py", text, world.read), "all of it")]

    told = run(world, small=[step])
    assert told.state.stop is StopReason.SOLVED
    assert told.state.best.files() == {"m.py": b"a = 2\n\n\nb = 2\n\n\nc = 1\n"}
    names = [event["event"] for event in told.journal.events]
    assert names[-2:] == ["minimised", "verdict"]
    assert told.journal.events[-1]["patch"] == told.state.best.digest


def test_a_patch_that_lists_the_tests_answers_is_refused_before_it_runs(world: World):
    """A special case of a test's own input never reaches the sandbox."""
    world.files["test_m.py"] = b"from m import f\n\n\ndef a():\n    assert f(41) == 1764\n"
    world.files["m.py"] = b"def f(n):\n    return n\n\n\na = b = c = 1\n"
    world.tests = {"test_m.py::a": lambda n: n["f"](41) == 1764, "test_m.py::b": lambda n: n["b"] == 2}

    def step(context: Context) -> list[Proposal]:
        cheat = b"def f(n):\n    if n == 41:\n        return 1764\n    return n\n\n\na = b = c = 1\n"
        return [Proposal(context.best.with_file("m.py", cheat, world.read), "it passes")]

    told = run(world, small=[step], search=[lambda context: []])
    assert told.state.best == Patch()
    assert all(trial.patch == Patch() for trial in world.trials)


def _four(world: World) -> tuple[str, ...]:
    """Four failing tests of one value: which of them is held out, any wrong value that is not 2 or 7 shows."""
    names = tuple(f"test_m.py::four_{n}" for n in range(4))
    held = hold_out(names, 0.25).held
    world.tests.clear()
    world.tests.update(
        {name: (lambda n, name=name: n["a"] == 2 or (n["a"] == 7 and name not in held)) for name in names}
    )
    return names


def test_a_held_out_target_is_shown_to_no_rung_and_scored_on(world: World):
    """What passes only the tests that were shown is half a fix; the one that passes all is found after it."""
    names = _four(world)
    held = hold_out(names, 0.25).held
    told = run(
        world,
        settings=Settings(holdout=0.25),
        failing=names,
        search=[edits(world, (b"a = 1", b"a = 7"), (b"a = 1", b"a = 2"))],
    )
    assert told.state.stop is StopReason.SOLVED
    assert told.state.baseline.held == held
    assert len(held) == 1
    assert told.state.best.read("m.py", world.read).startswith(b"a = 2")
    for seen in told.rungs["search"].seen:
        assert not set(held) & {*seen.remaining, *seen.baseline.targets, *seen.baseline.held}
        shown = seen.veil("test_m.py", b"".join(b"def four_%d(): 1\n" % number for number in range(4))).decode()
        assert [name for name in names if f"def {name.partition('::')[2]}()" not in shown] == list(held)


def test_a_fix_of_what_was_shown_alone_is_never_solved(world: World):
    """The next rung begins anew on the tree as it was: the failures that it may see are all there again."""
    names = _four(world)
    held = hold_out(names, 0.25).held
    told = run(
        world, settings=Settings(holdout=0.25), failing=names, search=[edits(world, (b"a = 1", b"a = 7"))], small=[]
    )
    assert told.state.stop is not StopReason.SOLVED
    assert set(told.state.fixed) == set(names) - set(held)
    assert told.state.verified
    assert set(told.rungs["small"].seen[0].remaining) == set(names) - set(held)
    assert told.rungs["small"].seen[0].best == Patch()


WRONG_EDITS = ((b"a = 1", b"a = 7"), (b"a = 1", b"a = 8"))


def test_a_finer_score_moves_the_signals_and_never_says_solved(world: World):
    """Each attempt fails every test and is graded higher: no plateau, though no test passes yet."""
    grades = iter((0.3, 0.6, 5 / 8))
    told = run(
        world,
        search=[],
        small=[edits(world, pair) for pair in (*WRONG_EDITS, (b"a = 1", b"a = 9"))],
        grade=lambda judged, baseline: next(grades, 1.0),
    )
    scored = [(a.score, round(a.delta, 3)) for a in told.state.attempts if a.rung == "small"]
    assert scored[:3] == [(0.3, 0.3), (0.6, 0.3), (0.625, 0.025)]
    assert told.state.stop is not StopReason.SOLVED
    assert max(a.score for a in told.state.attempts) < 1.0


@pytest.mark.parametrize("grade", [lambda judged, baseline: 7, lambda judged, baseline: 1 / 0])
def test_a_scorer_that_gives_no_score_is_said_and_left(world: World, grade: Grade):
    """The attempt keeps the score of its tests: no other rung is paid because a hook is broken."""
    told = run(world, search=[edits(world, BOTH[0])], small=[edits(world, BOTH[1])], grade=grade)
    assert told.state.attempts[0].score == 0.5
    assert told.state.attempts[0].error is None
    assert told.state.stop is StopReason.SOLVED
    assert any("pytest_noepi_score" in event.get("why", "") for event in told.journal.events)


def _cheating(world: World, test: str) -> Callable[[Context], list[Proposal]]:
    """A step whose edit passes every warm trial, and with which ``test`` fails in each cold one."""
    warm = world.run

    def run_trial(trial: Trial) -> Report:
        report = warm(trial)
        cheat = b"cheat" in (trial.patch.read("m.py", world.read) or b"")
        if not cheat or not trial.cold:
            return report
        failure = Failure(test, "call", "AssertionError", "cold")
        return replace(report, outcomes={**report.outcomes, test: Outcome(test, Status.FAILED, 0.0, failure)})

    world.run = run_trial  # type: ignore[method-assign]
    return edits(world, (b"b = 1", b"b = 2  # cheat"))


@pytest.mark.parametrize("test", ["test_m.py::b", "test_m.py::c"], ids=["its own target", "a guard"])
def test_what_was_gained_before_a_refuted_gain_is_kept_and_proven(world: World, test: str):
    """The search mends one of two, a model's cheat the other: the cold run refutes it, and the first stays."""
    cheat = _cheating(world, test)
    told = run(world, search=[edits(world, BOTH[0])], small=[cheat])
    assert told.state.stop is not StopReason.SOLVED
    assert told.state.fixed == ("test_m.py::a",)
    assert told.state.verified
    assert told.state.best.read("m.py", world.read).startswith(b"a = 2")
    assert b"cheat" not in told.state.best.read("m.py", world.read)


@pytest.mark.parametrize("error", [KeyboardInterrupt(), RuntimeError("a fault of ours"), SandboxError("gone")])
def test_nothing_that_happens_after_the_proof_can_take_it_away(world: World, error: BaseException):
    """Comparing with other edits is a courtesy: it may break, and the solution stays solved."""
    told = run(world, search=[edits(world, *BOTH), fails(error)], failing=("test_m.py::a", "test_m.py::b"))
    assert told.state.stop is StopReason.SOLVED
    world.tests.pop("test_m.py::b")
    once = run(world, failing=("test_m.py::a",), search=[edits(world, BOTH[0]), fails(error)])
    assert once.state.stop is StopReason.SOLVED
    assert once.state.verified
    assert any(event["event"] == "choice_lost" for event in once.journal.events)


def test_other_edits_at_the_place_that_pass_as_well_are_shown(world: World):
    """The tests ask for an even value: two more edits of the line pass, and the reader is told which."""
    world.tests.update({"test_m.py::a": lambda n: n["a"] % 2 == 0, "test_m.py::b": lambda n: True})
    offered = edits(world, *((b"a = 1", b"a = %d" % value) for value in (3, 2, 4, 5, 6)))
    told = run(world, failing=("test_m.py::a",), search=[offered, offered])
    assert told.state.stop is StopReason.SOLVED
    assert told.state.choice is not None
    assert told.state.choice.word == "several"
    assert [other.note for other in told.state.choice.others] == ["b'a = 1' → b'a = 4'", "b'a = 1' → b'a = 6'"]
    assert told.state.choice.tried == 3


def test_an_edit_that_alone_passes_is_unique(world: World):
    """All that the search would have tried at that place was tried, and nothing else passes."""
    offered = edits(world, *((b"a = 1", b"a = %d" % value) for value in (2, 4, 5)))
    told = run(world, failing=("test_m.py::a",), search=[offered, offered])
    assert told.state.choice is not None
    assert (told.state.choice.word, told.state.choice.tried) == ("unique", 2)
