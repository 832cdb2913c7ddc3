"""Triage: what kind of failure each one is, told before anything is spent on it."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from concurrent.futures import Executor
from dataclasses import dataclass, field, replace

from pytest_noepicycle.domain.failure import Failure
from pytest_noepicycle.domain.patch import Patch
from pytest_noepicycle.domain.run import Finding
from pytest_noepicycle.domain.trial import End, Outcome, Report, Status, Trial
from pytest_noepicycle.stages.chance import chance
from pytest_noepicycle.stages.environment import environment
from pytest_noepicycle.stages.hidden import hides
from pytest_noepicycle.stages.running import Clocks, Run, run_all
from pytest_noepicycle.stages.scene import Surroundings

_MORE_ROUNDS = 6  # for what passed each time, failed differently each time, or by the order of the tests
_FEW_MORE_ROUNDS = 3  # for what failed alike each time, though chance has a hand in it
_ADDRESS = re.compile(r"0x[0-9a-fA-F]+")
NO_TIME = "time"
"""The cause of a finding about a test that did not come to run again."""
_STEERED_BY = "noepi_env lets names of the environment through, noepi_memory and noepi_test_timeout set its limits"


@dataclass(frozen=True, slots=True)
class Triage:
    """``real`` failures as the sandbox shows them, in order; ``findings`` about all others."""

    real: tuple[Failure, ...]
    findings: tuple[Finding, ...]
    absent: tuple[str, ...] = ()  # failed outside, passed every time when run again
    swayed: tuple[Failure, ...] = ()  # among the findings: what the order of the failing tests decided


@dataclass(slots=True)
class _Seen:
    """How one test ended, each time that it was run again: among the others in their order, and in reverse."""

    test: str
    forward: list[Outcome] = field(default_factory=list)
    backward: list[Outcome] = field(default_factory=list)

    @property
    def outcomes(self) -> list[Outcome]:
        return [*self.forward, *self.backward]

    @property
    def passed(self) -> int:
        return sum(outcome.passed for outcome in self.outcomes)

    @property
    def mixed(self) -> bool:
        """Whether it passed and failed, and not by the order of the tests."""
        return self.passed not in (0, len(self.outcomes)) and not self.swayed

    @property
    def failure(self) -> Failure | None:
        return next((o.failure for o in self.outcomes if o.failure is not None), None)

    @property
    def hangs(self) -> bool:
        return any(outcome.status is Status.TIMEOUT for outcome in self.outcomes)

    @property
    def swayed(self) -> bool:
        """Whether it always ended one way in one order, and always the other way in the other."""
        ways = [{outcome.passed for outcome in outcomes} for outcomes in (self.forward, self.backward)]
        return ways in ([{True}, {False}], [{False}, {True}])


@dataclass(slots=True)
class _Rounds:
    """Runs what failed again and again; ``spent`` seconds so far."""

    seen: dict[str, _Seen]
    run: Run
    clocks: Clocks
    seconds: float
    spent: float = 0.0

    def take(self, report: Report, *, backward: bool = False) -> None:
        """Keep how each test ended."""
        for test, outcome in report.select(report.outcomes.keys() & self.seen.keys()).items():
            seen = self.seen[test]
            (seen.backward if backward else seen.forward).append(outcome)
        self.spent += report.seconds

    def once(self, tests: tuple[str, ...], *, backward: bool, run: Run | None = None, cold: bool = False) -> Report:
        """Run the tests, in their order or in reverse."""
        ids = tests[::-1] if backward else tests
        return run_all(run or self.run, Trial(Patch(), ids, self.clocks.limits(ids, self.seconds), cold=cold))


def triage(
    failed: tuple[str, ...],
    run: Run,
    *,
    fresh: Run,
    executor: Executor | None = None,
    reruns: int,
    seconds: float,
    known: frozenset[str],
    clocks: Clocks | None = None,
    around: Surroundings | None = None,
) -> Triage:
    """Run what failed again and sort it: ``reruns`` times, one of them cold in a ``fresh`` box, every other of the
    rest in reverse; more often where it passed each time, or where chance seems to have a hand in it.

    ``known`` are the names of modules that exist, here and in the project; ``around`` tells of the project's files.
    """
    around = replace(around or Surroundings(), modules=known)
    rounds = _Rounds({test: _Seen(test) for test in failed}, run, clocks or Clocks(), seconds)
    beside = executor.submit(rounds.once, failed, backward=False, run=fresh, cold=True) if executor else None
    warm = [rounds.once(failed, backward=number % 2 == 0) for number in range(reruns - 1)]
    first = beside.result() if beside else rounds.once(failed, backward=False, run=fresh, cold=True)
    rounds.take(first)
    for number, report in enumerate(warm):
        rounds.take(report, backward=number % 2 == 0)
    _look_longer(rounds, around)
    return _sorted(rounds.seen.values(), first, around)


def _look_longer(rounds: _Rounds, around: Surroundings) -> None:
    """Run the unsure ones again, in the company that they had, until each has shown both ways to end or is settled."""
    wanted = {seen.test: _rounds_more(seen, around) for seen in rounds.seen.values()}
    company = tuple(seen.test for seen in rounds.seen.values() if not seen.hangs)
    for number in range(_MORE_ROUNDS):
        unsure = [t for t, most in wanted.items() if number < most and not rounds.seen[t].mixed]
        if not unsure or rounds.spent > rounds.seconds / 2:
            return
        backward = number % 2 == 0
        rounds.take(rounds.once(company, backward=backward), backward=backward)


def _rounds_more(seen: _Seen, around: Surroundings) -> int:
    if seen.hangs or seen.mixed or any(o.status is Status.MISSING for o in seen.outcomes):
        return 0
    messages = {_ADDRESS.sub("", o.failure.message) for o in seen.outcomes if o.failure is not None}
    failure = seen.failure
    if failure is None or seen.swayed or len(messages) > 1:
        return _MORE_ROUNDS
    unsure = environment(failure, around) is None and bool(chance(failure, around))
    return _FEW_MORE_ROUNDS if unsure else 0


def _sorted(all_seen: Collection[_Seen], first: Report, around: Surroundings) -> Triage:
    real: list[Failure] = []
    findings: list[Finding] = []
    absent: list[str] = []
    for seen in all_seen:
        if seen.passed and seen.passed == len(seen.outcomes):
            absent.append(seen.test)
            continue
        verdict = _verdict(seen, first, around)
        if isinstance(verdict, Finding):
            findings.append(verdict)
        else:
            real.append(verdict)
    swayed = tuple(seen.failure for seen in all_seen if seen.swayed and seen.failure is not None)
    return Triage(tuple(real), tuple(findings), tuple(absent), swayed)


def _verdict(seen: _Seen, first: Report, around: Surroundings) -> Failure | Finding:
    if seen.swayed:
        hint = "passes or fails by which of the other failing tests ran before it"
        return Finding(seen.test, "order-dependent", hint)
    if seen.passed:
        return Finding(seen.test, "flaky", _by_chance(seen, around))
    failure = seen.failure
    if failure is None:
        return _without_failure(seen, first)
    finding = environment(failure, around) or _beyond_a_patch(failure)
    return _with_hidden(finding, around) if finding else failure


def _by_chance(seen: _Seen, around: Surroundings) -> str:
    said = f"passed in {seen.passed} of {len(seen.outcomes)} runs of the same code"
    causes = chance(seen.failure or Failure(seen.test, "call", "", ""), around)
    return f"{said}; its code draws on {', '.join(causes)}" if causes else said


def _beyond_a_patch(failure: Failure) -> Finding | None:
    """A test's own file that is no Python cannot be mended by the product, and tests are never changed."""
    place = failure.frames[-1].path if failure.frames else ""
    if failure.exception in ("SyntaxError", "IndentationError", "TabError") and place == failure.test.split("::")[0]:
        hint = f"the file of tests itself is no Python, see line {failure.frames[-1].line}: mend it by hand"
        return Finding(failure.test, "collection", hint)
    return None


def _with_hidden(finding: Finding, around: Surroundings) -> Finding:
    told = hides(finding.test, around)
    return replace(finding, hint=f"{finding.hint}; {told}") if told else finding


def _without_failure(seen: _Seen, first: Report) -> Failure | Finding:
    statuses = {outcome.status for outcome in seen.outcomes}
    if statuses == {Status.TIMEOUT}:
        return Failure(seen.test, "call", "Timeout", "the test did not come to an end")
    if first.end is End.TIMEOUT and statuses <= {Status.MISSING}:
        return Finding(seen.test, "unreproduced", "it did not come to run again within the time", cause=NO_TIME)
    return Finding(seen.test, "unreproduced", _why_not(seen.test, statuses, first))


def _why_not(test: str, statuses: set[Status], first: Report) -> str:
    collect = first.outcomes.get(test.split("::")[0])
    if collect is not None and collect.failure is not None:
        what = f"{collect.failure.exception}: {collect.failure.message[:200]}"
        return f"its file cannot be collected in the sandbox: {what}"
    if first.why and statuses <= {Status.MISSING}:
        return f"the tests cannot be run in the sandbox: {first.why}"
    if not statuses or (statuses == {Status.MISSING} and test in first.collected):
        return "it was not run, though it is there: does a plugin leave it out?"
    if statuses == {Status.MISSING}:
        return "nothing of that name is found when the tests are collected again: are its parameters made by chance?"
    return f"in the sandbox it is {', '.join(sorted(statuses))}; {_STEERED_BY}"


def collection_notes(real: Iterable[Failure], around: Surroundings) -> Iterator[str]:
    """Say of each place that cannot be collected, and is to be mended, why and which tests it hides."""
    for failure in real:
        if failure.phase == "collect":
            told = hides(failure.test, around)
            yield f"{failure.test} cannot be collected ({failure.exception})" + (f"; {told}" if told else "")
