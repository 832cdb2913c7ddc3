"""The state of a run between two steps: one frozen value, kept by the graph as JSON primitives."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from pytest_noepicycle.domain.decision import Decision
from pytest_noepicycle.domain.doubt import doubts
from pytest_noepicycle.domain.estimate import Estimate
from pytest_noepicycle.domain.failure import Failure
from pytest_noepicycle.domain.patch import Patch
from pytest_noepicycle.domain.run import Attempt, Choice, Finding, RunResult, Skipped, StopReason
from pytest_noepicycle.domain.score import Baseline

NOTHING = Baseline((), ())


@dataclass(frozen=True, slots=True)
class Floor:
    """What had been gained before a later gain: where a run falls back to, if that one is refuted."""

    best: Patch = field(default_factory=Patch)
    fixed: tuple[str, ...] = ()
    gains: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class State:
    """All that the next step needs: ``failures`` are those that remain with ``best``.

    ``gains`` are digests of the proposals that ``best`` was joined from; ``refuted`` are digests that a cold run
    has turned down. ``calls`` to models were booked when the last step ended. ``stop`` ends the run.
    """

    rung: str
    baseline: Baseline = NOTHING
    failures: tuple[Failure, ...] = ()
    findings: tuple[Finding, ...] = ()
    best: Patch = field(default_factory=Patch)
    fixed: tuple[str, ...] = ()
    gains: tuple[str, ...] = ()
    refuted: tuple[str, ...] = ()
    floors: tuple[Floor, ...] = ()
    attempts: tuple[Attempt, ...] = ()
    since_switch: int = 0
    left_behind: tuple[str, ...] = ()
    low_used: tuple[str, ...] = ()
    decision: Decision | None = None
    stop: StopReason | None = None
    why: str = ""
    verified: bool = False
    checks: dict[str, str] = field(default_factory=dict)
    broken: tuple[str, ...] = ()
    suspects: tuple[str, ...] = ()
    estimate: Estimate | None = None
    calls: int = 0
    choice: Choice | None = None

    def fallen(self) -> State:
        """Return the state with the newest gain that no cold run has turned down, or with none."""
        floors = self.floors
        while floors and floors[-1].best.digest in self.refuted:
            floors = floors[:-1]
        last = floors[-1] if floors else Floor()
        return replace(self, best=last.best, fixed=last.fixed, gains=last.gains, floors=floors[:-1])

    @property
    def value(self) -> float:
        """Return the score of the best so far."""
        return len(self.fixed) / len(self.baseline.targets) if self.baseline.targets else 0.0

    @property
    def doubts(self) -> tuple[Finding, ...]:
        """Return the tests that still fail and that some rung called wrong, each with its reason."""
        fixed = self.fixed if self.verified else ()
        return doubts(self.attempts, [test for test in self.baseline.shown.targets if test not in fixed])

    def result(self, run_id: str, skipped: tuple[Skipped, ...], seconds: float) -> RunResult:
        """Return the finished run; what was not proven is not shown as gained."""
        return RunResult(
            run_id=run_id,
            stop_reason=self.stop or StopReason.EXHAUSTED,
            baseline=self.baseline,
            score=self.value if self.verified else 0.0,
            verified=self.verified,
            fixed=self.fixed if self.verified else (),
            broken=self.broken,
            findings=(*self.findings, *self.doubts),
            patch=self.best if self.verified else Patch(),
            attempts=self.attempts,
            skipped=skipped,
            checks=self.checks,
            why=self.why,
            suspects=self.suspects,
            estimate=self.estimate,
            choice=self.choice if self.verified else None,
            seconds=seconds,
        )
