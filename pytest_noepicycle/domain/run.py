"""A run: its attempts, why it stopped, and the result that is written down."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from enum import StrEnum

from pytest_noepicycle.domain.estimate import Estimate
from pytest_noepicycle.domain.patch import Patch
from pytest_noepicycle.domain.score import Baseline


class StopReason(StrEnum):
    """Why a run ended; :attr:`sentence` says it for people."""

    SOLVED = "solved"
    PLATEAU = "plateau"
    BUDGET = "budget"
    EXHAUSTED = "exhausted"
    NOTHING_TO_FIX = "nothing_to_fix"
    FLAKY = "flaky"
    ENVIRONMENT = "environment"
    TIME_LIMIT = "time_limit"
    INTERRUPTED = "interrupted"
    SANDBOX_LOST = "sandbox_lost"
    PROVIDER_ERROR = "provider_error"
    REFUSED = "refused"
    TEST_SUSPECT = "test_suspect"
    DRY_RUN = "dry_run"

    @property
    def sentence(self) -> str:
        """Return what it means, in one sentence."""
        return _SENTENCES[self]


_SENTENCES: Mapping[StopReason, str] = {
    StopReason.SOLVED: "every failing test passes, nothing else broke, and a cold run of the suite agrees",
    StopReason.PLATEAU: "the last attempts gained nothing and the ladder says to stop there",
    StopReason.BUDGET: "the next step would not fit the budget",
    StopReason.EXHAUSTED: "every rung that could be reached has been tried",
    StopReason.NOTHING_TO_FIX: "no test failed",
    StopReason.FLAKY: "what failed passes as well, with the same code: flaky, not broken",
    StopReason.ENVIRONMENT: "what failed lacks something of its surroundings, not of the code",
    StopReason.TIME_LIMIT: "the time limit was reached",
    StopReason.INTERRUPTED: "it was interrupted; the best so far is kept",
    StopReason.SANDBOX_LOST: "the sandbox was lost and could not be opened again",
    StopReason.PROVIDER_ERROR: "the model's server refused or failed",
    StopReason.REFUSED: "the guard turned down every candidate",
    StopReason.TEST_SUSPECT: "the tests contradict each other, or one of them seems to be wrong",
    StopReason.DRY_RUN: "only looked: nothing was tried and nothing was spent",
}


@dataclass(frozen=True, slots=True)
class Attempt:
    """One iteration: what a rung tried, what it did to the score, and what it took.

    ``delta`` is the gain over the best before; ``effect`` names what it did, so that a repeat is seen whatever
    its text; ``exhausted`` says that the rung has nothing more to offer; ``doubt`` is why it calls a test wrong.
    """

    iteration: int
    rung: str
    score: float
    delta: float
    effect: str
    patch: str | None = None
    candidates: int = 0
    refused: int = 0
    tokens: int = 0
    exhausted: bool = False
    unaffordable: bool = False
    error: str | None = None
    note: str = ""
    fixed: tuple[str, ...] = ()
    broken: tuple[str, ...] = ()
    seconds: float = 0.0
    doubt: str = ""


@dataclass(frozen=True, slots=True)
class Skipped:
    """A rung that could not be used, and what to do about it."""

    rung: str
    why: str


@dataclass(frozen=True, slots=True)
class Finding:
    """What triage says of one test: its ``kind`` and a hint.

    ``cause`` names what of the surroundings is missing (module, program, service ...); ``others`` are the tests
    that it fails or passes together with.
    """

    test: str
    kind: str
    hint: str = ""
    cause: str = ""
    others: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Alternative:
    """Another edit that passes the same tests: what it does, and its diff."""

    note: str
    diff: str


@dataclass(frozen=True, slots=True)
class Choice:
    """How far the tests pin a solution down: of ``tried`` other edits at its place, those that pass as well."""

    tried: int
    others: tuple[Alternative, ...] = ()

    @property
    def word(self) -> str:
        """Return ``unique``, or ``several`` where a reader has to choose."""
        return "several" if self.others else "unique"


@dataclass(frozen=True, slots=True)
class HistoryEntry:
    """One iteration. Its values are read as attributes or by key; ``dict(entry)`` gives them all.

    ``decision`` is ``continue``, ``switch``, ``verify`` or ``stop``; ``delta`` the gain over the best before;
    ``tokens_used`` everything that was spent in the iteration; ``signal`` what the decision was read from.
    """

    iteration: int
    model: str
    score: float
    delta: float
    tokens_used: int
    decision: str
    reason: str
    signal: str = ""
    note: str = ""
    error: str | None = None

    def keys(self) -> tuple[str, ...]:
        """Return the names of the values."""
        return tuple(field.name for field in fields(self))

    def __getitem__(self, key: str) -> object:
        if key not in self.keys():
            raise KeyError(key)
        return getattr(self, key)

    def __iter__(self) -> Iterator[str]:
        return iter(self.keys())


@dataclass(frozen=True, slots=True)
class RunResult:
    """The outcome of a run, as ``result.json`` holds it; ``solution`` and the history are filled in for Python."""

    run_id: str
    stop_reason: StopReason
    baseline: Baseline
    score: float = 0.0
    verified: bool = False
    applied: bool = False
    fixed: tuple[str, ...] = ()
    broken: tuple[str, ...] = ()
    findings: tuple[Finding, ...] = ()
    patch: Patch = field(default_factory=Patch)
    attempts: tuple[Attempt, ...] = ()
    skipped: tuple[Skipped, ...] = ()
    warnings: tuple[str, ...] = ()
    checks: Mapping[str, str] = field(default_factory=dict)
    why: str = ""
    suspects: tuple[str, ...] = ()
    choice: Choice | None = None
    estimate: Estimate | None = None
    seconds: float = 0.0
    solution: str = ""
    tokens_spent: int = 0
    cost_usd: float | None = None
    history: tuple[HistoryEntry, ...] = ()

    @property
    def iterations(self) -> int:
        """Return how often a rung or an inner loop was asked."""
        return len(self.attempts)

    @property
    def solved(self) -> bool:
        """Whether the fix is complete and proven."""
        return self.stop_reason is StopReason.SOLVED
