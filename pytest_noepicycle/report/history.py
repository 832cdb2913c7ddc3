"""A run as its record tells it, in values for any reader: whole, still going on, or broken off."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pytest_noepicycle.domain.budget import Entry, Ledger, Usage
from pytest_noepicycle.domain.decision import Decision
from pytest_noepicycle.domain.estimate import Estimate
from pytest_noepicycle.domain.failure import Failure
from pytest_noepicycle.domain.ladder import Ladder
from pytest_noepicycle.domain.patch import Patch
from pytest_noepicycle.domain.run import Attempt, Choice, Finding, Skipped, StopReason
from pytest_noepicycle.domain.score import Baseline


@dataclass(frozen=True, slots=True)
class Call:
    """One call to a model. ``question`` and ``answer`` are empty where content is not recorded.

    ``usage`` is None while no answer came; ``lost`` says why none will.
    """

    name: str
    rung: str
    model: str
    purpose: str
    reserved: int
    reserved_usd: float | None
    question: Mapping[str, str] = field(default_factory=dict)
    answer: Mapping[str, Any] = field(default_factory=dict)
    usage: Usage | None = None
    usd: float | None = None
    end: str = ""
    lost: str = ""

    @property
    def entry(self) -> Entry:
        """Return the call as the ledger books it."""
        return Entry(
            self.name, self.rung, self.purpose, self.reserved, self.reserved_usd, self.usage, self.usd, bool(self.lost)
        )


@dataclass(frozen=True, slots=True)
class Candidate:
    """One patch that was tried: what it changed, what it mended, what it broke."""

    patch: str
    note: str
    diff: str
    fixed: tuple[str, ...]
    lost: tuple[str, ...]
    failing: tuple[str, ...] = ()
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Taken:
    """A decision as it was taken, ``at`` so many seconds after the run began."""

    decision: Decision
    budget_left: float | None
    at: float


@dataclass(frozen=True, slots=True)
class Step:
    """One attempt with all that belongs to it; ``refuted`` says why a proof did not hold after it."""

    attempt: Attempt
    at: float
    calls: tuple[Call, ...] = ()
    candidates: tuple[Candidate, ...] = ()
    refusals: tuple[Mapping[str, str], ...] = ()
    decisions: tuple[Taken, ...] = ()
    refuted: str = ""
    text: str | None = None  # the candidate itself, where it is a text and no patch


@dataclass(frozen=True, slots=True)
class Proof:
    """What a cold run showed of one patch; ``reasons`` says why a check was impossible."""

    patch: str
    holds: bool
    checks: Mapping[str, str]
    why: str = ""
    lost: tuple[str, ...] = ()
    unsteady: tuple[str, ...] = ()
    unperturbed: tuple[str, ...] = ()
    reasons: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class History:
    """A run. ``result`` is what ``result.json`` holds, and empty where the run did not come to its end.

    ``facts`` are those of the event that began it (Python, pytest, commit, sandbox ...); ``open_calls`` and
    ``open_candidates`` belong to an attempt that was not finished.
    """

    run_id: str
    facts: Mapping[str, Any] = field(default_factory=dict)
    ladder: Ladder | None = None
    failures: tuple[Failure, ...] = ()
    baseline: Baseline = field(default_factory=lambda: Baseline((), ()))
    findings: tuple[Finding, ...] = ()
    suspects: tuple[str, ...] = ()
    skipped: tuple[Skipped, ...] = ()
    steps: tuple[Step, ...] = ()
    proofs: tuple[Proof, ...] = ()
    calls: tuple[Call, ...] = ()
    open_calls: tuple[Call, ...] = ()
    open_candidates: tuple[Candidate, ...] = ()
    stop: StopReason | None = None
    result: Mapping[str, Any] = field(default_factory=dict)
    patch: Patch = field(default_factory=Patch)
    choice: Choice | None = None
    estimate: Estimate | None = None
    task: str = ""
    last: str = ""  # the last event's name
    seconds: float = 0.0
    resumed: int = 0

    @property
    def attempts(self) -> tuple[Attempt, ...]:
        """Return the attempts in their order."""
        return tuple(step.attempt for step in self.steps)

    @property
    def course(self) -> tuple[float, ...]:
        """Return the best score after each attempt; a proof that did not hold takes it back to nothing."""
        best, course = 0.0, []
        for step in self.steps:
            kept = step.text is not None or bool(step.attempt.fixed)
            best = 0.0 if step.refuted else max(best, step.attempt.score) if kept else best
            course.append(best)
        return tuple(course)

    @property
    def standing(self) -> frozenset[str]:
        """Return the targets that passed with the best so far, proven or not."""
        standing: set[str] = set()
        for step in self.steps:
            standing = set() if step.refuted else standing | set(step.attempt.fixed)
        return frozenset(standing)

    @property
    def rungs(self) -> tuple[str, ...]:
        """Return the rungs that were tried, in the order in which they were first."""
        return tuple(dict.fromkeys(attempt.rung for attempt in self.attempts))

    @property
    def helpful(self) -> tuple[str, ...]:
        """Return the rungs that mended something which stood to the end."""
        standing = set(self.fixed) if self.result else self.standing
        found = (step.attempt.rung for step in self.steps if standing & set(step.attempt.fixed))
        return tuple(dict.fromkeys(found))

    @property
    def ledger(self) -> Ledger:
        """Return all calls against the caps that the run began with."""
        budget = self.facts.get("budget") or {}
        return Ledger(int(budget.get("tokens") or 0), budget.get("usd"), tuple(call.entry for call in self.calls))

    @property
    def fixed(self) -> tuple[str, ...]:
        """Return the targets that a proof showed to be mended; none for a run without its end."""
        return tuple(self.result.get("tests", {}).get("fixed", ()))

    @property
    def solved(self) -> bool:
        """Whether the run ended with everything mended and proven, or with a text that its scorer took."""
        return self.stop is StopReason.SOLVED

    @property
    def proof(self) -> Proof | None:
        """Return the last proof that was made, whether it held or not."""
        return self.proofs[-1] if self.proofs else None
