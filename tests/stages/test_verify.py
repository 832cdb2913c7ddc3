"""The verdict: holds for an honest fix, and for each way in which a fix can be none it does not."""

from __future__ import annotations

from dataclasses import replace

from toy import World, edit

from pytest_noepicycle.domain.patch import Patch
from pytest_noepicycle.domain.score import Baseline
from pytest_noepicycle.domain.trial import End, Outcome, Report, Status, Trial
from pytest_noepicycle.stages.running import Clocks
from pytest_noepicycle.stages.verify import verify

BASE = Baseline(("test_m.py::a",), ("test_m.py::g",))


def world() -> World:
    """One value is wrong, another is guarded."""
    tests = {"test_m.py::a": lambda n: n["a"] == 2, "test_m.py::g": lambda n: n["g"] == 1}
    return World({"m.py": b"a = 1\ng = 1\n"}, tests)


def verdict(made: World, patch: Patch, run=None):
    """Verify a patch in a world."""
    return verify(patch, BASE, run or made.run, Clocks(), seconds=60)


def test_an_honest_fix_holds_in_a_cold_run_of_everything():
    """Every check passes: cold, canaries, and red again without the patch."""
    made = world()
    done = verdict(made, edit(made, "m.py", b"a = 1", b"a = 2").patch)
    assert done.holds, done
    assert {name for name, value in done.checks.items() if value == "passed"} == {"cold", "canaries", "reverted"}
    left = {"disguised", "perturbed", "shuffled"}
    assert {name for name, value in done.checks.items() if value == "impossible"} == left == set(done.reasons)
    assert made.trials[0].cold
    assert set(made.trials[0].ids) >= {"test_m.py::a", "test_m.py::g"}


def test_a_fix_that_loses_a_guard_does_not_hold():
    """A passing test was lost: refuted, and the test is named."""
    made = world()
    done = verdict(made, edit(made, "m.py", b"a = 1\ng = 1", b"a = 2\ng = 2").patch)
    assert not done.holds
    assert done.lost == ("test_m.py::g",)
    assert "test_m.py::g" in done.why


def test_a_guard_that_fails_without_the_patch_as_well_proves_nothing_against_it():
    """A flaky guard leaves the list, and is named as unsteady."""
    made = world()
    made.flaky["test_m.py::g"] = [False, False]
    done = verdict(made, edit(made, "m.py", b"a = 1", b"a = 2").patch)
    assert done.unsteady == ("test_m.py::g",)
    assert done.lost == ()


def test_a_target_that_passes_without_the_patch_was_not_mended_by_it():
    """The revert check: green on the old tree means that the patch did not do it."""
    made = world()
    made.tests["test_m.py::a"] = lambda n: True
    done = verdict(made, edit(made, "m.py", b"a = 1", b"a = 2").patch)
    assert done.checks["reverted"] == "failed"
    assert not done.holds


def test_a_session_in_which_everything_passes_is_not_believed():
    """A patched reporter says passed of the canary that must fail: refuted."""
    made = world()

    def flattering(trial: Trial) -> Report:
        report = made.run(trial)
        return replace(report, outcomes={t: Outcome(t, Status.PASSED) for t in trial.ids or ()})

    done = verdict(made, edit(made, "m.py", b"a = 1", b"a = 3").patch, flattering)
    assert done.checks["canaries"] == "failed"
    assert not done.holds


def test_a_cold_run_that_does_not_end_proves_nothing():
    """Passes that were seen before the process died count for nothing."""
    made = world()

    def dying(trial: Trial) -> Report:
        return replace(made.run(trial), end=End.DIED, why="killed")

    done = verdict(made, edit(made, "m.py", b"a = 1", b"a = 2").patch, dying)
    assert not done.holds
    assert "did not come to its end" in done.why
