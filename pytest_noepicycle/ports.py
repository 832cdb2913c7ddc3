"""The Protocols on one screen: what touches the world stands behind one of these."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from pytest_noepicycle.domain.budget import Usage
from pytest_noepicycle.domain.context import Context
from pytest_noepicycle.domain.patch import Proposal
from pytest_noepicycle.domain.trial import Report, Trial


class Proposer(Protocol):
    """A rung: proposes patches, likeliest first. Each is a complete patch against the baseline."""

    def propose(self, context: Context) -> Iterable[Proposal]:
        """Yield proposals; the caller stops asking as soon as one helps."""
        ...


@dataclass(frozen=True, slots=True)
class Tool:
    """Something else that a model may call before it answers; ``schema`` is the JSON Schema of its input."""

    name: str
    description: str
    schema: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Turn:
    """What a model ``said`` before, as the server sent it, and the ``result`` of the tool call in it."""

    said: tuple[Mapping[str, Any], ...]
    call: str
    result: str


@dataclass(frozen=True, slots=True)
class Question:
    """One request to a model; ``tool`` is the JSON Schema that the answer must fill.

    ``stable`` is what stays the same from one question to the next (a provider may cache it), ``prompt`` the rest.
    A conversation is a question asked again with one more of ``turns``; ``more_tools`` may be called in it.
    """

    system: str
    stable: str
    prompt: str
    tool_name: str
    tool_description: str
    tool: Mapping[str, Any]
    max_output: int
    purpose: str = ""  # what the call is booked as; empty: what its asker says
    more_tools: tuple[Tool, ...] = ()
    turns: tuple[Turn, ...] = ()


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back: ``data`` filled the schema (None where there was no tool call), ``end`` is why it stopped.

    Where there were several tools, ``tool`` names the one that was called, ``call`` the call itself, and ``said`` is
    the whole answer, for the next turn.
    """

    data: Mapping[str, Any] | None
    text: str
    end: str
    usage: Usage
    raw: Mapping[str, Any] = field(default_factory=dict)
    tool: str = ""
    call: str = ""
    said: tuple[Mapping[str, Any], ...] = ()


class Model(Protocol):
    """A model behind a server. One call, one answer, no retries of its own."""

    def input_bound(self, question: Question) -> int:
        """Return a number of tokens that the question cannot exceed, from its bytes."""
        ...

    def ask(self, question: Question, *, seconds: float) -> Answer:
        """Send the question.

        :raises ProviderError: where no answer came; its ``kind`` names why.
        """
        ...


class Box(Protocol):
    """An open sandbox that holds the baseline."""

    def run(self, trial: Trial) -> Report:
        """Run a trial. Nothing that the trial does outlives it, and nothing raises for what it did."""
        ...

    def close(self) -> None:
        """Leave no container, process or file behind; may be called twice."""
        ...


class Snapshot(Protocol):
    """The tree as it was when the run began; the work tree may change meanwhile."""

    @property
    def root(self) -> str:
        """The absolute path at which the tree lies and must appear in a sandbox."""
        ...

    @property
    def archive(self) -> str:
        """The path of a tar file with all that a sandbox gets to see."""
        ...

    @property
    def files(self) -> frozenset[str]:
        """The regular files, relative, with forward slashes."""
        ...

    @property
    def links(self) -> frozenset[str]:
        """The symbolic links, relative."""
        ...

    def read(self, path: str) -> bytes | None:
        """Return a file's bytes, or None where there is none."""
        ...


class Sandbox(Protocol):
    """A way to run untrusted code; ``kind`` names it, ``limits_note`` says what it does not protect."""

    @property
    def kind(self) -> str:
        """Return ``docker`` or ``process``."""
        ...

    @property
    def limits_note(self) -> str:
        """Return what this sandbox does not hold, or an empty text."""
        ...

    def open(self, snapshot: Snapshot) -> Box:
        """Start a box with the snapshot laid out at its own absolute path.

        :raises SandboxError: with what to do.
        """
        ...


class Journal(Protocol):
    """The record of a run: one event a line, written as it happens."""

    def write(self, event: str, **fields: Any) -> None:
        """Append an event; the values are JSON."""
        ...


Clock = Callable[[], float]
"""Monotonic seconds."""
