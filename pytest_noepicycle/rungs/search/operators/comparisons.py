"""Slips in comparisons and boundaries: the wrong comparison, and one too many or too few."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from pytest_noepicycle.rungs.search.edits import Edit, Operator
from pytest_noepicycle.rungs.search.scope import Scope

_SPELLING: dict[type[ast.cmpop], str] = {
    ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!=",
    ast.Is: "is", ast.IsNot: "is not", ast.In: "in", ast.NotIn: "not in",
}  # fmt: skip
_BOUNDARY = {"<": "<=", "<=": "<", ">": ">=", ">=": ">"}
_OTHERS = {
    "<": (">", "!=", ">="), "<=": (">=", "==", ">"), ">": ("<", "!=", "<="), ">=": ("<=", "==", "<"),
    "==": ("!=", "<=", ">=", "is", "in"), "!=": ("==", "<", ">", "is not", "not in"),
    "is": ("is not", "=="), "is not": ("is", "!="), "in": ("not in", "=="), "not in": ("in", "!="),
}  # fmt: skip


def boundary(node: ast.Compare, scope: Scope) -> Iterator[Edit]:
    """Include or exclude the boundary of a comparison: `<` and `<=`, `>` and `>=`."""
    for edit, old, new in _operators(node, scope):
        if _BOUNDARY.get(old) == new:
            yield edit


def comparison(node: ast.Compare, scope: Scope) -> Iterator[Edit]:
    """Compare the other way: `<` and `>`, `==` and `!=`, `is` and `is not`, `in` and `not in`."""
    for edit, old, new in _operators(node, scope):
        if new in _OTHERS[old]:
            place = _OTHERS[old].index(new)
            yield Edit(edit.start, edit.end, edit.text, edit.note, (1.0, 0.6, 0.5, 0.3, 0.2)[place])


def _operators(node: ast.Compare, scope: Scope) -> Iterator[tuple[Edit, str, str]]:
    operands = [node.left, *node.comparators]
    for left, op, right in zip(operands, node.ops, operands[1:], strict=False):
        old = _SPELLING[type(op)]
        start, gap = scope.between(left, right)
        found = re.search(r"\s+".join(map(re.escape, old.split())), gap)
        if found is None:
            continue
        news = (*([_BOUNDARY[old]] if old in _BOUNDARY else []), *_OTHERS[old])
        for new in news:
            pad_left = " " if new[0].isalpha() and gap[found.start() - 1 : found.start()] not in (" ", "\t") else ""
            pad_right = " " if new[-1].isalpha() and gap[found.end() : found.end() + 1] not in (" ", "\t") else ""
            text = pad_left + new + pad_right
            edit = Edit(start + found.start(), start + found.end(), text, f"`{old}` → `{new}`")
            yield edit, old, new


def swapped_operands(node: ast.Compare | ast.BinOp, scope: Scope) -> Iterator[Edit]:
    """Swap the two sides of a comparison, a difference or a division."""
    if isinstance(node, ast.Compare):
        if len(node.ops) > 1 or isinstance(node.ops[0], ast.Eq | ast.NotEq | ast.Is | ast.IsNot):
            return
        left, right = node.left, node.comparators[0]
    elif isinstance(node.op, ast.Sub | ast.Div | ast.FloorDiv | ast.Mod | ast.Pow | ast.Add):
        left, right = node.left, node.right
        if isinstance(node.op, ast.Add) and isinstance(right, ast.Constant) and not isinstance(right.value, str):
            return
    else:
        return
    (start, middle), (gap, end) = scope.source.span(left), scope.source.span(right)
    text = scope.source.text
    yield scope.swap(
        node,
        text[scope.source.span(node)[0] : start]
        + scope.wrapped(right)
        + text[middle:gap]
        + scope.wrapped(left)
        + text[end : scope.source.span(node)[1]],
    )


def off_by_one(node: ast.expr, scope: Scope) -> Iterator[Edit]:
    """Move an index, a bound of a range or slice, or a compared value by one."""
    weight = _shift_weight(node, scope)
    if not weight or isinstance(node, ast.Constant | ast.UnaryOp) or not isinstance(node, ast.expr):
        return
    yield from shifted(node, scope, weight)


def shifted(node: ast.expr, scope: Scope, weight: float = 1.0) -> Iterator[Edit]:
    """Yield the edits that make a value one more and one less, or change it by what a result was off."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Sub) and _is_one(node.right):
        yield scope.swap(node, scope.text(node.left), weight)
        return
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add) and _is_one(node.left):
        yield scope.swap(node, scope.text(node.right), weight)
        return
    simple = isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Sub | ast.Mult | ast.Div | ast.FloorDiv)
    text = scope.text(node) if simple else scope.wrapped(node)
    factor = isinstance(scope.parents.get(node), ast.BinOp)
    for change in ("- 1", "+ 1"):
        yield scope.swap(node, f"({text} {change})" if factor else f"{text} {change}", weight)
    for step in [s for s in scope.hints.steps if 1 < abs(s) < 10][:2]:
        yield scope.swap(node, f"{text} {'+' if step > 0 else '-'} {abs(step)}", weight * 0.6)


def _is_one(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value == 1 and not isinstance(node.value, bool)


def _shift_weight(node: ast.AST, scope: Scope) -> float:
    parent = scope.parents.get(node)
    if isinstance(parent, ast.Slice):
        return 1.0
    if isinstance(parent, ast.Subscript) and parent.slice is node and not isinstance(node, ast.Slice | ast.Tuple):
        return 0.8 if isinstance(node, ast.Name | ast.BinOp | ast.Call) else 0.0
    if isinstance(parent, ast.Call) and node in parent.args and scope.text(parent.func) == "range":
        return 1.0
    if isinstance(parent, ast.Compare):
        ordered = any(isinstance(op, ast.Lt | ast.LtE | ast.Gt | ast.GtE) for op in parent.ops)
        return 0.5 if ordered else 0.3
    return _shift_value_weight(node, parent)


def _shift_value_weight(node: ast.AST, parent: ast.AST | None) -> float:
    plain = isinstance(node, ast.Name | ast.BinOp | ast.Call | ast.Subscript | ast.Attribute)
    if isinstance(parent, ast.Return | ast.Assign | ast.AugAssign) and getattr(parent, "value", None) is node:
        return 0.55 if plain else 0.0
    if isinstance(parent, ast.Tuple) and isinstance(getattr(node, "ctx", ast.Load()), ast.Load):
        return 0.4 if plain else 0.0
    if isinstance(parent, ast.Call) and node in parent.args:
        return 0.3 if plain else 0.0
    if isinstance(parent, ast.BinOp) and plain:
        return 0.45 if isinstance(parent.op, ast.Mult) else 0.25 if parent.left is not node else 0.0
    return 0.0


def range_start(node: ast.Call, scope: Scope) -> Iterator[Edit]:
    """Begin a range at one instead of zero, or the other way round."""
    if not (isinstance(node.func, ast.Name) and node.func.id == "range") or not node.args:
        return
    first = node.args[0]
    if len(node.args) == 1:
        yield scope.swap(first, f"1, {scope.text(first)}")
        yield scope.swap(first, f"1, {scope.wrapped(first)} + 1", 0.7)
    if len(node.args) == 3 and not isinstance(node.args[2], ast.Constant):
        yield scope.swap(node.args[2], f"-{scope.wrapped(node.args[2])}", 0.5)


OPERATORS = (
    Operator("comparison-boundary", (ast.Compare,), boundary),
    Operator("comparison", (ast.Compare,), comparison),
    Operator("swapped-operands", (ast.Compare, ast.BinOp), swapped_operands),
    Operator("off-by-one", (ast.expr,), off_by_one),
    Operator("range-start", (ast.Call,), range_start),
)
