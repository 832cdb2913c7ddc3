"""What can be known before a step: the suite measured with the best patch, the failures left, the suspects."""

from __future__ import annotations

from collections.abc import Iterable

from pytest_noepicycle.domain.context import Context
from pytest_noepicycle.domain.failure import Failure
from pytest_noepicycle.domain.patch import Patch
from pytest_noepicycle.stages import baseline as ground
from pytest_noepicycle.stages.baseline import Ground
from pytest_noepicycle.stages.localise import localise
from pytest_noepicycle.stages.running import Clocks
from pytest_noepicycle.supervisor.state import State
from pytest_noepicycle.supervisor.work import Work

_QUICK = 30.0  # seconds: a suite faster than this is measured whole again after each gain


def context(state: State, work: Work) -> Context:
    """Gather what a rung may know, measured with the best patch in place."""
    now = work.memory.grounds.get(state.best.digest)
    if now is None:
        ids = None if suite_seconds(work) < _QUICK else state.baseline.targets
        now = measure(work, state.best, ids)
    territory = work.memory.territory or work.territory
    failures = _still_failing(state, now)

    def read(path: str) -> bytes | None:
        return state.best.read(path, work.snapshot.read)

    passing = frozenset(test for test, outcome in now.outcomes.items() if outcome.passed)
    suspects = localise(failures, now.coverage, state.baseline, read, territory, passing=passing)
    return Context(
        baseline=state.baseline,
        failures=failures,
        suspects=suspects,
        best=state.best,
        read=read,
        read_baseline=work.snapshot.read,
        files=work.snapshot.files,
        territory=territory,
        coverage=now.coverage,
        attempts=state.attempts,
        tokens_left=work.purse.ledger.left,
        max_seconds=work.remaining,
    )


def _still_failing(state: State, now: Ground) -> tuple[Failure, ...]:
    """Return why each target that is not yet mended fails, as last seen."""
    fixed, failures = set(state.fixed), []
    for failure in state.failures:
        if failure.test not in fixed:
            outcome = now.outcomes.get(failure.test)
            failures.append(outcome.failure if outcome and outcome.failure else failure)
    return tuple(failures)


def measure(work: Work, patch: Patch, ids: tuple[str, ...] | None) -> Ground:
    """Run the suite (or ``ids``) with a patch in place, keep what it showed, and return it."""
    clocks = work.memory.clocks(work.settings, floor=5.0) if work.memory.first else Clocks(work.session.durations)
    made = ground.measure(work.run, seconds=max(10.0, work.remaining / 4), clocks=clocks, ids=ids, patch=patch)
    work.memory.grounds[patch.digest] = made
    return made


def suite_seconds(work: Work) -> float:
    """Return how long the suite took at the baseline."""
    return work.memory.first.seconds if work.memory.first else 0.0


def by_file(ids: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """Return the ids by the file that they were collected from."""
    files: dict[str, list[str]] = {}
    for test in ids:
        files.setdefault(test.split("::")[0], []).append(test)
    return {path: tuple(tests) for path, tests in files.items()}


def own_modules(work: Work) -> frozenset[str]:
    """Names that the project's own files import under."""
    names: set[str] = set()
    for path in work.snapshot.files:
        if path.endswith(".py"):
            names.update(part.removesuffix(".py") for part in path.split("/"))
    return frozenset(names)
