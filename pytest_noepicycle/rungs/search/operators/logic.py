"""Slips in conditions: `and` for `or`, a missing or superfluous `not`, a part that should not be there."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from pytest_noepicycle.rungs.search.edits import Edit, Operator
from pytest_noepicycle.rungs.search.scope import Scope


def boolean(node: ast.BoolOp, scope: Scope) -> Iterator[Edit]:
    """Swap `and` and `or`, one of them or all in a row."""
    old, new = ("and", "or") if isinstance(node.op, ast.And) else ("or", "and")
    spots: list[int] = []
    for left, right in zip(node.values, node.values[1:], strict=False):
        start, gap = scope.between(left, right)
        found = re.search(rf"\b{old}\b", gap)
        if found:
            spots.append(start + found.start())
    for spot in spots:
        yield Edit(spot, spot + len(old), new, f"`{old}` → `{new}`")
    if len(spots) > 1:
        begin, end = spots[0], spots[-1] + len(old)
        text = scope.source.text[begin:end]
        for spot in reversed(spots):
            text = text[: spot - begin] + new + text[spot - begin + len(old) :]
        yield Edit(begin, end, text, f"every `{old}` → `{new}`", 0.5)


def operand(node: ast.BoolOp, scope: Scope) -> Iterator[Edit]:
    """Leave out one part of a condition."""
    for index, value in enumerate(node.values):
        start, end = scope.source.span(value)
        if index:
            start = scope.source.span(node.values[index - 1])[1]
        else:
            end = scope.source.span(node.values[1])[0]
        text = scope.source.text[start:end]
        if text.count("(") == text.count(")"):
            yield Edit(start, end, "", f"leave out `{' '.join(text.split())}`")


def remove_not(node: ast.UnaryOp, scope: Scope) -> Iterator[Edit]:
    """Take a `not` away."""
    if isinstance(node.op, ast.Not):
        yield scope.swap(node, scope.text(node.operand))


def add_not(node: ast.AST, scope: Scope) -> Iterator[Edit]:
    """Negate a condition, or one part of it."""
    tests = [node.test] if isinstance(node, ast.If | ast.While | ast.IfExp | ast.Assert) else []
    tests += node.ifs if isinstance(node, ast.comprehension) else []
    tests += node.values if isinstance(node, ast.BoolOp) else []
    if isinstance(node, ast.Return) and isinstance(node.value, ast.Name | ast.Call | ast.BoolOp | ast.Attribute):
        tests.append(node.value)
    for test in tests:
        if (isinstance(test, ast.Compare) and len(test.ops) == 1) or isinstance(test, ast.UnaryOp):
            continue  # the comparison's own opposite is the plainer spelling
        weight = 0.4 if isinstance(node, ast.Return) else 0.7 if isinstance(node, ast.BoolOp) else 1.0
        yield scope.swap(test, f"not {scope.wrapped(test)}", weight)


def truth(node: ast.AST, scope: Scope) -> Iterator[Edit]:
    """Ask for `is None` or `is not None` where truth was asked for, and the other way round."""
    if isinstance(node, ast.Compare) and len(node.ops) == 1 and isinstance(node.comparators[0], ast.Constant):
        if node.comparators[0].value is None and isinstance(node.ops[0], ast.Is | ast.IsNot):
            negation = "not " if isinstance(node.ops[0], ast.Is) else ""
            yield scope.swap(node, negation + scope.wrapped(node.left), 0.6)
        return
    for part in _asked(node):
        if isinstance(part, ast.UnaryOp) and isinstance(part.op, ast.Not):
            if isinstance(part.operand, ast.Name | ast.Attribute | ast.Subscript | ast.Call):
                yield scope.swap(part, f"{scope.text(part.operand)} is None")
        elif isinstance(part, ast.Name | ast.Attribute | ast.Subscript | ast.Call):
            yield scope.swap(part, f"{scope.text(part)} is not None")


def _asked(node: ast.AST) -> list[ast.expr]:
    if isinstance(node, ast.If | ast.While | ast.IfExp):
        return [node.test]
    return list(node.values) if isinstance(node, ast.BoolOp) else list(getattr(node, "ifs", []))


def ternary(node: ast.IfExp, scope: Scope) -> Iterator[Edit]:
    """Swap the two arms of a conditional expression, or keep only one."""
    body, other = scope.text(node.body), scope.text(node.orelse)
    yield scope.swap(node, f"{other} if {scope.text(node.test)} else {body}")


def fallback(node: ast.BoolOp, scope: Scope) -> Iterator[Edit]:
    """Replace `x or default` by a test for None, so that zero and empty values count."""
    if isinstance(node.op, ast.Or) and len(node.values) == 2 and isinstance(node.values[0], ast.Name | ast.Attribute):
        left, right = scope.text(node.values[0]), scope.text(node.values[1])
        if isinstance(scope.parents.get(node), ast.Assign | ast.Return | ast.Call | ast.keyword):
            yield scope.swap(node, f"{left} if {left} is not None else {right}")


def chained(node: ast.If, scope: Scope) -> Iterator[Edit]:
    """Turn `elif` into `if`, or an `if` that follows another into `elif`."""
    start = scope.source.span(node)[0]
    text = scope.source.text
    if text.startswith("elif", start):
        yield Edit(start, start + 4, "if", "`elif` → `if`", 0.7)
        return
    block = scope.siblings(node)
    before = block[block.index(node) - 1] if node in block and block.index(node) else None
    if isinstance(before, ast.If) and scope.indent(node) is not None:
        yield Edit(start, start + 2, "elif", "`if` → `elif`")


OPERATORS = (
    Operator("boolean-operator", (ast.BoolOp,), boolean),
    Operator("superfluous-condition", (ast.BoolOp,), operand),
    Operator("superfluous-not", (ast.UnaryOp,), remove_not),
    Operator("missing-not", (ast.AST,), add_not),
    Operator("none-or-false", (ast.AST,), truth),
    Operator("swapped-arms", (ast.IfExp,), ternary),
    Operator("default-for-none", (ast.BoolOp,), fallback),
    Operator("elif", (ast.If,), chained),
)
