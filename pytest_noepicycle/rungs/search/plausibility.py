"""How well an edit would fit its surroundings: what it leaves unread, what it doubles, where it is out of place."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from pytest_noepicycle.rungs.search.edits import Edit
from pytest_noepicycle.rungs.search.scope import Scope

_WORD = re.compile(r"(?<![\w.])[A-Za-z_]\w*")
_ORDERS: dict[str, frozenset[str]] = {
    "__eq__": frozenset({"=="}), "__ne__": frozenset({"!="}), "__lt__": frozenset({"<", ">"}),
    "__le__": frozenset({"<=", ">="}), "__gt__": frozenset({"<", ">"}), "__ge__": frozenset({"<=", ">="}),
}  # fmt: skip
_COMPARISONS = frozenset({"==", "!=", "<", "<=", ">", ">=", "is", "is not", "in", "not in"})
_LEAVES_UNREAD, _READS_AT_LAST, _DOUBLES, _OUT_OF_PLACE = 0.55, 1.25, 0.3, 0.0
_NO_CODE = ("undefined-name", "missing-import", "imported-name", "imported-module", "defined-name")


def plausibility(edit: Edit, node: ast.AST, kind: str, scope: Scope) -> float:
    """Return a factor for an edit's likelihood: one where nothing speaks for or against it, zero where it is absurd."""
    if kind in _NO_CODE:
        return 1.0
    factor = _reading(edit, node, scope)
    function = scope.function(node)
    order = _ORDERS.get(function.name) if function else None
    if order and edit.text.strip() in _COMPARISONS - order:
        factor *= _OUT_OF_PLACE
    return factor * (_DOUBLES if any(_doubled(edit, node, scope)) else 1.0)


def _reading(edit: Edit, node: ast.AST, scope: Scope) -> float:
    """Judge an edit by the variables that nothing would read any more, and by those that something reads at last."""
    function = scope.function(node)
    if function is None:
        return 1.0
    before = set(_WORD.findall(scope.source.text[edit.start : edit.end]))
    after = set(_WORD.findall(edit.text))
    own = set(scope.local_names(node)) - {"self", "cls"}
    old = [n for n in before - after if n in own]
    start, end = edit.start, edit.end
    lost = any(_all_within(scope.readers(function, n), start, end, scope) for n in old)
    unread = after - before and (after - before) & set(scope.unread(node))
    return (_LEAVES_UNREAD if lost else 1.0) * (_READS_AT_LAST if unread else 1.0)


def _all_within(readers: list[ast.Name], start: int, end: int, scope: Scope) -> bool:
    """Whether every place that reads a variable lies in a span."""
    return bool(readers) and all(start <= a and b <= end for a, b in map(scope.source.span, readers))


def _doubled(edit: Edit, node: ast.AST, scope: Scope) -> Iterator[bool]:
    """Tell of the expressions around an edit whether two of their parts would be the same: `x == x`, `f(a, b, a)`."""
    for around in [node, *scope.ancestors(node)][:4]:
        if isinstance(around, ast.stmt) and not isinstance(around, ast.Assign):
            return
        parts = _parts(around)
        if len(parts) > 1:
            texts = [_after(edit, part, scope) for part in parts]
            was = [scope.text(part) for part in parts]
            yield len(set(texts)) < len(texts) and len(set(was)) == len(was)


def _parts(node: ast.AST) -> list[ast.expr]:
    if isinstance(node, ast.Compare):
        return [node.left, *node.comparators]
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Sub | ast.Div | ast.FloorDiv | ast.Mod):
        return [node.left, node.right]
    if isinstance(node, ast.BoolOp):
        return node.values
    if isinstance(node, ast.Call):
        return [a for a in node.args if not isinstance(a, ast.Constant)]
    if isinstance(node, ast.Assign) and len(node.targets) == 1:
        return [node.targets[0], node.value]
    return []


def _after(edit: Edit, part: ast.expr, scope: Scope) -> str:
    """Return what a part says once the edit is made."""
    start, end = scope.source.span(part)
    text = scope.source.text
    if not (start <= edit.start and edit.end <= end):
        return text[start:end]
    return text[start : edit.start] + edit.text + text[edit.end : end]
