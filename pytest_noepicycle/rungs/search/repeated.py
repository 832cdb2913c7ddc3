"""Slips that were made more than once: the same wrong name or number in several places, and two slips together."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from itertools import combinations
from typing import TYPE_CHECKING

from pytest_noepicycle.rungs.search.edits import Edit
from pytest_noepicycle.rungs.search.scope import Scope

if TYPE_CHECKING:
    from pytest_noepicycle.rungs.search.candidates import Candidate

_SPREADING = frozenset({"number", "wrong-variable", "wrong-attribute", "wrong-function", "string", "other-text"})
_SMALL = frozenset(
    {
        "number", "wrong-variable", "wrong-attribute", "wrong-function", "comparison", "comparison-boundary",
        "boolean-operator", "arithmetic-operator", "augmented-assignment", "off-by-one", "truth-value", "missing-not",
        "superfluous-not", "sign", "slice", "wrong-jump", "swapped-arguments", "initial-value", "too-deep",
        "not-deep-enough", "out-of-order", "range-start", "missing-operand", "swapped-operands",
    }
)  # fmt: skip
_MOST_PLACES = 6


def spread(edit: Edit, node: ast.AST, kind: str, scope: Scope) -> Iterator[Edit]:
    """Yield the edit that makes the same change wherever the function says the same, if it does so elsewhere."""
    function = scope.function(node)
    whole = isinstance(node, ast.Name | ast.Constant) and scope.source.span(node) == (edit.start, edit.end)
    if function is None or kind not in _SPREADING or not (whole or isinstance(node, ast.Attribute)):
        return
    spans = scope.places(function, type(node)).get(scope.source.text[edit.start : edit.end], ())
    if not 1 < len(spans) <= _MOST_PLACES or (edit.start, edit.end) not in spans:
        return
    if isinstance(node, ast.Name) and len(spans) == len(scope.readers(function, node.id)):
        return  # nothing would read the variable any more
    start, end = spans[0][0], spans[-1][1]
    text = scope.source.text[start:end]
    for begin, stop in reversed(spans):
        text = text[: begin - start] + edit.text + text[stop - start :]
    yield Edit(start, end, text, f"{edit.note} in all {len(spans)} places")


def pairs(candidates: Iterable[Candidate], *, most: int) -> list[tuple[Candidate, Candidate]]:
    """Return two small edits of one file that do not touch each other, the likeliest pairs first, at most ``most``.

    Edits of neighbouring lines go together sooner than those that lie apart.
    """
    small = sorted((c for c in candidates if c.kind in _SMALL), key=lambda c: -c.priority)[:_MOST_PAIRED]
    found = [
        (-a.priority * b.priority * _nearness(a, b), n, (a, b) if a.edit.start < b.edit.start else (b, a))
        for n, (a, b) in enumerate(combinations(small, 2))
        if a.path == b.path and (a.edit.end <= b.edit.start or b.edit.end <= a.edit.start)
    ]
    return [pair for _, _, pair in sorted(found, key=lambda f: f[:2])[:most]]


_MOST_PAIRED = 80


def _nearness(a: Candidate, b: Candidate) -> float:
    apart = abs(a.line - b.line)
    alike = a.kind == b.kind or {a.kind, b.kind} <= {"comparison", "comparison-boundary"}
    return (1.0 if apart == 0 else 0.8 if apart == 1 else 0.4) * (1.5 if alike else 1.0)


def both(pair: tuple[Candidate, Candidate], scope: Scope) -> Edit:
    """Return two edits as one."""
    first, second = (c.edit for c in pair)
    text = first.text + scope.source.text[first.end : second.start] + second.text
    return Edit(first.start, second.end, text, f"{first.note}; {second.note}")
