"""The verdict: cold, fresh, on a pristine tree plus the patch. Nothing else may say solved."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import PurePosixPath

from pytest_noepicycle.domain.patch import Patch
from pytest_noepicycle.domain.score import Baseline
from pytest_noepicycle.domain.trial import End, Report, Status, Trial
from pytest_noepicycle.stages.running import Clocks, Run, run_all

PASSED, FAILED = "passed", "failed"


@dataclass(frozen=True, slots=True)
class Verdict:
    """``fixed`` and ``lost`` as a cold run of everything showed them; ``checks`` by name: passed or failed."""

    fixed: tuple[str, ...]
    lost: tuple[str, ...]
    checks: Mapping[str, str] = field(default_factory=dict)
    unsteady: tuple[str, ...] = ()  # guards that fail without the patch as well
    why: str = ""

    @property
    def holds(self) -> bool:
        """Whether every check passed and no guard was lost."""
        return bool(self.fixed) and not self.lost and all(value == PASSED for value in self.checks.values())


def verify(patch: Patch, baseline: Baseline, run: Run, clocks: Clocks, *, seconds: float) -> Verdict:
    """Prove or refute a patch. ``run`` opens a fresh box for each trial; ``seconds`` bounds each of them."""
    canary = Canary.for_tests(baseline.targets)
    ids = (*baseline.targets, *baseline.guards, *canary.ids)
    limits = clocks.limits(ids, seconds)
    report = run_all(run, Trial(patch, ids, limits, overlay=canary.overlay, cold=True))
    passing = report.passing()
    fixed = tuple(test for test in baseline.targets if test in passing)
    lost = tuple(test for test in baseline.guards if test not in passing)
    lost, unsteady = _steady(lost, run, clocks, seconds)
    checks = {
        "cold": PASSED if report.end is End.COMPLETE and fixed and not lost else FAILED,
        "canaries": PASSED if canary.sings(report) else FAILED,
    }
    if fixed:
        checks["reverted"] = PASSED if _fail_without(fixed, run, clocks, seconds) else FAILED
    return Verdict(fixed, lost, checks, unsteady, _why(report, fixed, lost, baseline, checks))


def _steady(lost: tuple[str, ...], run: Run, clocks: Clocks, seconds: float) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Run lost guards without the patch: one that fails there too proves nothing against it."""
    if not lost:
        return (), ()
    report = run_all(run, Trial(Patch(), lost, clocks.limits(lost, seconds), cold=True))
    passing = report.passing()
    return tuple(t for t in lost if t in passing), tuple(t for t in lost if t not in passing)


def _fail_without(fixed: tuple[str, ...], run: Run, clocks: Clocks, seconds: float) -> bool:
    """The same targets must fail again on the tree as it was."""
    report = run_all(run, Trial(Patch(), fixed, clocks.limits(fixed, seconds), cold=True))
    return report.end is not End.LOST and not report.passing() & frozenset(fixed)


def _why(
    report: Report, fixed: tuple[str, ...], lost: tuple[str, ...], baseline: Baseline, checks: dict[str, str]
) -> str:
    if report.end is not End.COMPLETE:
        return f"the cold run did not come to its end ({report.end}{': ' + report.why if report.why else ''})"
    if lost:
        return f"{len(lost)} tests that passed before fail with it: {', '.join(lost[:3])}"
    still = [test for test in baseline.targets if test not in fixed]
    if still:
        return f"{len(still)} of {len(baseline.targets)} targets still fail in a cold run: {', '.join(still[:3])}"
    failed = [name for name, value in checks.items() if value == FAILED]
    return f"checks that failed: {', '.join(failed)}" if failed else ""


@dataclass(frozen=True, slots=True)
class Canary:
    """Two tests of our own in the same session: one must fail and one must pass, or no report is believed."""

    path: str

    @classmethod
    def for_tests(cls, tests: tuple[str, ...]) -> Canary:
        """Return a canary beside the first target, under a name that nothing else has."""
        folder = PurePosixPath(tests[0].split("::")[0]).parent if tests else PurePosixPath()
        name = hashlib.sha256("|".join(tests).encode()).hexdigest()[:12]
        return cls(str(folder / f"test_noepi_{name}.py"))

    @property
    def ids(self) -> tuple[str, str]:
        """Return the ids of the test that must fail and of the one that must pass."""
        return f"{self.path}::test_must_fail", f"{self.path}::test_must_pass"

    @property
    def overlay(self) -> dict[str, bytes]:
        """Return the file to lay over the tree."""
        return {self.path: b"def test_must_fail():\n    assert 1 == 2\n\n\ndef test_must_pass():\n    assert 1 == 1\n"}

    def sings(self, report: Report) -> bool:
        """Whether both ended as they must."""
        outcomes = report.select(self.ids)
        fail, ok = (outcomes[test] for test in self.ids)
        return fail.status is Status.FAILED and ok.passed
