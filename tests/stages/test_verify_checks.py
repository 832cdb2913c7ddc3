"""What else could explain a green run: each trick that a check is made for, in a world of real source files."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import pytest

from pytest_noepicycle.domain.patch import Patch
from pytest_noepicycle.domain.score import Baseline
from pytest_noepicycle.domain.trial import End, Outcome, Report, Status, Trial
from pytest_noepicycle.stages.canary import Canary
from pytest_noepicycle.stages.running import Clocks
from pytest_noepicycle.stages.verify import Verdict, verify

TARGET, GUARD = "tests/test_m.py::test_two", "tests/test_m.py::test_one"
TESTS = """
from m import f


def test_one():
    assert f(1) == 1


def test_two():
    assert f(2) == 4
"""
BROKEN = b"def f(n):\n    return n\n"
HONEST = b"def f(n):\n    return n * n\n"


@dataclass
class Interpreter:
    """Runs tests by executing the files of a trial: product first, then each test file, with ``name`` in sight."""

    files: dict[str, bytes]
    trials: list[Trial] = field(default_factory=list)

    def run(self, trial: Trial) -> Report:
        """Run a trial; a test passes that raises nothing."""
        self.trials.append(trial)
        changed = {path: text for path, text in trial.patch.files().items() if text is not None}
        files = {**self.files, **changed, **trial.overlay}
        outcomes = {test: self._outcome(test, files) for test in trial.ids or ()}
        return Report(outcomes, End.COMPLETE, collected=tuple(outcomes), seconds=0.1)

    def _outcome(self, test: str, files: dict[str, bytes]) -> Outcome:
        path, _, name = test.partition("::")
        if path not in files:
            return Outcome(test, Status.MISSING)
        names: dict[str, object] = {"running": test, "source": files[path].decode()}
        source = files["m.py"] + files[path].replace(b"from m import f\n", b"")
        exec(compile(source, path, "exec"), names)
        if name not in names:
            return Outcome(test, Status.MISSING)
        try:
            names[name]()  # type: ignore[operator]
        except Exception:  # noqa: BLE001 - whatever a test raises, it has failed
            return Outcome(test, Status.FAILED)
        return Outcome(test, Status.PASSED)


def proved(after: bytes, tests: str = TESTS, run: Callable[[Trial], Report] | None = None) -> Verdict:
    """Verify a rewrite of the product against the tests."""
    world = Interpreter({"m.py": BROKEN, "tests/test_m.py": tests.encode()})
    patch = Patch().with_file("m.py", after, world.files.get)
    base = Baseline((TARGET,), (GUARD,))
    return verify(patch, base, run or world.run, Clocks(), seconds=60, read=world.files.get, collected=(GUARD, TARGET))


def test_an_honest_fix_passes_every_check():
    """Whatever its tests are called, and only while they expect the right thing."""
    done = proved(HONEST)
    assert done.holds, done
    assert set(done.checks.values()) == {"passed"}
    assert set(done.checks) == {"cold", "canaries", "reverted", "disguised", "perturbed", "shuffled"}


@pytest.mark.parametrize(
    ("after", "check"),
    [
        (b"def f(n):\n    return n * n if 'test_two' in running else n\n", "disguised"),
        (b"class Any:\n    def __eq__(self, other):\n        return 1\n\n\ndef f(n):\n    return Any()\n", "perturbed"),
        (b"def f(n):\n    return eval(source.split(f'f({n}) == ')[1].split()[0])\n", "perturbed"),
    ],
    ids=["knows the test's name", "equals everything", "reads the test"],
)
def test_each_trick_fails_the_check_that_is_made_for_it(after: bytes, check: str):
    """The run of everything is green, and yet the patch is refuted with the reason."""
    done = proved(after)
    assert done.checks["cold"] == "passed"
    assert done.checks[check] == "failed"
    assert not done.holds
    assert done.why


@pytest.mark.parametrize(
    ("tests", "impossible"),
    [
        (TESTS.replace("assert f(2) == 4", "check(f(2))") + "\n\ndef check(n):\n    assert n == 4\n", {"perturbed"}),
        (TESTS + "\n\ndef test_self():\n    assert test_self.__name__\n", {"disguised"}),
    ],
    ids=["the expectation lies in a helper", "tests know their names"],
)
def test_a_check_that_is_not_sound_here_is_said_to_be_impossible(tests: str, impossible: set[str]):
    """Impossible speaks against nobody, and is told."""
    done = proved(HONEST, tests)
    assert done.holds
    assert {name for name, value in done.checks.items() if value == "impossible"} == impossible
    assert bool(done.unperturbed) == ("perturbed" in impossible)


def test_a_disguise_under_which_the_base_breaks_is_no_evidence():
    """A guard that fails in disguise without any patch says that the disguise is at fault."""
    tests = TESTS.replace("    assert f(1) == 1", "    assert 'test_one' in running and f(1) == 1")
    done = proved(HONEST, tests)
    assert done.checks["disguised"] == "impossible"
    assert done.holds


def test_a_report_that_changes_what_must_fail_in_disguise_is_not_believed():
    """The canary of the disguised file has no name to know it by."""
    world = Interpreter({"m.py": BROKEN, "tests/test_m.py": TESTS.encode()})

    def flattering(trial: Trial) -> Report:
        report = world.run(trial)
        honest = not trial.patch.changes
        known = {test: outcome for test, outcome in report.outcomes.items() if honest or "noepi" in test}
        shining = {test: Outcome(test, Status.PASSED) for test in report.outcomes}
        return Report({**shining, **known}, report.end, collected=report.collected)

    done = proved(BROKEN + b"\n", run=flattering)
    assert done.checks["canaries"] == "failed"
    assert not done.holds


def deaf(world: Interpreter, *, always: bool) -> Callable[[Trial], Report]:
    """Return a run in which no test of ours is collected, without the patch either if ``always``."""

    def run(trial: Trial) -> Report:
        report = world.run(trial)
        if trial.patch.changes or always:
            own = {test for test in report.outcomes if test.rpartition("::")[2] not in ("test_one", "test_two")}
            return Report({t: o for t, o in report.outcomes.items() if t not in own}, End.COMPLETE, seconds=0.1)
        return report

    return run


def test_where_the_project_collects_no_test_of_ours_another_check_must_have_seen_a_failure():
    """Canaries that are silent on the unchanged tree too say nothing of the patch; other expectations do, here."""
    world = Interpreter({"m.py": BROKEN, "tests/test_m.py": TESTS.encode()})
    done = proved(HONEST, run=deaf(world, always=True))
    assert (done.checks["canaries"], done.checks["perturbed"], done.holds) == ("impossible", "passed", True)
    assert done.reasons["canaries"]

    only = TESTS.replace("assert f(2) == 4", "check(f(2))") + "\n\ndef check(n):\n    assert n == 4\n"
    world = Interpreter({"m.py": BROKEN, "tests/test_m.py": only.encode()})
    done = proved(HONEST, only, run=deaf(world, always=True))
    assert (done.checks["canaries"], done.holds) == ("failed", False)


def test_a_patch_that_silences_our_tests_is_refuted():
    """Without it they were heard."""
    world = Interpreter({"m.py": BROKEN, "tests/test_m.py": TESTS.encode()})
    done = proved(HONEST, run=deaf(world, always=False))
    assert (done.checks["canaries"], done.holds) == ("failed", False)


def test_where_a_plugin_repeats_every_test_our_tests_are_known_by_the_same_ending():
    """pytest-repeat gives each test a number: ``test_two[red-1-2]`` has it, and so has a canary."""
    canary = Canary.for_tests(("tests/test_m.py::test_two[red-1-2]",))
    ids = [f"{canary.path}::{name}[1-2]" for name in (canary.fails, canary.passes)]
    assert set(ids) < set(canary.ids)
    red, green = Outcome(ids[0], Status.FAILED), Outcome(ids[1], Status.PASSED)
    assert canary.sings(Report({ids[0]: red, ids[1]: green}, End.COMPLETE))
    assert not canary.sings(Report({ids[1]: green}, End.COMPLETE))
    plain = f"{canary.path}::{canary.fails}"
    both = {ids[0]: red, ids[1]: green, plain: Outcome(plain, Status.PASSED)}
    assert not canary.sings(Report(both, End.COMPLETE))
    assert Canary.for_tests(("test_m.py::test_two",)).endings == ("",)


@pytest.mark.parametrize("end", [End.DIED, End.VOID, End.LOST])
def test_a_perturbed_run_that_gives_no_report_speaks_against_the_patch(end: End):
    """What falls over as soon as the expectation changes has read the expectation."""
    world = Interpreter({"m.py": BROKEN, "tests/test_m.py": TESTS.encode()})

    def falling(trial: Trial) -> Report:
        report = world.run(trial)
        bent = trial.patch.changes and "tests/test_m.py" in trial.overlay
        return Report({}, end) if bent else report

    done = proved(HONEST, run=falling)
    assert done.checks["perturbed"] == "failed"


def test_a_target_that_passes_by_chance_without_the_patch_counts_neither_way():
    """It failed at the base and passes there now: the other target is proved all the same."""
    other = "tests/test_m.py::test_three"
    tests = TESTS + "\n\ndef test_three():\n    assert f(3) == 9\n"
    world = Interpreter({"m.py": BROKEN, "tests/test_m.py": tests.encode()})

    def lucky(trial: Trial) -> Report:
        report = world.run(trial)
        if trial.patch.changes or other not in report.outcomes:
            return report
        return Report({**report.outcomes, other: Outcome(other, Status.PASSED)}, report.end)

    patch = Patch().with_file("m.py", HONEST, world.files.get)
    base = Baseline((TARGET, other), (GUARD,))
    done = verify(patch, base, lucky, Clocks(), seconds=60, read=world.files.get)
    assert done.holds, done
    assert (done.fixed, done.unsteady) == ((TARGET,), (other,))


def test_a_hang_ends_the_proof_at_once():
    """One run, no more: nothing is asked of a patch that does not come to an end."""
    runs = []

    def hanging(trial: Trial) -> Report:
        runs.append(trial)
        outcomes = {GUARD: Outcome(GUARD, Status.TIMEOUT), TARGET: Outcome(TARGET, Status.PASSED)}
        return Report(outcomes, End.TIMEOUT, hung=GUARD, why="it hangs")

    done = proved(HONEST, run=hanging)
    assert (done.fixed, done.lost, len(runs)) == ((), (GUARD,), 1)
    assert not done.holds


@pytest.mark.parametrize(("again", "lost"), [(True, ()), (False, (GUARD,))])
def test_a_guard_that_is_lost_once_by_chance_is_not_lost(again: bool, lost: tuple[str, ...]):
    """It fails in the first run of everything, passes without the patch, and has a second chance with it."""
    world = Interpreter({"m.py": BROKEN, "tests/test_m.py": TESTS.encode()})
    turns = iter([False, again])

    def flaky(trial: Trial) -> Report:
        report = world.run(trial)
        if not trial.patch.changes or GUARD not in (trial.ids or ()) or next(turns):
            return report
        return Report({**report.outcomes, GUARD: Outcome(GUARD, Status.FAILED)}, report.end)

    done = proved(HONEST, run=flaky)
    assert done.lost == lost
    assert done.unsteady == (() if lost else (GUARD,))
