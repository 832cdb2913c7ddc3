"""One small change of a source text, and the kind of slip that it would undo."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pytest_noepicycle.rungs.search.scope import Scope


@dataclass(frozen=True, slots=True)
class Edit:
    """Replace the characters from ``start`` to ``end`` by ``text``.

    ``note`` shows it to people; ``likelihood`` in (0, 1] compares it with other edits of the same operator.
    """

    start: int
    end: int
    text: str
    note: str
    likelihood: float = 1.0


Finder = Callable[[Any, "Scope"], Iterable[Edit]]


@dataclass(frozen=True, slots=True)
class Operator:
    """A kind of slip: its stable ``name``, the ``kinds`` of nodes it looks at, and the edits it finds there."""

    name: str
    kinds: tuple[type[ast.AST], ...]
    find: Finder

    @property
    def doc(self) -> str:
        """Return what the operator does, in one line."""
        return (self.find.__doc__ or "").strip().splitlines()[0]

    @property
    def title(self) -> str:
        """Return the name as people read it."""
        return self.name.replace("-", " ")


def shown(text: str, limit: int = 44) -> str:
    """Return code as one short line between backticks."""
    flat = " ".join(text.split())
    return f"`{flat if len(flat) <= limit else flat[: limit - 1] + '…'}`"
