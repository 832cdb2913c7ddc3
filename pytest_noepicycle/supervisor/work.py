"""What the nodes work with: the ports of one run, and what can be measured again when it is lost."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import Executor
from dataclasses import dataclass, field
from typing import Any, Protocol

from pytest_noepicycle.domain.context import Context
from pytest_noepicycle.domain.estimate import Estimate
from pytest_noepicycle.domain.guard import Territory
from pytest_noepicycle.domain.ladder import Ladder
from pytest_noepicycle.domain.score import Baseline
from pytest_noepicycle.domain.session import Session
from pytest_noepicycle.domain.settings import Settings
from pytest_noepicycle.domain.trial import Report, Trial
from pytest_noepicycle.ports import Clock, Journal, Proposer, Snapshot
from pytest_noepicycle.stages.baseline import Ground
from pytest_noepicycle.stages.propose import Gate
from pytest_noepicycle.stages.running import Clocks
from pytest_noepicycle.stages.trial import Judged, Standing
from pytest_noepicycle.supervisor.purse import Purse


class Watcher(Protocol):
    """Whoever shows the run while it goes on."""

    def stage(self, text: str) -> None:
        """A new stage begins."""
        ...

    def progress(self, rung: str, tried: int, score: float, spent: int) -> None:
        """One more candidate was judged."""
        ...


Grade = Callable[[Judged, Baseline], float | None]


def no_grade(run: Judged, baseline: Baseline) -> float | None:
    """Leave the score of an attempt as it is."""
    return None


@dataclass(frozen=True, slots=True)
class Work:
    """The ports of one run. ``run`` takes a warm box, ``run_fresh`` opens a new one; ``deadline`` is on ``clock``.

    ``grade`` may put a finer score in the place of an attempt's own; ``preview`` tells what a model would be asked,
    and asks nothing.
    """

    session: Session
    settings: Settings
    ladder: Ladder
    snapshot: Snapshot
    territory: Territory
    run: Callable[[Trial], Report]
    run_fresh: Callable[[Trial], Report]
    executor: Executor
    width: int
    proposers: Mapping[str, Proposer]
    blocked: frozenset[str]
    purse: Purse
    journal: Journal
    watcher: Watcher
    clock: Clock
    deadline: float
    told: Callable[[Any, Any], None]
    gate: Gate
    memory: Memory = field(default_factory=lambda: Memory())
    grade: Grade = no_grade
    preview: Callable[[Context], Estimate | None] = lambda context: None

    @property
    def remaining(self) -> float:
        """Return the seconds that are left of the time limit."""
        return max(0.0, self.deadline - self.clock())


@dataclass(slots=True)
class Memory:
    """Measurements of this process: too large for the state, and made again where they are missing.

    ``grounds`` are kept by the digest of the patch that they were taken with; ``standing`` is the best of the
    attempt that goes on, for the case that it is interrupted.
    """

    grounds: dict[str, Ground] = field(default_factory=dict)
    first: Ground | None = None
    proof_seconds: float = 0.0
    standing: Standing | None = None
    territory: Territory | None = None

    def clocks(self, settings: Settings, *, floor: float) -> Clocks:
        """Return how long each test may take, by its time at the baseline."""
        durations = self.first.durations if self.first else {}
        return Clocks(durations, settings.test_timeout, floor=floor)
