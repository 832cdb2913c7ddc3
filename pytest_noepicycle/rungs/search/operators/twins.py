"""Copies that were not adapted: a line like another one of its function, but for a name that does not fit."""

from __future__ import annotations

import ast
import difflib
from collections.abc import Iterator

from pytest_noepicycle.rungs.search.edits import Edit, Operator
from pytest_noepicycle.rungs.search.facts import Function
from pytest_noepicycle.rungs.search.kinship import renamed, renamings
from pytest_noepicycle.rungs.search.scope import Scope

_SIMPLE = (ast.Assign, ast.AugAssign, ast.Expr, ast.Return)
_ALIKE = 0.75
_NEAR = 12
_Named = ast.Name | ast.Attribute


def uneven(node: ast.stmt, scope: Scope) -> Iterator[Edit]:
    """Finish the copy of a line: where one name became another in a place, it did not in the next."""
    function = scope.function(node)
    if function is None or not isinstance(node, _SIMPLE):
        return
    mine = _named(node, scope)
    for other in _others(node, function):
        theirs = _named(other, scope)
        if _shape(other) != _shape(node) or len(theirs) != len(mine):
            continue
        pairs = list(zip(theirs, mine, strict=True))
        for before, after in dict.fromkeys((_word(a), _word(b)) for a, b in pairs):
            odd = [b for a, b in pairs if _word(a) == before and _word(b) != after]
            if before != after and len(odd) == 1 and _word(odd[0]) == before:
                yield scope.swap(odd[0], _written(odd[0], after, scope))


def _others(node: ast.stmt, function: Function) -> list[ast.stmt]:
    same = [n for n in ast.walk(function) if type(n) is type(node) and n is not node and isinstance(n, ast.stmt)]
    return sorted(same, key=lambda n: abs(n.lineno - node.lineno))[:_NEAR]


def _named(node: ast.stmt, scope: Scope) -> list[_Named]:
    found = [n for n in scope.own_nodes(node) if isinstance(n, _Named)]
    return sorted(found, key=scope.source.span)


def _word(node: _Named) -> str:
    return node.id if isinstance(node, ast.Name) else f".{node.attr}"


def _written(node: _Named, word: str, scope: Scope) -> str:
    return word if isinstance(node, ast.Name) else f"{scope.text(node.value)}{word}"


def _shape(node: ast.AST) -> tuple[object, ...]:
    """Return the kinds of the nodes in their order: what is left when names and constants are taken away."""
    return tuple(type(n) for n in ast.walk(node))


def whole(node: ast.stmt, scope: Scope) -> Iterator[Edit]:
    """Make a line the full twin of another one, with the names that the function treats alike swapped."""
    function = scope.function(node)
    if function is None or not isinstance(node, _SIMPLE):
        return
    own, beside = scope.text(node), {scope.text(s) for s in scope.siblings(node)}
    maps = [*_crossed(function), *renamings(function)]
    for other in _others(node, function)[:4]:
        for line in dict.fromkeys(
            renamed(other, names, scope) for names in maps if names.keys() & scope.names_in(other)
        ):
            alike = difflib.SequenceMatcher(None, line, own, autojunk=False).ratio()
            if line not in beside and alike >= _ALIKE:
                yield scope.swap(node, line, alike)


def _crossed(function: Function) -> list[dict[str, str]]:
    """Return maps that swap two names which a loop goes through together."""
    loops = [n.target for n in ast.walk(function) if isinstance(n, ast.For) and isinstance(n.target, ast.Tuple)]
    pairs = [[e.id for e in t.elts if isinstance(e, ast.Name)] for t in loops if len(t.elts) == 2]
    return [{p[0]: p[1], p[1]: p[0]} for p in pairs if len(p) == 2]


OPERATORS = (
    Operator("uneven-copy", (ast.stmt,), uneven),
    Operator("unfinished-copy", (ast.stmt,), whole),
)
