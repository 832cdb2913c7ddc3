"""Trials: judged in order, joined where they go together, the same with one worker as with many."""

from __future__ import annotations

from dataclasses import replace

import pytest
from toy import World, context, edit, lab

from pytest_noepicycle.domain.patch import Patch
from pytest_noepicycle.domain.score import Baseline
from pytest_noepicycle.domain.trial import End, Report, Trial
from pytest_noepicycle.stages.trial import Standing, reachable, screen

SOURCE = b"a = 1\n\n\nb = 1\n\n\nc = 1\n"
TESTS = {
    "test_m.py::a": lambda n: n["a"] == 2,
    "test_m.py::b": lambda n: n["b"] == 2,
    "test_m.py::c": lambda n: n["c"] == 1,
}
BASE = Baseline(("test_m.py::a", "test_m.py::b"), ("test_m.py::c",))


@pytest.fixture
def world() -> World:
    """Three values; two are wrong, the third is guarded."""
    return World({"m.py": SOURCE}, dict(TESTS))


def screened(world: World, proposals, width: int = 1, **more):
    """Screen proposals from nothing."""
    seen = []
    done = screen(
        proposals, context(world, BASE), Standing(Patch()), lab(world, BASE, width, **more), lambda j, s: seen.append(j)
    )
    return done, seen


@pytest.mark.parametrize("width", [1, 2, 5])
def test_gains_in_different_places_are_joined_into_one_patch(world: World, width: int):
    """Two faults, two edits, one patch; with one worker or five the same candidates are told in the same order."""
    proposals = [
        edit(world, "m.py", b"c = 1", b"c = 5"),
        edit(world, "m.py", b"a = 1", b"a = 3"),
        edit(world, "m.py", b"a = 1", b"a = 2"),
        edit(world, "m.py", b"a = 1", b"a = 1 + 1"),
        edit(world, "m.py", b"b = 1", b"b = 2"),
        edit(world, "m.py", b"b = 1", b"b = 1 + 1"),
    ]
    done, seen = screened(world, proposals, width)
    assert done.standing.patch.files() == {"m.py": b"a = 2\n\n\nb = 2\n\n\nc = 1\n"}
    assert [judged.proposal for judged in seen] == proposals[:5]
    assert done.tried == 5


def test_an_edit_that_breaks_a_guard_is_no_gain(world: World):
    """What mends a target and loses a passing test is turned down; the next one may do better."""
    both = SOURCE.replace(b"a = 1", b"a = 2").replace(b"c = 1", b"c = 2")
    bad = edit(world, "m.py", SOURCE, both)
    good = edit(world, "m.py", b"a = 1", b"a = 2")
    done, seen = screened(world, [bad, good])
    assert seen[0].score.lost == {"test_m.py::c"}
    assert done.gains[0].proposal == good
    assert done.standing.fixed == {"test_m.py::a"}


def test_two_gains_that_do_not_go_together_leave_the_first(world: World):
    """An edit of the same line cannot be joined; what stands stays."""
    world.files["m.py"] = b"a = b = 1\nc = 1\n"
    first = edit(world, "m.py", b"a = b = 1", b"a, b = 2, 1")
    second = edit(world, "m.py", b"a = b = 1", b"a, b = 1, 2")
    done, _ = screened(world, [first, second])
    assert done.standing == Standing(first.patch, frozenset({"test_m.py::a"}))


def test_an_edit_may_not_undo_what_an_earlier_attempt_mended(world: World):
    """Targets that pass with the best so far are kept like guards."""
    best = edit(world, "m.py", b"a = 1", b"a = 2").patch
    swap = edit(world, "m.py", b"a = 2\n\n\nb = 1", b"a = 1\n\n\nb = 2", best)
    start = Standing(best, frozenset({"test_m.py::a"}))
    done = screen([swap], context(world, BASE, best, ["test_m.py::b"]), start, lab(world, BASE), lambda j, s: None)
    assert done.standing == start
    assert done.last.score.lost == {"test_m.py::a"}


def test_guards_are_run_only_for_an_edit_that_mends_something(world: World):
    """A candidate that helps nothing costs the failing tests alone, unless every attempt is to be known in full."""
    nothing = edit(world, "m.py", b"a = 1", b"a = 3")
    screened(world, [nothing])
    assert all("test_m.py::c" not in (trial.ids or ()) for trial in world.trials)
    screened(world, [nothing], thorough=True)
    assert world.trials[-1].ids == ("test_m.py::c",)


def test_ctrl_c_keeps_the_gains_so_far(world: World):
    """The stream is interrupted; what was judged a gain before stays."""

    def proposals():
        yield edit(world, "m.py", b"a = 1", b"a = 2")
        yield edit(world, "m.py", b"b = 1", b"b = 3")
        raise KeyboardInterrupt

    done, _ = screened(world, proposals())
    assert done.interrupted
    assert done.standing.fixed == {"test_m.py::a"}


def test_time_that_runs_out_ends_the_stream(world: World):
    """After each judgement the clock is asked."""
    many = [edit(world, "m.py", b"a = 1", b"a = %d" % n) for n in range(3, 30)]
    done, seen = screened(world, many, out_of_time=lambda: len(world.trials) >= 3)
    assert done.halted
    assert len(seen) == 3


def test_only_tests_that_ran_a_touched_line_are_reached(world: World):
    """Coverage decides; a line that runs at import is everybody's, an unmeasured file is too."""
    base = context(world, BASE)
    patch = edit(world, "m.py", b"b = 1", b"b = 2").patch
    known = {"test_m.py::a": {"m.py": frozenset({1})}, "test_m.py::b": {"m.py": frozenset({4})}}
    tests = ("test_m.py::a", "test_m.py::b", "test_m.py::new")

    def reached(coverage):
        return reachable(
            tests, patch, type(base)(**{**{f: getattr(base, f) for f in base.__slots__}, "coverage": coverage})
        )

    assert reached(known) == ("test_m.py::b", "test_m.py::new")
    assert reached({**known, "": {"m.py": frozenset({4})}}) == tests
    assert reached({"test_m.py::a": {"other.py": frozenset({1})}}) == tests


@pytest.mark.parametrize("width", [1, 4])
def test_what_can_only_reach_mended_tests_is_not_tried_any_more(world: World, width: int):
    """After the gain, edits of the same lines are left out: the same judgements come out at any width."""
    lines = {"test_m.py::a": {"m.py": frozenset({1})}, "test_m.py::b": {"m.py": frozenset({4})}}
    known = replace(context(world, BASE), coverage=lines)
    proposals = [edit(world, "m.py", b"a = 1", b"a = %d" % n) for n in (2, 3, 4, 5, 6)]
    proposals.append(edit(world, "m.py", b"b = 1", b"b = 2"))
    told = []
    done = screen(proposals, known, Standing(Patch()), lab(world, BASE, width), lambda j, s: told.append(j.proposal))
    assert told == [proposals[0], proposals[-1]]
    assert done.standing.fixed == set(BASE.targets)


def test_a_gain_is_credited_with_every_target_that_it_mends(world: World):
    """A test that reaches the code through a process of its own shows no line, and is mended all the same."""
    world.tests["test_m.py::b"] = lambda n: n["a"] == 2
    lines = {"test_m.py::a": {"m.py": frozenset({1})}, "test_m.py::b": {"other.py": frozenset({1})}}
    known = replace(context(world, BASE), coverage=lines)
    proposals = [edit(world, "m.py", b"a = 1", b"a = 2"), edit(world, "m.py", b"b = 1", b"b = 7")]
    told = []
    done = screen(proposals, known, Standing(Patch()), lab(world, BASE), lambda j, s: told.append(j.proposal))
    assert done.standing == Standing(proposals[0].patch, frozenset(BASE.targets))
    assert told == proposals[:1]


def test_where_no_failing_test_was_seen_to_run_the_lines_all_of_them_are_tried(world: World):
    """A project whose tests call it as a program has no lines to go by."""
    known = replace(
        context(world, BASE),
        coverage={"test_m.py::c": {"m.py": frozenset(range(1, 9))}, "test_m.py::a": {}, "test_m.py::b": {}},
    )
    done, told = None, []
    done = screen(
        [edit(world, "m.py", b"a = 1", b"a = 2")],
        known,
        Standing(Patch()),
        lab(world, BASE),
        lambda j, s: told.append(j),
    )
    assert done.standing.fixed == {"test_m.py::a"}


def test_a_gain_that_does_all_of_the_earlier_and_more_takes_their_place(world: World):
    """Half a fix of a line came first; the whole fix of the same line is not thrown away for it."""
    world.files["m.py"] = b"a = b = 1\nc = 1\n"
    half, whole = edit(world, "m.py", b"a = b = 1", b"a, b = 2, 1"), edit(world, "m.py", b"a = b = 1", b"a = b = 2")
    done, _ = screened(world, [half, whole])
    assert done.standing == Standing(whole.patch, frozenset(BASE.targets))
    assert [judged.proposal for judged in done.gains] == [whole]


@pytest.mark.parametrize("end", [End.VOID, End.DIED, End.LOST])
@pytest.mark.parametrize("part", ["targets", "guards"])
def test_passes_of_a_trial_that_cannot_be_trusted_never_count(world: World, end: End, part: str):
    """Whichever of the two runs of a candidate it was: the other's good end does not vouch for it."""
    honest = world.run

    def run(trial: Trial) -> Report:
        report = honest(trial)
        ids = trial.ids or ()
        return replace(report, end=end) if ("test_m.py::c" in ids) is (part == "guards") else report

    world.run = run  # type: ignore[method-assign]
    done, seen = screened(world, [edit(world, "m.py", b"a = 1", b"a = 2")], thorough=True)
    assert not done.gains
    assert seen[0].score.value == 0.0
    assert not seen[0].score.complete
