"""Names that a function treats alike, and code rewritten from one of them to the other."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import combinations

from pytest_noepicycle.rungs.search.facts import Function
from pytest_noepicycle.rungs.search.scope import Scope

_MOST = 6
_NAME = re.compile(r"\bid='(\w+)'")


def bound_pairs(statements: Iterable[ast.stmt]) -> Iterator[tuple[str, ast.expr]]:
    """Yield (name, value) of what plain assignments set, also of `a, b = 1, 2`."""
    for statement in statements:
        for target in statement.targets if isinstance(statement, ast.Assign) else []:
            value = statement.value  # type: ignore[attr-defined]
            if isinstance(target, ast.Name):
                yield target.id, value
            elif isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
                pairs = zip(target.elts, value.elts, strict=False)
                yield from ((t.id, v) for t, v in pairs if isinstance(t, ast.Name))


def renamings(function: Function) -> list[dict[str, str]]:
    """Return maps of names: where two pieces of a function differ in names alone, one stands for the other."""
    shapes: dict[str, list[list[str]]] = {}
    for node in ast.walk(function):
        if isinstance(node, ast.Assign | ast.AugAssign | ast.Expr | ast.Compare | ast.Subscript):
            dump = ast.dump(node)
            shapes.setdefault(_NAME.sub("", dump), []).append(_NAME.findall(dump))
    parameters = [a.arg for a in function.args.args if a.arg not in ("self", "cls")]
    found = [m for alike in shapes.values() for a, b in combinations(alike[:5], 2) for m in _maps(a, b)]
    found += [{a: b} for a, b in combinations(parameters[:3], 2)]
    unique = {tuple(sorted(names.items())): names for names in found}
    return sorted(unique.values(), key=lambda names: -len(names))[:_MOST]


def _maps(a: list[str], b: list[str]) -> Iterator[dict[str, str]]:
    forth = {x: y for x, y in zip(a, b, strict=True) if x != y}
    back = {y: x for x, y in forth.items()}
    if forth and len(back) == len(forth) and all(forth.get(x, x) == y for x, y in zip(a, b, strict=True)):
        yield forth
        yield back


def renamed(node: ast.AST, names: Mapping[str, str], scope: Scope) -> str:
    """Return the text of a node with some of its names replaced."""
    start, _ = scope.source.span(node)
    text = scope.text(node)
    places = sorted((scope.source.span(n), n.id) for n in ast.walk(node) if isinstance(n, ast.Name) and n.id in names)
    for (begin, end), name in reversed(places):
        text = text[: begin - start] + names[name] + text[end - start :]
    return text
