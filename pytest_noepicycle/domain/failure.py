"""A failing test as data: where it broke, what it said, and a signature that survives a re-run."""

from __future__ import annotations

import re
from dataclasses import dataclass

_VOLATILE = re.compile(r"0x[0-9a-fA-F]+|\d+(?:\.\d+)?")


@dataclass(frozen=True, slots=True)
class Frame:
    """One step of a traceback; ``path`` is relative to the tree where it lies in it, else absolute.

    ``values`` are some of its local variables, name and a short form of what they held when it was left.
    """

    path: str
    line: int
    function: str
    values: tuple[tuple[str, str], ...] = ()

    @property
    def inside_tree(self) -> bool:
        """Whether the frame belongs to the project and not to a library."""
        return not self.path.startswith("/") and ":" not in self.path[:3]


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a test did not pass: ``phase`` is collect, setup, call or teardown; frames run outside in."""

    test: str
    phase: str
    exception: str
    message: str
    frames: tuple[Frame, ...] = ()
    text: str = ""

    @property
    def said(self) -> str:
        """Return the message; where there was none and the report stands for it, what the report says of the error."""
        if not self.message or not self.text.startswith(self.message):
            return self.message
        told = [line[1:].strip() for line in self.message.splitlines() if line.startswith("E ")]
        return "\n".join(line for line in told if line != self.exception) if told else self.message

    @property
    def signature(self) -> str:
        """Return what stays the same when the same fault shows again (numbers and addresses do not)."""
        place = self.frames[-1] if self.frames else None
        where = f"{place.path}:{place.function}" if place else "?"
        first_line = self.message.splitlines()[0] if self.message else ""
        return f"{self.phase}|{self.exception}|{_VOLATILE.sub('#', first_line)[:160]}|{where}"
