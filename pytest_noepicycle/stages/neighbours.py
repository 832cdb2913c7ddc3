"""Neighbours: by which other tests a test comes to fail or to pass, found by running ever fewer of them before it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from pytest_noepicycle.domain.failure import Failure
from pytest_noepicycle.domain.patch import Patch
from pytest_noepicycle.domain.run import Finding
from pytest_noepicycle.domain.trial import Outcome, Status, Trial
from pytest_noepicycle.stages.chance import chance
from pytest_noepicycle.stages.left_behind import leaves_something
from pytest_noepicycle.stages.running import Clocks, Run, run_all
from pytest_noepicycle.stages.scene import Surroundings
from pytest_noepicycle.stages.triage import Triage

_NAMED = 3  # culprits that a hint names
_ALONE = 6  # runs by itself of a test that the order of others seems to sway
_IN_ORDER = 3  # runs of the whole suite that may show a test to fail in it by chance
_TRIED_AGAIN = 2  # culprits of the tests before, which are tried first


@dataclass(slots=True)
class Company:
    """Runs a test after others; each test at most ``runs`` times, and none when ``out_of_time``."""

    run: Run
    clocks: Clocks
    seconds: float
    out_of_time: Callable[[], bool]
    runs: int = 32
    _made: Counter[str] = field(default_factory=Counter)
    _known: dict[tuple[Sequence[str], str], bool | None] = field(default_factory=dict)

    def passes(self, before: Sequence[str], test: str, *, anew: bool = False, after: Sequence[str] = ()) -> bool | None:
        """Whether the test passes between those; None where that was not seen, or no more runs may be made."""
        ids = (*before, test, *after)
        key = (ids, test)
        if key in self._known and not anew:
            return self._known[key]
        if self._made[test] >= self.runs or self.out_of_time():
            return None
        self._made[test] += 1
        report = run_all(self.run, Trial(Patch(), ids, self.clocks.limits(ids, self.seconds), brief=True))
        outcome = report.select([test])[test]
        self._known[key] = None if outcome.status is Status.MISSING else outcome.passed
        return self._known[key]

    def alone(self, test: str, *, times: int) -> set[bool | None]:
        """Return how the test ends by itself, tried so many times or until it has ended both ways."""
        ends: set[bool | None] = set()
        while times and len(ends) < 2:
            ends.add(self.passes((), test, anew=True))
            times -= 1
        return ends

    def fewest(self, before: Sequence[str], test: str, wanted: bool) -> tuple[str, ...]:
        """Return as few of ``before`` as still make the test end that way; all of them where no fewer do."""
        left, parts = tuple(before), 2
        while len(left) > 1 and parts <= len(left):
            smaller = next((p for p in _smaller(left, parts) if self.passes(p, test) is wanted), None)
            if smaller is None:
                parts *= 2
                continue
            parts = 2 if len(smaller) * 2 <= len(left) else max(2, parts - 1)
            left = smaller
        return left


def _smaller(tests: tuple[str, ...], parts: int) -> Iterator[tuple[str, ...]]:
    """Yield each of so many parts of the tests, the last first, then all but each part."""
    size = -(-len(tests) // parts)
    bounds = [(start, start + size) for start in range(0, len(tests), size)][::-1]
    yield from (tests[start:end] for start, end in bounds)
    if parts > 2:
        yield from (tests[:start] + tests[end:] for start, end in bounds)


@dataclass(frozen=True, slots=True)
class Orders:
    """In which orders the tests ran: ``session`` outside (empty where not known), ``whole`` in the sandbox.

    ``outcomes`` are those of the whole suite in the sandbox.
    """

    session: tuple[str, ...]
    whole: tuple[str, ...]
    outcomes: Mapping[str, Outcome]

    def before(self, test: str, *, failing: bool) -> Iterator[tuple[str, ...]]:
        """Yield what ran before a test where it ended that way, in the sandbox, else outside; its own file first."""
        outcome = self.outcomes.get(test)
        seen = outcome is not None and outcome.status is not Status.MISSING and outcome.passed is not failing
        for order in (self.whole if seen else (), self.session if failing else ()):
            before = order[: order.index(test)] if test in order else ()
            own = tuple(one for one in before if one.split("::")[0] == test.split("::")[0])
            yield from (tests for tests in dict.fromkeys((own, before)) if tests)


def by_neighbours(sorted_out: Triage, orders: Orders, company: Company, around: Surroundings) -> Triage:
    """Say by which test the ones that fail only sometimes do so, or that they fail by chance.

    What passed each time alone is looked at, what the order of the failing tests swayed, and what fails alone while
    it passed among all others.
    """
    seeker = _Seeker(orders, company, around)
    swayed = {failure.test: failure for failure in sorted_out.swayed}
    verdicts: list[Failure | Finding] = [seeker.alone(failure) for failure in sorted_out.real]
    for finding in sorted_out.findings:
        verdicts.append(seeker.swayed(swayed[finding.test], finding) if finding.test in swayed else finding)
    verdicts += [seeker.absent(test) for test in sorted_out.absent]
    return replace(
        sorted_out,
        real=tuple(verdict for verdict in verdicts if isinstance(verdict, Failure)),
        findings=tuple(verdict for verdict in verdicts if isinstance(verdict, Finding)),
    )


@dataclass(slots=True)
class _Seeker:
    """Looks for the tests behind one failure after the other; a culprit of one is tried first for the next."""

    orders: Orders
    company: Company
    around: Surroundings
    _culprits: list[tuple[str, ...]] = field(default_factory=list)

    def alone(self, failure: Failure) -> Finding | Failure:
        """Sort what fails when it is alone: it may need others to set something up for it."""
        outcome = self.orders.outcomes.get(failure.test)
        if outcome is None or not outcome.passed or "::" not in failure.test:
            return failure
        found = self._search(failure.test, wanted=True)
        if not found or not any(leaves_something(test, self.around.read) for test in found):
            return failure  # what only calls the code hides a fault of the code, which is there to be mended
        hint = f"fails alone and passes together with {_names(found)}, which set up what it needs"
        return Finding(failure.test, "order-dependent", hint, others=found)

    def absent(self, test: str) -> Finding:
        """Sort what passed each time when it was run again."""
        found = self._search(test, wanted=False)
        if found:
            return self._after(test, found)
        causes = chance(Failure(test, "call", "", ""), self.around)
        outcome = self.orders.outcomes.get(test)
        failing = outcome is not None and not outcome.passed and outcome.status is not Status.MISSING
        if failing and not (causes and self._passed_in_order(test)):
            hint = "fails in the whole suite and passes alone; by which test was not found within the time"
            return Finding(test, "order-dependent", hint)
        if causes:
            hint = f"failed and passed with the same code, whatever ran before it; it draws on {', '.join(causes)}"
            return Finding(test, "flaky", hint)
        return Finding(test, "unreproduced", _DIFFERENT)

    def _passed_in_order(self, test: str) -> bool:
        """Whether it passes in the very order in which it failed: imports of what comes later count as well."""
        place = self.orders.whole.index(test) if test in self.orders.whole else None
        if place is None:
            return False
        before, after = self.orders.whole[:place], self.orders.whole[place + 1 :]
        return any(self.company.passes(before, test, anew=True, after=after) for _ in range(_IN_ORDER))

    def swayed(self, failure: Failure, finding: Finding) -> Finding | Failure:
        """Sort what one order of the failing tests lets pass and another does not."""
        ends = self.company.alone(failure.test, times=_ALONE)
        if ends == {True, False}:
            return Finding(failure.test, "flaky", "passes and fails by itself, with the same code")
        if ends == {True}:
            return self.absent(failure.test)
        return self.alone(failure) if ends == {False} else finding

    def _after(self, test: str, found: tuple[str, ...]) -> Finding:
        hint = f"passes alone and fails together with {_names(found)} before it"
        if any(leaves_something(one, self.around.read) for one in found):
            return Finding(test, "order-dependent", f"{hint}, which leave something behind", others=found)
        more = "these only call the code, so the code itself seems to keep something from one call to the next"
        return Finding(test, "shared-state", f"{hint}; {more}", others=found)

    def _search(self, test: str, *, wanted: bool) -> tuple[str, ...]:
        """Return the fewest tests before which the test ends as ``wanted``, twice, while alone it does not."""
        for before in (*self._culprits[-_TRIED_AGAIN:], *self.orders.before(test, failing=not wanted)):
            if test in before or self.company.passes(before, test) is not wanted:
                continue
            found = self.company.fewest(before, test, wanted)
            if self.company.passes((), test) is (not wanted) and self.company.passes(found, test, anew=True) is wanted:
                if found not in self._culprits:
                    self._culprits.append(found)
                return found
        return ()


_DIFFERENT = (
    "failed outside and passed each time in the sandbox, where the environment, the home folder, the network and the"
    " rights are others; noepi_env lets names of the environment through"
)


def _names(tests: tuple[str, ...]) -> str:
    named = " and ".join(tests[:_NAMED])
    return f"{named} and {len(tests) - _NAMED} more" if len(tests) > _NAMED else named
