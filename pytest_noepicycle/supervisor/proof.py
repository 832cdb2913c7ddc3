"""The proof of the best patch: first made as small as it can be, then run cold; time for it is reserved."""

from __future__ import annotations

from dataclasses import replace

from pytest_noepicycle.codec import encode
from pytest_noepicycle.domain.patch import Patch
from pytest_noepicycle.domain.trial import Status, Trial
from pytest_noepicycle.stages.minimise import minimise
from pytest_noepicycle.stages.running import bounded
from pytest_noepicycle.stages.verify import COLD_RUNS, Verdict, verify
from pytest_noepicycle.supervisor.state import State
from pytest_noepicycle.supervisor.survey import suite_seconds
from pytest_noepicycle.supervisor.work import Work

_MARGIN = 15.0  # seconds for boxes to open and close during the proof
_MOST = 0.4  # share of the time limit that may be reserved for it
_TRIALS = 60


def proof_seconds(work: Work) -> float:
    """Return how long the proof may take, by the time of the suite: so much of the limit is not spent before it."""
    return min(work.settings.time_limit * _MOST, COLD_RUNS * suite_seconds(work) + _MARGIN)


def prove(state: State, work: Work) -> Verdict:
    """Run everything cold with the best patch in place, and all that could refute it."""
    work.watcher.stage("verify: a cold run of everything on a pristine tree plus the patch")
    first = work.memory.first
    outcomes = first.outcomes if first else {}
    seconds = max(20.0, work.remaining, work.memory.proof_seconds)
    verdict = verify(
        state.best,
        state.baseline,
        bounded(work.run_fresh, work.clock, work.clock() + seconds, least=10.0),
        work.memory.clocks(work.settings, floor=5.0),
        seconds=seconds,
        read=work.snapshot.read,
        collected=first.collected if first else (),
        hanging=frozenset(t for t in state.baseline.targets if t in outcomes and outcomes[t].status is Status.TIMEOUT),
    )
    work.journal.write("verdict", patch=state.best.digest, holds=verdict.holds, **encode(verdict))
    return verdict


def smallest(state: State, work: Work) -> State:
    """Leave out of the best patch what it does not need; the proof is taken on what is left."""
    hunks = sum(len(change.hunks()) for change in state.best.changes)
    if hunks < 2 and sum(state.best.counts()) <= 2:
        return state
    work.watcher.stage("minimise: leaving out what the patch does not need")

    def keeps(patch: Patch) -> bool:
        return work.remaining > work.memory.proof_seconds and _does_it(patch, state, work)

    small = minimise(state.best, keeps, most=_TRIALS)
    if small != state.best:
        work.journal.write("minimised", before=state.best.digest, after=small.digest)
    return replace(state, best=small)


def _does_it(patch: Patch, state: State, work: Work) -> bool:
    """Whether a smaller patch mends the same targets and loses no guard, by warm trials."""
    clocks = work.memory.clocks(work.settings, floor=2.0)
    for ids in (state.fixed, state.baseline.guards):
        report = work.run(Trial(patch, ids, clocks.limits(ids, 2 * suite_seconds(work) + 30), brief=True))
        if not set(ids) <= report.passing():
            return False
    return True
