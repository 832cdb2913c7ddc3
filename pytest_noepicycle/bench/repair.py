"""The local search against one small program: real localisation and judgement, a child process for each trial."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterable
from concurrent.futures import Executor, Future
from dataclasses import dataclass, field
from typing import Any

from pytest_noepicycle.bench.classics.cases import Case
from pytest_noepicycle.bench.classics.children import in_child
from pytest_noepicycle.bench.classics.exercise import exercise, loaded, names_of_tests
from pytest_noepicycle.domain.context import Context
from pytest_noepicycle.domain.guard import Territory
from pytest_noepicycle.domain.patch import Patch
from pytest_noepicycle.domain.score import Baseline
from pytest_noepicycle.domain.trial import End, Report, Trial
from pytest_noepicycle.rungs.search import LocalSearch
from pytest_noepicycle.stages.localise import localise
from pytest_noepicycle.stages.running import Clocks
from pytest_noepicycle.stages.trial import Judged, Lab, Standing, screen

SEEDS = 200
_TRIAL_SECONDS = 3.0
_OBSERVE_SECONDS = 10.0
_ROUNDS = 4


@dataclass(frozen=True, slots=True)
class Mended:
    """What came of a case: ``outcome`` is rightly, differently, partly or not; ``tried`` counts candidates."""

    case: Case
    outcome: str
    tried: int
    seconds: float
    notes: tuple[str, ...] = ()
    patch: Patch = field(default_factory=Patch)


class _AtOnce(Executor):
    """Runs what is submitted there and then."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()
        future.set_result(fn(*args, **kwargs))
        return future


class Bench:
    """One case as the supervisor sees a project: a baseline, contexts, and a lab that runs trials."""

    def __init__(self, case: Case, *, seconds: float) -> None:
        self.case = case
        self.until = time.monotonic() + seconds
        self.read: Callable[[str], bytes | None] = {p: t.encode() for p, t in case.files.items()}.get
        first = self.run(Trial(Patch(), None, Clocks({}).limits((), 1.0), coverage=True))
        passing = first.passing()
        self.baseline = Baseline(tuple(i for i in self.ids if i not in passing), tuple(sorted(passing)))
        self.lab = Lab(self.run, _AtOnce(), 1, self.baseline, Clocks({}), lambda: time.monotonic() > self.until)

    @property
    def ids(self) -> tuple[str, ...]:
        """Return the ids of the case's tests."""
        return tuple(f"{self.case.test_path}::{name}" for name in names_of_tests(self.case.tests))

    def run(self, trial: Trial) -> Report:
        """Run a trial in a child process."""
        code = (trial.patch.read(self.case.path, self.read) or b"").decode()
        wanted = None if trial.ids is None else [test.rpartition("::")[2] for test in trial.ids]
        report = in_child(lambda: exercise(self.case, code, wanted, measured=trial.coverage), _TRIAL_SECONDS)
        return report if isinstance(report, Report) else Report({}, End.TIMEOUT)

    def context(self, standing: Standing) -> Context:
        """Return what a rung may know, with the standing's patch in place."""
        report = self.run(Trial(standing.patch, None, Clocks({}).limits((), 1.0), coverage=True))
        files = frozenset(self.case.files)
        territory = Territory(files)
        failures = tuple(f for f in report.failures() if f.test not in standing.fixed)

        def read(path: str) -> bytes | None:
            return standing.patch.read(path, self.read)

        suspects = localise(
            failures, report.coverage, self.baseline, read, territory, passing=report.passing() - standing.fixed
        )
        return Context(
            baseline=self.baseline,
            failures=failures,
            suspects=suspects,
            best=standing.patch,
            read=read,
            read_baseline=self.read,
            files=files,
            territory=territory,
            coverage=report.coverage,
        )


def mend(case: Case, search: LocalSearch, *, seconds: float = 60.0) -> Mended:
    """Let the search mend a case as the supervisor would: gains are kept, and the next round starts from them.

    :raises ValueError: where no test of the case fails.
    """
    began = time.monotonic()
    bench = Bench(case, seconds=seconds)
    if not bench.baseline.targets:
        raise ValueError(f"{case.name}: no test notices the slip")
    standing, tried, notes = Standing(Patch()), 0, list[str]()

    def tell(judged: Judged, now: Standing) -> None:
        """Nobody watches."""

    for _ in range(_ROUNDS):
        context = bench.context(standing)
        screening = screen(search.propose(context), context, standing, bench.lab, tell)
        standing, tried = screening.standing, tried + screening.tried
        notes += [judged.proposal.note for judged in screening.gains]
        if not screening.gains or len(standing.fixed) == len(bench.baseline.targets):
            break
    outcome = _judged(bench, standing)
    return Mended(case, outcome, tried, time.monotonic() - began, tuple(notes), standing.patch)


def _judged(bench: Bench, standing: Standing) -> str:
    if len(standing.fixed) < len(bench.baseline.targets):
        return "partly" if standing.fixed else "not"
    code = (standing.patch.read(bench.case.path, bench.read) or b"").decode()
    return "rightly" if alike(bench.case, code) else "differently"


def alike(case: Case, code: str) -> bool:
    """Whether a program behaves as the right one does, on inputs drawn from many seeds."""
    wanted = in_child(lambda: observed(case, case.code), _OBSERVE_SECONDS)
    return wanted is not None and wanted == in_child(lambda: observed(case, code), _OBSERVE_SECONDS)


def observed(case: Case, code: str, seeds: Iterable[int] = range(SEEDS)) -> list[str]:
    """Return what the case observes of a program, for each seed; an exception counts by its kind."""
    module = loaded(case.name, code, case.path)
    exec(compile(case.observe, "<observe>", "exec"), module)  # noqa: S102 - the case is ours, the process a child
    return [_observation(module["observe"], seed) for seed in seeds]


def _observation(observe: Callable[[random.Random], object], seed: int) -> str:
    try:
        return repr(observe(random.Random(seed)))
    except Exception as problem:  # noqa: BLE001 - how it fails is what is observed
        return f"raised {type(problem).__name__}"
