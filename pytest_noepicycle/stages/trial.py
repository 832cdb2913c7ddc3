"""The trial of proposals: many at once, judged in their order, gains joined into one patch."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Executor, Future
from dataclasses import dataclass, replace

from pytest_noepicycle.domain.context import Context, Coverage
from pytest_noepicycle.domain.failure import Failure
from pytest_noepicycle.domain.patch import Patch, Proposal, merge
from pytest_noepicycle.domain.score import Baseline, Score, score
from pytest_noepicycle.domain.trial import Outcome, Report, Trial
from pytest_noepicycle.stages.running import Clocks, Run


@dataclass(frozen=True, slots=True)
class Lab:
    """What a trial needs: a way to run, how many at once, the frozen lists, the clocks, and when to end.

    A ``thorough`` lab runs everything that a candidate reaches; ``refuted`` are digests that no gain may lead to.
    """

    run: Run
    executor: Executor
    width: int
    baseline: Baseline
    clocks: Clocks
    out_of_time: Callable[[], bool]
    seconds: float = 120.0
    thorough: bool = False
    refuted: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Standing:
    """The best so far: ``fixed`` targets pass with ``patch`` and no guard that it can reach is lost."""

    patch: Patch
    fixed: frozenset[str] = frozenset()

    def value(self, baseline: Baseline) -> float:
        """Return its score."""
        return len(self.fixed) / len(baseline.targets) if baseline.targets else 0.0


@dataclass(frozen=True, slots=True)
class Judged:
    """One proposal and what it did when tried by itself on top of where its rung started."""

    proposal: Proposal
    score: Score
    outcomes: dict[str, Outcome]

    @property
    def failures(self) -> tuple[Failure, ...]:
        """Return why tests still fail with it."""
        return tuple(o.failure for o in self.outcomes.values() if o.failure is not None)


@dataclass(frozen=True, slots=True)
class Screening:
    """What a stream of proposals came to: the standing after it, how many were tried, the last one judged."""

    standing: Standing
    tried: int
    gains: tuple[Judged, ...] = ()
    last: Judged | None = None
    halted: bool = False
    interrupted: bool = False


def screen(
    proposals: Iterable[Proposal],
    context: Context,
    standing: Standing,
    lab: Lab,
    tell: Callable[[Judged, Standing], None],
) -> Screening:
    """Try the proposals until every target passes, they run out, or the time does.

    Each is tried by itself on top of ``context.best``, so that the outcome does not depend on how many run at
    once; one that gains is then joined with the gains before it and tried again with them. Ctrl-C keeps the gains.
    """
    state = Screening(standing, 0)

    def may_gain(proposal: Proposal) -> bool:
        return not state.standing.fixed.issuperset((*_aims(proposal.patch, context), *lab.baseline.held))

    try:
        for judged in _in_order(proposals, context, lab, may_gain):
            state = replace(state, tried=state.tried + 1, last=judged)
            if judged.score.fixed - state.standing.fixed and not judged.score.lost:
                better = _join(judged, state.standing, context, lab)
                if better is not None and better.patch.digest not in lab.refuted:
                    kept = () if better.patch == judged.proposal.patch else state.gains
                    state = replace(state, standing=better, gains=(*kept, judged))
            tell(judged, state.standing)
            if len(state.standing.fixed) == len(lab.baseline.targets):
                return state
            if lab.out_of_time():
                return replace(state, halted=True)
    except KeyboardInterrupt:
        return replace(state, interrupted=True)
    return state


def _in_order(
    proposals: Iterable[Proposal], context: Context, lab: Lab, may_gain: Callable[[Proposal], bool]
) -> Iterator[Judged]:
    """Try a few ahead, hand out their judgements in the order of the proposals.

    What can reach nothing but tests that were mended meanwhile is left out, whether it had begun or not: so the
    same judgements come out however many are tried ahead.
    """
    waiting: deque[Future[Judged]] = deque()
    try:
        for proposal in proposals:
            if may_gain(proposal):
                waiting.append(lab.executor.submit(try_alone, proposal, context, lab))
            if len(waiting) >= lab.width:
                yield from _next(waiting, may_gain)
        while waiting:
            yield from _next(waiting, may_gain)
    finally:
        for future in waiting:
            future.cancel()


def _next(waiting: deque[Future[Judged]], may_gain: Callable[[Proposal], bool]) -> Iterator[Judged]:
    judged = waiting.popleft().result()
    if may_gain(judged.proposal):
        yield judged


def try_alone(proposal: Proposal, context: Context, lab: Lab) -> Judged:
    """Run the targets that the change can reach; only if one of them passes now, what it could break.

    A thorough lab runs that in any case: where attempts are few, each is to be known in full. Held-out targets are
    run once a shown one passes.
    """
    report = _run(proposal.patch, _aims(proposal.patch, context), lab)
    judged = score(lab.baseline, report, guards_run=frozenset())
    if not judged.fixed and not lab.thorough:
        return Judged(proposal, judged, dict(report.outcomes))
    if lab.baseline.held:
        report = report.joined(_run(proposal.patch, lab.baseline.held, lab))
        judged = score(lab.baseline, report, guards_run=frozenset())
    mended = tuple(test for test in lab.baseline.shown.targets if test not in context.remaining)
    return _with_guards(proposal, report, reachable((*mended, *lab.baseline.guards), proposal.patch, context), lab)


def _with_guards(proposal: Proposal, report: Report, guards: tuple[str, ...], lab: Lab) -> Judged:
    if not guards:
        return Judged(proposal, score(lab.baseline, report, guards_run=frozenset()), dict(report.outcomes))
    both = report.joined(_run(proposal.patch, guards, lab))
    return Judged(proposal, score(lab.baseline, both, guards_run=frozenset(guards)), dict(both.outcomes))


def _join(judged: Judged, standing: Standing, context: Context, lab: Lab) -> Standing | None:
    """Return the standing with this gain added, or None where the two do not go together.

    A gain that mends all that the earlier ones of this round did, and more, stands alone: they were half of it.
    """
    wanted = standing.fixed | judged.score.fixed
    if standing.fixed & {*context.remaining, *lab.baseline.held} <= judged.score.fixed:
        return _with_others(Standing(judged.proposal.patch, wanted), lab)
    patch = merge(context.best, standing.patch, judged.proposal.patch)
    if patch is None:
        return None
    guards = reachable(lab.baseline.guards, patch, context)
    together = score(lab.baseline, _run(patch, (*lab.baseline.targets, *guards), lab), guards_run=frozenset(guards))
    return Standing(patch, together.fixed) if together.fixed >= wanted and not together.lost else None


def _with_others(standing: Standing, lab: Lab) -> Standing:
    """Credit the targets that pass as well, though nothing showed that the change reaches them (a subprocess)."""
    others = tuple(test for test in lab.baseline.targets if test not in standing.fixed)
    if not others:
        return standing
    return Standing(standing.patch, standing.fixed | score(lab.baseline, _run(standing.patch, others, lab)).fixed)


def _aims(patch: Patch, context: Context) -> tuple[str, ...]:
    """Return the targets that the patch may mend: those it reaches, or all, where none was seen to run its lines."""
    return reachable(context.remaining, patch, context) or context.remaining


def _run(patch: Patch, ids: tuple[str, ...], lab: Lab) -> Report:
    return lab.run(Trial(patch, ids, lab.clocks.limits(ids, lab.seconds), brief=not lab.thorough))


def reachable(tests: Iterable[str], patch: Patch, context: Context) -> tuple[str, ...]:
    """Return the tests whose outcome the patch can change: those that ran a line it touches.

    A line that runs at import is reached by every test, and so is one in a file of which nothing is known.
    """
    lines = _touched(patch, context)
    at_import, measured = context.coverage.get("", {}), _measured(context.coverage)
    if any(path not in measured or at_import.get(path, frozenset()) & rows for path, rows in lines):
        return tuple(tests)
    return tuple(test for test in tests if _reaches(context.coverage.get(test), lines))


def _reaches(seen: Mapping[str, frozenset[int]] | None, lines: list[tuple[str, frozenset[int]]]) -> bool:
    if seen is None:
        return True  # nothing was measured for it
    return any(seen.get(path, frozenset()) & rows for path, rows in lines)


def _measured(coverage: Coverage) -> frozenset[str]:
    return frozenset(path for files in coverage.values() for path in files)


def _touched(patch: Patch, context: Context) -> list[tuple[str, frozenset[int]]]:
    """Return the touched lines by path, in the line numbers of the tree that was measured (``context.best``)."""
    touched = []
    for change in patch.changes:
        start = context.best.read(change.path, lambda path: context.read_baseline(path))
        if start != change.after:
            step = replace(change, before=start)
            touched.append((change.path, step.touched_lines()))
    return touched
