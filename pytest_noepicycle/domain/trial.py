"""A trial and what came of it: which tests ran on which bytes, and how each of them ended."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum

from pytest_noepicycle.domain.failure import Failure
from pytest_noepicycle.domain.patch import Patch


class Status(StrEnum):
    """How one test ended. Only ``PASSED`` counts as passing."""

    PASSED = "passed"
    FAILED = "failed"
    ERROR = "error"
    SKIPPED = "skipped"
    XFAILED = "xfailed"
    XPASSED = "xpassed"
    TIMEOUT = "timeout"
    MISSING = "missing"


class End(StrEnum):
    """How a whole trial ended. Only after ``COMPLETE`` does a pass count."""

    COMPLETE = "complete"
    STOPPED = "stopped"  # at the first failure, as asked
    TIMEOUT = "timeout"
    DIED = "died"  # the process ended without its end record
    VOID = "void"  # records that cannot be trusted
    LOST = "lost"  # the sandbox itself went away


_TRUST = (End.COMPLETE, End.STOPPED, End.TIMEOUT, End.DIED, End.LOST, End.VOID)


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds of a trial: ``seconds`` for all of it, ``test_seconds`` for each test (by id, else default)."""

    seconds: float
    default_test_seconds: float = 30.0
    test_seconds: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Trial:
    """What to run: the baseline plus ``patch`` and ``overlay``, and there the tests ``ids`` (None: all).

    ``overlay`` lays files over the tree that are no part of the patch (a planted marker, a canary).
    ``coverage`` asks which lines each test reached; ``cold`` asks for a fresh interpreter; ``brief`` is content
    with how each test ended: no tracebacks are drawn up, and the session is left as soon as its tests are over.
    ``shuffled`` asks for the order of the ids, but for what pytest itself puts together for the fixtures they share.
    """

    patch: Patch
    ids: tuple[str, ...] | None
    limits: Limits
    overlay: Mapping[str, bytes] = field(default_factory=dict)
    coverage: bool = False
    cold: bool = False
    stop_at_first_failure: bool = False
    brief: bool = False
    shuffled: bool = False


@dataclass(frozen=True, slots=True)
class Outcome:
    """How one test ended, with its duration in seconds and, where it did not pass, why."""

    test: str
    status: Status
    duration: float = 0.0
    failure: Failure | None = None

    @property
    def passed(self) -> bool:
        """Whether it passed, explicitly, at setup, call and teardown."""
        return self.status is Status.PASSED


@dataclass(frozen=True, slots=True)
class Report:
    """All outcomes of one trial. ``coverage`` maps test → path → lines; ``unknown`` are ids nobody asked for.

    ``collected`` are all ids that were found, in their order, also those that did not come to run.
    """

    outcomes: Mapping[str, Outcome]
    end: End
    hung: str | None = None
    unknown: tuple[str, ...] = ()
    collected: tuple[str, ...] = ()
    coverage: Mapping[str, Mapping[str, frozenset[int]]] = field(default_factory=dict)
    output: str = ""
    seconds: float = 0.0
    why: str = ""

    def passing(self) -> frozenset[str]:
        """Return the ids that passed; none, where the records of the trial cannot be trusted."""
        if self.end in (End.VOID, End.LOST, End.DIED):
            return frozenset()
        return frozenset(test for test, outcome in self.outcomes.items() if outcome.passed)

    def joined(self, other: Report) -> Report:
        """Return both as one: the outcomes of each, and the worse of the two ends: it decides what is believed."""
        worse = max(self, other, key=lambda report: _TRUST.index(report.end))
        return replace(worse, outcomes={**self.outcomes, **other.outcomes})

    def failures(self) -> tuple[Failure, ...]:
        """Return why each test that failed did, in the order in which they ran."""
        return tuple(o.failure for o in self.outcomes.values() if o.failure is not None)

    def select(self, ids: Iterable[str]) -> dict[str, Outcome]:
        """Return an outcome for each id, ``MISSING`` where the trial has none."""
        return {test: self.outcomes.get(test) or Outcome(test, Status.MISSING) for test in ids}
