"""Slips in arithmetic: the wrong operator, the wrong sign, a plain assignment where an augmented one was meant."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from pytest_noepicycle.rungs.search.edits import Edit, Operator
from pytest_noepicycle.rungs.search.scope import Scope

_SPELLING: dict[type[ast.operator], str] = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "//", ast.Mod: "%", ast.Pow: "**",
    ast.LShift: "<<", ast.RShift: ">>", ast.BitAnd: "&", ast.BitOr: "|", ast.BitXor: "^", ast.MatMult: "@",
}  # fmt: skip
_INSTEAD: dict[str, tuple[str, ...]] = {
    "+": ("-", "*", "|"), "-": ("+", "*", "/", "^"), "*": ("/", "+", "**", "//", "-"), "/": ("//", "*", "%", "-"),
    "//": ("/", "%", "*", ">>"), "%": ("//", "/", "*"), "**": ("*", "//"), "<<": (">>", "*"), ">>": ("<<", "//"),
    "&": ("|", "^", "-"), "|": ("&", "^", "+"), "^": ("&", "|", "**"), "@": ("*",),
}  # fmt: skip


def arithmetic(node: ast.BinOp, scope: Scope) -> Iterator[Edit]:
    """Use another arithmetic, shift or bit operator."""
    old = _SPELLING[type(node.op)]
    start, gap = scope.between(node.left, node.right)
    place = gap.find(old)
    if place >= 0 and not (old == "%" and isinstance(node.left, ast.Constant) and isinstance(node.left.value, str)):
        yield from _replaced(start + place, old, old, _INSTEAD[old], "")


def augmented(node: ast.AugAssign, scope: Scope) -> Iterator[Edit]:
    """Use another augmented assignment, or a plain one."""
    old = _SPELLING[type(node.op)]
    start, gap = scope.between(node.target, node.value)
    place = gap.find(old + "=")
    if place >= 0:
        yield from _replaced(start + place, old + "=", old, (*_INSTEAD[old], ""), "=")


def accumulated(node: ast.Assign, scope: Scope) -> Iterator[Edit]:
    """Add to a variable instead of setting it: `=` becomes `+=` and its kin."""
    if len(node.targets) > 1 or not isinstance(node.targets[0], ast.Name | ast.Attribute | ast.Subscript):
        return
    start, gap = scope.between(node.targets[0], node.value)
    place = gap.find("=")
    looped = any(isinstance(a, ast.For | ast.While) for a in scope.ancestors(node))
    counted = isinstance(node.value, ast.BinOp) and isinstance(node.value.right, ast.Constant)
    counted = counted or _bounds(node.targets[0], node, scope)
    share = 1.0 if looped else 0.8 if isinstance(node.targets[0], ast.Attribute) else 0.3
    share *= 0.3 if counted else 1.0
    for new, likelihood in (("+=", 1.0), ("-=", 0.5), ("*=", 0.4), ("|=", 0.3), ("&=", 0.2)):
        yield Edit(start + place, start + place + 1, new, f"`=` → `{new}`", share * likelihood)
    target = node.targets[0]
    if isinstance(target, ast.Subscript) and not isinstance(target.slice, ast.Slice):
        before = f"{scope.text(target.value)}.get({scope.text(target.slice)}, 0)"
        yield scope.swap(node.value, f"{before} + {scope.text(node.value)}", 0.9)


def _bounds(target: ast.expr, node: ast.AST, scope: Scope) -> bool:
    """Whether a variable is what the loop around it ends by, like the bounds of a binary search."""
    tests = [a.test for a in scope.ancestors(node) if isinstance(a, ast.While)]
    return isinstance(target, ast.Name) and any(target.id in scope.names_in(test) for test in tests)


def sign(node: ast.expr, scope: Scope) -> Iterator[Edit]:
    """Drop a minus sign, or put one before a value."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub | ast.Invert):
        yield scope.swap(node, scope.text(node.operand))
        return
    parent = scope.parents.get(node)
    valued = isinstance(parent, ast.Return | ast.Assign) or (isinstance(parent, ast.Call) and node in parent.args)
    above = scope.parents.get(parent) if isinstance(parent, ast.Tuple) else parent
    keyed = isinstance(above, ast.Lambda) or isinstance(parent, ast.IfExp)
    bound = isinstance(parent, ast.Slice) and node is not parent.step
    listed = isinstance(parent, ast.Tuple) and isinstance(above, ast.Call | ast.Return | ast.Assign)
    if isinstance(parent, ast.BinOp) and isinstance(parent.op, ast.BitAnd) and isinstance(node, ast.Name | ast.BinOp):
        yield scope.swap(node, f"~{scope.wrapped(node)}")
    if (valued or keyed or bound or listed) and isinstance(
        node, ast.Name | ast.Call | ast.BinOp | ast.Attribute | ast.Subscript
    ):
        if isinstance(node.__dict__.get("ctx"), ast.Store):
            return
        yield scope.swap(node, f"-{scope.wrapped(node)}", 0.9 if isinstance(above, ast.Lambda) or bound else 0.5)


def grouping(node: ast.BinOp, scope: Scope) -> Iterator[Edit]:
    """Group the other way: put parentheses round a weaker operation, or take them away."""
    left = node.left
    if isinstance(left, ast.BinOp) and not _parenthesised(left, scope):
        start, end = scope.source.span(left.right)[0], scope.source.span(node)[1]
        text = scope.source.text[start:end]
        yield Edit(start, end, f"({text})", f"`{text}` → `({text})`")
    right = node.right
    for inner in _left_spine(right, scope):
        start, end = scope.source.span(node)[0], scope.source.span(inner)[1]
        text = scope.source.text[start:end]
        yield Edit(start, end, f"({text})", f"`{text}` → `({text})`")
    for part in (left, right):
        around = _parenthesised(part, scope)
        if around and isinstance(part, ast.BinOp):
            yield Edit(*around, scope.text(part), f"`({scope.text(part)})` → `{scope.text(part)}`", 0.8)


def _left_spine(node: ast.expr, scope: Scope) -> Iterator[ast.expr]:
    """Yield where a first operand may end: in `b * c / d` behind `b`, and behind `b * c`."""
    while isinstance(node, ast.BinOp) and not _parenthesised(node, scope):
        node = node.left
        yield node


def _parenthesised(node: ast.AST, scope: Scope) -> tuple[int, int] | None:
    (start, end), text = scope.source.span(node), scope.source.text
    if text[start - 1 : start] == "(" and text[end : end + 1] == ")":
        return start - 1, end + 1
    return None


def _replaced(start: int, old: str, key: str, news: tuple[str, ...], tail: str) -> Iterator[Edit]:
    for index, new in enumerate(news):
        likelihood = max(0.25, 1.0 - 0.25 * index)
        yield Edit(start, start + len(old), new + tail, f"`{old}` → `{new + tail}`", likelihood)


OPERATORS = (
    Operator("arithmetic-operator", (ast.BinOp,), arithmetic),
    Operator("augmented-assignment", (ast.AugAssign,), augmented),
    Operator("missing-accumulation", (ast.Assign,), accumulated),
    Operator("sign", (ast.expr,), sign),
    Operator("grouping", (ast.BinOp,), grouping),
)
