"""What can be known before a step: the suite measured with the best patch, the failures left, the suspects."""

from __future__ import annotations

import functools
from collections.abc import Iterable
from dataclasses import replace

from pytest_noepicycle.domain.context import Context
from pytest_noepicycle.domain.failure import Failure
from pytest_noepicycle.domain.patch import Patch
from pytest_noepicycle.domain.run import Finding
from pytest_noepicycle.domain.trial import Report, Trial
from pytest_noepicycle.stages import baseline as ground
from pytest_noepicycle.stages.baseline import Ground
from pytest_noepicycle.stages.installed import installed_copies
from pytest_noepicycle.stages.localise import localise
from pytest_noepicycle.stages.names import importable
from pytest_noepicycle.stages.running import Clocks
from pytest_noepicycle.stages.veil import veil
from pytest_noepicycle.supervisor.state import State
from pytest_noepicycle.supervisor.work import Work

_LONGEST_LOOK = 60.0  # seconds of one run that a rung asks for
_QUICK = 15.0  # seconds: a suite faster than this is traced whole, and again after each gain


def context(state: State, work: Work) -> Context:
    """Gather what a rung may know, measured with the best patch in place.

    Of held-out targets a rung learns nothing. Where they are all that still fails, it begins anew on the tree as it
    was, with the failures that it may see: the patch so far has mended those and not their cause.
    """
    if state.baseline.held and set(state.baseline.shown.targets) <= set(state.fixed):
        state = replace(state, best=Patch(), fixed=())
    now = work.memory.grounds.get(state.best.digest)
    if now is None:
        ids = None if _quick(work) else _nearby(state)
        now = _traced(work, state.best, ids)
    known = state.baseline.shown
    territory = work.memory.territory or work.territory
    failures = _still_failing(state, now)

    def read(path: str) -> bytes | None:
        return state.best.read(path, work.snapshot.read)

    passing = frozenset(test for test, outcome in now.outcomes.items() if outcome.passed)
    suspects = localise(failures, now.coverage, known, read, territory, passing=passing)
    return Context(
        baseline=known,
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
        never_send=work.settings.never_send,
        max_seconds=work.remaining,
        try_tests=functools.partial(_tried, work),
        veil=veil(state.baseline.held),
    )


def _tried(work: Work, patch: Patch, ids: tuple[str, ...]) -> Report:
    """Run tests with a patch for a rung that wants to see; the time that the proof needs is left alone."""
    seconds = max(1.0, min(_LONGEST_LOOK, work.remaining - work.memory.proof_seconds))
    limits = work.memory.clocks(work.settings, floor=2.0).limits(ids, seconds)
    return work.run(Trial(patch, ids, limits))


def _still_failing(state: State, now: Ground) -> tuple[Failure, ...]:
    """Return why each target that is not yet mended fails, as last seen."""
    fixed, failures = {*state.fixed, *state.baseline.held}, []
    for failure in state.failures:
        if failure.test not in fixed:
            outcome = now.outcomes.get(failure.test)
            failures.append(outcome.failure if outcome and outcome.failure else failure)
    return tuple(failures)


def whole_suite(work: Work) -> Ground:
    """Run the suite on the unchanged tree, and beside it, where it is quick, once more to see what each test reaches.

    Tracing slows a run down several times: which tests pass, and how long they take, is read off the plain one.
    """
    traced = work.executor.submit(_traced, work, Patch(), None) if _quick(work) else None
    clocks = Clocks(work.session.durations, work.settings.test_timeout)
    work.memory.first = ground.measure(work.run, seconds=_share(work), clocks=clocks)
    if traced is not None:
        traced.result()
    return work.memory.first


def installed(targets: Iterable[str], work: Work) -> tuple[Finding, ...]:
    """Return the targets that run an installed copy of the product, where the unchanged tree was traced."""
    seen = work.memory.grounds.get(Patch().digest)
    if seen is None:
        return ()
    shot = work.snapshot
    return installed_copies(targets, seen.coverage, shot.files, work.territory.taken, shot.read)


def _traced(work: Work, patch: Patch, ids: tuple[str, ...] | None) -> Ground:
    """Run the suite (or ``ids``) with a patch in place, see what each test reaches, and keep it."""
    clocks = Clocks(work.session.durations, work.settings.test_timeout)
    made = ground.measure(work.run, seconds=_share(work), clocks=clocks, ids=ids, patch=patch, coverage=True)
    work.memory.grounds[patch.digest] = made
    return made


def _nearby(state: State) -> tuple[str, ...]:
    """The targets and what stands in their files: enough to tell guilty lines from innocent ones."""
    files = {test.split("::")[0] for test in state.baseline.targets}
    return (*state.baseline.targets, *(t for t in state.baseline.guards if t.split("::")[0] in files))


def _quick(work: Work) -> bool:
    """Whether the suite is fast enough to be traced whole, as the session that failed was."""
    return sum(work.session.durations.values()) < _QUICK


def _share(work: Work) -> float:
    return max(10.0, work.remaining / 4)


def suite_seconds(work: Work) -> float:
    """Return how long the suite took at the baseline."""
    return work.memory.first.seconds if work.memory.first else 0.0


def own_modules(work: Work) -> frozenset[str]:
    """Names that the project's own files import under."""
    return importable(work.snapshot.files)
