"""An inner loop of somebody else's as a rung: asked once an iteration, and charged for what it took."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from typing import Any, Protocol

from pytest_noepicycle.domain.budget import Usage
from pytest_noepicycle.domain.context import Context
from pytest_noepicycle.domain.failure import Failure
from pytest_noepicycle.domain.ladder import Rung
from pytest_noepicycle.domain.loop import Draft, LoopContext, constraints, direction
from pytest_noepicycle.domain.patch import Proposal
from pytest_noepicycle.errors import ProviderError
from pytest_noepicycle.rungs.handed_in import HandedIn, NotACandidate
from pytest_noepicycle.rungs.ways import Way

_BYTES_PER_TOKEN = 3  # the lower figure for code: what cannot be known is counted rather too high than too low
_SHOWN_FAILURES = 8

Wait = Callable[[Awaitable[Any], float], Any]
"""Waits for an awaitable, for so many seconds at most; raises TimeoutError after them."""


class Account(Protocol):
    """What an inner loop is charged to."""

    def make_room(self) -> None:
        """See that another iteration may start."""
        ...

    def charge(self, usage: Usage) -> None:
        """Book what an iteration took."""
        ...

    def charge_lost(self, least: int) -> None:
        """Book an iteration that told nothing of itself."""
        ...


class ForeignLoop:
    """Writes a candidate by calling an inner loop once; its answer is read without trust in its form."""

    def __init__(self, way: Way, account: Account, wait: Wait, name: str) -> None:
        self._way = way
        self._account = account
        self._wait = wait
        self._name = name
        self._charged: set[str] = set()

    def write(self, context: LoopContext) -> Draft:
        """Call the loop, charge what it took, return its candidate.

        :raises ProviderError: where it raised, took too long, or handed in what is no candidate.
        :raises NoepiError: where the budget has no room for another iteration; it was not called then.
        """
        self._account.make_room()
        told = _counted(context.task, context.best, context.feedback)
        try:
            handed = self._way.read(self._called(context))
        except NotACandidate as problem:
            self._account.charge_lost(told)
            raise ProviderError(f"{self._name}: inner_loop {problem}", kind="inner_loop") from problem
        self._account.charge(self._taken(handed, told))
        return Draft(handed.text, handed.note)

    def _called(self, context: LoopContext) -> Any:
        try:
            answer = self._way.call(context)
            return self._wait(answer, context.seconds_left) if isinstance(answer, Awaitable) else answer
        except TimeoutError as error:
            raise NotACandidate("took longer than there was time for") from error
        except Exception as error:
            raise NotACandidate(f"raised {type(error).__name__}: {str(error)[:300]}") from error

    def _taken(self, handed: HandedIn, told: int) -> Usage:
        """Return what the iteration took: by its own figures, else counted from what went in and came out."""
        new = [usage for key, usage in handed.usages if key not in self._charged]
        self._charged.update(key for key, _ in handed.usages if key)
        if handed.usages:
            return sum(new, Usage())
        return Usage(input=told, output=_counted(handed.text))


class ForeignRung:
    """Proposes what an inner loop writes as the whole text of one file."""

    def __init__(self, loop: ForeignLoop, rung: Rung, *, task: str, path: str) -> None:
        self._loop = loop
        self._rung = rung
        self._task = task
        self._path = path
        self.last_note = ""

    def propose(self, context: Context) -> Iterator[Proposal]:
        """Ask the loop once and yield its candidate as a patch."""
        draft = self._loop.write(self._told(context))
        self.last_note = draft.note
        if draft.text is not None:
            text = draft.text if draft.text.endswith("\n") else draft.text + "\n"
            patch = context.best.with_file(self._path, text.encode("utf-8", "replace"), context.read_baseline)
            yield Proposal(patch, draft.note, {"model": self._rung.model})

    def _told(self, context: Context) -> LoopContext:
        targets = len(context.baseline.targets)
        begun = bool(context.best.changes)
        return LoopContext(
            task=self._task,
            best=(context.read(self._path) or b"").decode("utf-8", "replace") if begun else "",
            best_score=1 - len(context.remaining) / targets if targets else 0.0,
            feedback=_feedback(context.failures),
            model=self._rung.model,
            tokens_left=context.tokens_left,
            attempts=context.attempts,
            constraints=constraints(context.attempts),
            direction=direction(context.attempts),
            seconds_left=context.max_seconds,
        )


def _feedback(failures: tuple[Failure, ...]) -> str:
    lines = [f"{one.test}: {one.exception}: {one.message[:400]}" for one in failures[:_SHOWN_FAILURES]]
    more = len(failures) - _SHOWN_FAILURES
    return "\n".join(["These tests fail:", *lines, *([f"and {more} more"] if more > 0 else [])])


def _counted(*texts: str) -> int:
    return sum(len(text.encode("utf-8", "replace")) for text in texts) // _BYTES_PER_TOKEN + 1
