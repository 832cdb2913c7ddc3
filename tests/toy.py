"""A small world without processes: tests are predicates over a module's source, run as any sandbox runs them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace

from pytest_noepicycle.domain.context import Context
from pytest_noepicycle.domain.failure import Failure, Frame
from pytest_noepicycle.domain.guard import Territory
from pytest_noepicycle.domain.patch import Patch, Proposal
from pytest_noepicycle.domain.score import Baseline
from pytest_noepicycle.domain.trial import End, Outcome, Report, Status, Trial
from pytest_noepicycle.stages.running import Clocks
from pytest_noepicycle.stages.trial import Lab

Predicate = Callable[[dict[str, object]], bool]


@dataclass
class World:
    """Files and the tests over them; ``trials`` remembers what was run, ``flaky`` answers by turns."""

    files: dict[str, bytes]
    tests: dict[str, Predicate]
    trials: list[Trial] = field(default_factory=list)
    flaky: dict[str, list[bool]] = field(default_factory=dict)

    def run(self, trial: Trial) -> Report:
        """Run a trial: each module is executed once with the patch in place, each test asks its names."""
        self.trials.append(trial)
        files = {**self.files, **{k: v for k, v in trial.patch.files().items() if v is not None}}
        names: dict[str, object] = {}
        for path in sorted(files):
            if path.endswith(".py") and not path.startswith("test"):
                exec(compile(files[path], path, "exec"), names)
        ids = tuple(self.tests) if trial.ids is None else trial.ids
        outcomes = {test: self._outcome(test, names) for test in ids if test in self.tests}
        outcomes.update({test: _canary(test) for test in ids if "test_noepi_" in test})
        coverage = {test: self._lines(files) for test in ids} if trial.coverage else {}
        return Report(outcomes, End.COMPLETE, coverage=coverage, collected=tuple(self.tests), seconds=0.1)

    def read(self, path: str) -> bytes | None:
        """Return a file of the baseline."""
        return self.files.get(path)

    def territory(self) -> Territory:
        """Return what the guard knows."""
        return Territory(frozenset(self.files))

    def _outcome(self, test: str, names: dict[str, object]) -> Outcome:
        turns = self.flaky.get(test)
        passed = turns.pop(0) if turns else self.tests[test](names)
        if passed:
            return Outcome(test, Status.PASSED, 0.01)
        failure = Failure(test, "call", "AssertionError", f"{test} failed", (Frame("m.py", 1, "f"),))
        return Outcome(test, Status.FAILED, 0.01, failure)

    def _lines(self, files: dict[str, bytes]) -> dict[str, frozenset[int]]:
        return {path: frozenset(range(1, 1 + text.count(b"\n"))) for path, text in files.items() if path[0] != "t"}


def _canary(test: str) -> Outcome:
    status = Status.FAILED if "must_fail" in test else Status.PASSED
    return Outcome(test, status, 0.0)


def edit(world: World, path: str, old: bytes, new: bytes, origin: Patch | None = None) -> Proposal:
    """Return a proposal that replaces text in a file, on top of ``origin``."""
    start = origin or Patch()
    before = start.read(path, world.read) or b""
    assert old in before, (old, before)
    return Proposal(start.with_file(path, before.replace(old, new, 1), world.read), f"{old!r} → {new!r}")


def context(world: World, baseline: Baseline, best: Patch | None = None, remaining: Iterable[str] = ()) -> Context:
    """Return a context in which nothing is measured, so that every test is reached by every line."""
    best = best or Patch()
    failures = tuple(Failure(test, "call", "AssertionError", "") for test in (remaining or baseline.targets))
    return Context(
        baseline,
        failures,
        (),
        best,
        lambda p: best.read(p, world.read),
        world.read,
        frozenset(world.files),
        world.territory(),
    )


def lab(world: World, baseline: Baseline, width: int = 1, **more: object) -> Lab:
    """Return a lab over the world."""
    made = Lab(world.run, ThreadPoolExecutor(width), width, baseline, Clocks(), out_of_time=lambda: False)
    return replace(made, **more)  # type: ignore[arg-type]
