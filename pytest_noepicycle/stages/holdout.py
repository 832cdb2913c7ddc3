"""Held-out targets: a share of the failing tests that no rung is shown, so that a fix is more than their answers."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from pytest_noepicycle.domain.territory import is_doctest

LEAST = 4  # failing tests; of fewer none can be spared


@dataclass(frozen=True, slots=True)
class Split:
    """``shown`` may be told to a rung; ``held`` are only scored on."""

    shown: tuple[str, ...]
    held: tuple[str, ...]


def hold_out(targets: tuple[str, ...], share: float) -> Split:
    """Hold back about a share of the targets, never all, chosen by their names alone.

    What is drawn is a test function with all of its parameters, for one shows the answers of the others; files that
    cannot be collected and doctests, which stand in the code itself, are never drawn. With fewer than four targets,
    a share of nought, or a single function, none is held back.
    """
    if len(targets) < LEAST or share <= 0:
        return Split(targets, ())
    many = min(len(targets) - 1, max(1, round(share * len(targets))))
    held = frozenset(_drawn(_functions(targets), many, len(targets)))
    return Split(tuple(t for t in targets if t not in held), tuple(t for t in targets if t in held))


def _functions(targets: tuple[str, ...]) -> list[list[str]]:
    """Return the targets that may be held back, each function's together, in an order that their names decide."""
    functions: dict[str, list[str]] = {}
    for test in targets:
        path, colons, name = test.partition("::")
        if colons and not is_doctest(test):
            functions.setdefault(path + colons + name.partition("[")[0], []).append(test)
    return [functions[name] for name in sorted(functions, key=lambda n: hashlib.sha256(n.encode()).digest())]


def _drawn(functions: list[list[str]], many: int, of: int) -> list[str]:
    """Draw what fits, in turn; where nothing does, the smallest, so that something is held back."""
    drawn: list[str] = []
    for tests in functions:
        if len(drawn) + len(tests) <= many:
            drawn += tests
    if drawn or not functions:
        return drawn
    least = min(functions, key=len)
    return least if len(least) < of else []
