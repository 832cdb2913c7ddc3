"""The suite in another order: what a patch remembers is found out; what tests need of each other is not its fault."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import pytest

from pytest_noepicycle.domain.failure import Failure
from pytest_noepicycle.domain.patch import Patch
from pytest_noepicycle.domain.score import Baseline
from pytest_noepicycle.domain.trial import End, Outcome, Report, Status, Trial
from pytest_noepicycle.stages.order import shuffled
from pytest_noepicycle.stages.running import Clocks
from pytest_noepicycle.stages.verify import Verdict, verify

SUITE = (
    *("a/test_a.py::test_1", "a/test_a.py::test_2", "a/test_a.py::Test::test_1[x::y]", "a/test_a.py::Test::test_1[z]"),
    *("a/test_a.py::Test::Inner::test_1", "b/test_b.py", "b/test_b.py::test_1", "b/test_b.py::test_2"),
)


@pytest.mark.parametrize("seed", "abcdefgh")
def test_an_order_is_another_one_and_keeps_files_and_classes_together(seed: str):
    """Every id is there once; what a file or class holds stands side by side; the same seed gives the same order."""
    order = shuffled(SUITE, SUITE[:2], seed=seed)
    assert order == shuffled(SUITE, SUITE[:2], seed=seed) != SUITE
    assert sorted(order) == sorted(SUITE)
    for holder in ("a/test_a.py", "b/test_b.py", "a/test_a.py::Test"):
        places = [place for place, test in enumerate(order) if test.startswith(holder)]
        assert places == list(range(places[0], places[-1] + 1))
    assert order.index(SUITE[1]) < order.index(SUITE[0]), "the mended tests stand otherwise to each other"


def test_seeds_give_several_orders_and_one_test_has_but_one():
    """The order is chosen by chance."""
    assert len({shuffled(SUITE, (), seed=seed) for seed in "abcdefgh"}) > 4
    assert shuffled(("t.py::one",), (), seed="a") == ("t.py::one",)
    assert shuffled((), (), seed="a") == ()


FIRST, SECOND, GUARD = (f"test_m.py::{name}" for name in ("first", "second", "guard"))
BASE = Baseline((FIRST, SECOND), (GUARD,))
Judge = Callable[[bool, tuple[str, ...]], Mapping[str, str]]
"""From whether the patch is there and the tests that ran, in order, to those that fail and how."""


@dataclass
class Suite:
    """A suite that ends as ``judge`` says; it remembers what was run shuffled, and with a patch or without."""

    judge: Judge
    sorts: bool = False
    seconds: float = 0.1
    shuffles: list[bool] = field(default_factory=list)

    def run(self, trial: Trial) -> Report:
        """Run a trial; canaries behave."""
        ids = tuple(trial.ids or ())
        patched = bool(trial.patch.changes)
        if trial.shuffled:
            self.shuffles.append(patched)
        order = tuple(sorted(ids)) if self.sorts else ids
        red = {test: "assert" for test in ids if test.endswith("must_fail")}
        red |= (
            self.judge(patched, order) if patched else {FIRST: "wrong", SECOND: "wrong", **self.judge(patched, order)}
        )
        return Report({test: _outcome(test, red) for test in ids}, End.COMPLETE, collected=order, seconds=self.seconds)

    def prove(self, seconds: float = 60) -> Verdict:
        """Verify a patch that mends both targets."""
        patch = Patch().with_file("m.py", b"good", {"m.py": b"bad"}.get)
        collected = (FIRST, GUARD, SECOND)
        return verify(patch, BASE, self.run, Clocks(), seconds=seconds, collected=collected)


def _outcome(test: str, red: Mapping[str, str]) -> Outcome:
    if test not in red:
        return Outcome(test, Status.PASSED)
    return Outcome(test, Status.FAILED, failure=Failure(test, "call", "AssertionError", red[test]))


def _late(test: str, before: str, order: tuple[str, ...]) -> bool:
    return test in order and before in order and order.index(test) < order.index(before)


def test_what_passes_in_any_order_takes_one_run():
    """Nothing fails, so nothing needs to be explained."""
    suite = Suite(lambda patched, order: {})
    done = suite.prove()
    assert (done.checks["shuffled"], done.holds, suite.shuffles) == ("passed", True, [True])


def test_a_patch_that_makes_tests_pass_in_one_order_only_is_refuted():
    """The second target passes only after the first: with the patch there is a memory that was not there before."""
    suite = Suite(lambda patched, order: {SECOND: "no more answers"} if patched and _late(SECOND, FIRST, order) else {})
    done = suite.prove()
    assert (done.checks["shuffled"], done.holds) == ("failed", False)
    assert "another order" in done.why
    assert suite.shuffles == [True, False, True]


def test_a_guard_that_only_the_patch_makes_depend_on_the_order_refutes_it_too():
    """It passed in that order before."""
    suite = Suite(lambda patched, order: {GUARD: "spoilt"} if patched and _late(SECOND, FIRST, order) else {})
    assert suite.prove().checks["shuffled"] == "failed"


def test_a_suite_that_depends_on_its_order_speaks_against_nobody():
    """A guard fails in another order whether the patch is there or not: said by name, not held against the patch."""
    suite = Suite(lambda patched, order: {GUARD: "spoilt"} if _late(SECOND, FIRST, order) else {})
    done = suite.prove()
    assert (done.checks["shuffled"], done.holds) == ("impossible", True)
    assert GUARD in done.reasons["shuffled"]


def test_a_target_that_needs_another_test_before_it_speaks_against_nobody():
    """Without the patch it fails in another way where it comes first: it never stood by itself."""
    suite = Suite(lambda patched, order: {SECOND: "not set up"} if _late(SECOND, FIRST, order) else {})
    done = suite.prove()
    assert (done.checks["shuffled"], done.holds) == ("impossible", True)
    assert SECOND in done.reasons["shuffled"]


def test_what_fails_once_and_passes_the_second_time_failed_by_chance():
    """The same order again decides."""
    turns = iter([True, False])

    def judge(patched: bool, order: tuple[str, ...]) -> dict[str, str]:
        return {GUARD: "chance"} if patched and _late(SECOND, FIRST, order) and next(turns) else {}

    suite = Suite(judge)
    assert suite.prove().checks["shuffled"] == "passed"


@pytest.mark.parametrize(
    ("more", "reason"),
    [({"sorts": True}, "an order of its own"), ({"seconds": 20.0}, "no time")],
    ids=["the project sorts", "the suite is slow"],
)
def test_where_another_order_cannot_be_had_the_reason_is_said(more: dict[str, float], reason: str):
    """Impossible, and why."""
    done = Suite(lambda patched, order: {}, **more).prove()
    assert (done.checks["shuffled"], done.holds) == ("impossible", True)
    assert reason in done.reasons["shuffled"]


@pytest.mark.parametrize("end", [End.TIMEOUT, End.DIED])
@pytest.mark.parametrize(("base_too", "value"), [(True, "impossible"), (False, "failed")])
def test_a_run_in_another_order_that_breaks_off(end: End, base_too: bool, value: str):
    """Out of time it says nothing; where it dies, it speaks against the patch unless the suite dies without it too."""
    suite = Suite(lambda patched, order: {})

    def breaking(trial: Trial) -> Report:
        report = suite.run(trial)
        breaks = trial.shuffled and (trial.patch.changes or base_too)
        return Report({}, end, why="over") if breaks else report

    patch = Patch().with_file("m.py", b"good", {"m.py": b"bad"}.get)
    done = verify(patch, BASE, breaking, Clocks(), seconds=60, collected=(FIRST, GUARD, SECOND))
    assert done.checks["shuffled"] == ("impossible" if end is End.TIMEOUT else value)
