"""What a rung may know when it proposes: failures, suspects, what was tried, and what is left."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from pytest_noepicycle.domain.failure import Failure
from pytest_noepicycle.domain.guard import Territory
from pytest_noepicycle.domain.patch import Patch
from pytest_noepicycle.domain.run import Attempt
from pytest_noepicycle.domain.score import Baseline
from pytest_noepicycle.domain.trial import Report

Coverage = Mapping[str, Mapping[str, frozenset[int]]]


@dataclass(frozen=True, slots=True)
class Suspect:
    """A line that may hold the fault: ``weight`` in [0, 1], and why it is suspected."""

    path: str
    line: int
    weight: float
    reason: str


@dataclass(frozen=True, slots=True)
class Context:
    """All that a rung may know.

    ``best`` is the best patch so far and ``failures`` are those that remain with it; ``read`` returns a file's
    bytes as ``best`` leaves them; ``suspects`` are ranked, the likeliest first, on the lines of the files as
    ``best`` leaves them; ``coverage`` was taken with ``best`` in place; ``never_send`` are patterns of files that
    no question to a model may hold; ``try_tests`` runs tests with a patch in the sandbox, where a rung may do that.
    ``veil`` takes a path and a file's bytes and returns them as they may be shown: without held-out tests.
    """

    baseline: Baseline
    failures: tuple[Failure, ...]
    suspects: tuple[Suspect, ...]
    best: Patch
    read: Callable[[str], bytes | None]
    read_baseline: Callable[[str], bytes | None]
    files: frozenset[str]
    territory: Territory
    coverage: Coverage = field(default_factory=dict)
    attempts: tuple[Attempt, ...] = ()
    tokens_left: int = 0
    never_send: tuple[str, ...] = ()
    max_seconds: float = 600.0
    try_tests: Callable[[Patch, tuple[str, ...]], Report] | None = None
    veil: Callable[[str, bytes], bytes] = lambda path, content: content

    @property
    def remaining(self) -> tuple[str, ...]:
        """Return the targets that still fail, each once."""
        return tuple(dict.fromkeys(failure.test for failure in self.failures))
