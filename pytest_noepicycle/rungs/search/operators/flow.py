"""Slips in the flow of control: a missing or misplaced return, the wrong jump, statements out of order."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from pytest_noepicycle.rungs.search.edits import Edit, Operator, shown
from pytest_noepicycle.rungs.search.facts import Function
from pytest_noepicycle.rungs.search.scope import BODIES, Scope

_JUMPS = (ast.Return, ast.Raise, ast.Continue, ast.Break)
_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Import, ast.ImportFrom)


def missing_return(node: ast.Expr, scope: Scope) -> Iterator[Edit]:
    """Return the value of an expression that is only computed."""
    if scope.function(node) is None or isinstance(node.value, ast.Constant | ast.Yield | ast.YieldFrom):
        return
    start = scope.source.span(node)[0]
    last = scope.siblings(node)[-1:] == [node]
    yield Edit(start, start, "return ", f"return {shown(scope.text(node))}", 1.0 if last else 0.3)


def missing_result(node: ast.stmt, scope: Scope) -> Iterator[Edit]:
    """Return a variable at the end of a function that ends without."""
    function = scope.function(node)
    if function is None or function.body[-1] is not node or isinstance(node, _JUMPS):
        return
    yields = any(isinstance(n, ast.Yield | ast.YieldFrom) for n in ast.walk(function))
    indent = scope.indent(node)
    if yields or indent is None or function.name == "__init__":
        return
    names = [n.id for n in ast.walk(function) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)]
    end = scope.source.line_end(node.end_lineno or node.lineno)
    lead = "" if scope.source.text[:end].endswith(("\n", "\r")) else "\n"
    ranked = list(dict.fromkeys([*names, *scope.parameters(function)]))
    for index, name in enumerate([n for n in ranked if n != "cls"][:4]):
        text = f"{lead}{indent}return {name}" + ("" if lead else "\n")
        yield Edit(end, end, text, f"add `return {name}`", max(0.4, 1.0 - 0.2 * index))


def jump(node: ast.Continue | ast.Break, scope: Scope) -> Iterator[Edit]:
    """Swap `continue` and `break`, or leave the jump out."""
    old, new = ("continue", "break") if isinstance(node, ast.Continue) else ("break", "continue")
    start, end = scope.source.span(node)
    yield Edit(start, end, new, f"`{old}` → `{new}`")
    yield Edit(start, end, "pass", f"leave out `{old}`", 0.5)


def superfluous_statement(node: ast.stmt, scope: Scope) -> Iterator[Edit]:
    """Leave a statement out."""
    span, block = scope.whole_lines(node), scope.siblings(node)
    if span is None or isinstance(node, _DEFINITIONS) or _documents(node, scope):
        return
    note = f"leave out {shown(scope.text(node))}"
    weight = 0.5 if isinstance(node, ast.Return | ast.Assign | ast.For | ast.While) else 1.0
    if len(block) > 1:
        yield Edit(*span, "", note, weight)
    elif not isinstance(node, ast.Pass):
        yield Edit(*scope.source.span(node), "pass", note, weight * 0.6)


def _documents(node: ast.stmt, scope: Scope) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def out_of_order(node: ast.stmt, scope: Scope) -> Iterator[Edit]:
    """Swap a statement with the next one."""
    block = scope.siblings(node)
    place = block.index(node) if node in block else -1
    if place < 0 or place + 1 >= len(block) or _documents(node, scope) or isinstance(node, _DEFINITIONS):
        return
    other = block[place + 1]
    first, second = scope.whole_lines(node), scope.whole_lines(other)
    if first is None or second is None or first[1] > second[0]:
        return
    text = scope.source.text
    if not text[: second[1]].endswith(("\n", "\r")):
        return
    swapped = text[second[0] : second[1]] + text[first[1] : second[0]] + text[first[0] : first[1]]
    start, end = first[0], second[1]
    plain = isinstance(node, ast.If | ast.For | ast.While | ast.With | ast.Try)
    yield Edit(
        start,
        end,
        _native(swapped),
        f"swap {shown(scope.text(node), 24)} and {shown(scope.text(other), 24)}",
        0.6 if plain else 1.0,
    )


def dedent(node: ast.stmt, scope: Scope) -> Iterator[Edit]:
    """Move the last statement of a block out of it."""
    parent, block = scope.parents.get(node), scope.siblings(node)
    inside = isinstance(parent, ast.For | ast.While | ast.If | ast.With | ast.Try | ast.AsyncFor)
    if not inside or len(block) < 2 or block[-1] is not node or not isinstance(parent, ast.stmt):
        return
    span, outer = scope.whole_lines(node), scope.indent(parent)
    last = parent.end_lineno == node.end_lineno
    if span is None or outer is None or _spans_text(node) or not last:
        return
    moved = _reindented(scope, node, outer)
    if moved is not None:
        weight = 1.0 if isinstance(node, ast.Return | ast.Assign | ast.AugAssign | ast.Expr) else 0.6
        yield Edit(*span, moved, f"move {shown(scope.text(node))} out of the block", weight)


def deepen(node: ast.stmt, scope: Scope) -> Iterator[Edit]:
    """Move a statement into the block that ends before it."""
    block = scope.siblings(node)
    place = block.index(node) if node in block else 0
    span = scope.whole_lines(node)
    if not place or span is None or _spans_text(node):
        return
    before: ast.AST = block[place - 1]
    while True:
        inner = next((b for name in reversed(BODIES) if (b := getattr(before, name, None))), None)
        if not inner or isinstance(before, Function | ast.ClassDef):
            return
        before = inner[-1]
        indent = scope.indent(before)
        moved = None if indent is None else _reindented(scope, node, indent)
        if moved is not None and not isinstance(before, _JUMPS):
            yield Edit(*span, moved, f"move {shown(scope.text(node))} into the block before it")


def _spans_text(node: ast.AST) -> bool:
    """Whether a text over several lines lies in the statement: its inside must not be indented."""
    texts = [n for n in ast.walk(node) if isinstance(n, ast.Constant | ast.JoinedStr)]
    return any(n.lineno != n.end_lineno for n in texts)


def _reindented(scope: Scope, node: ast.stmt, indent: str) -> str | None:
    old = scope.indent(node) or ""
    span = scope.whole_lines(node)
    if span is None:
        return None
    lines = _native(scope.source.text[span[0] : span[1]]).split("\n")
    if not all(line.startswith(old) or not line.strip() for line in lines):
        return None
    return "\n".join(indent + line[len(old) :] if line.strip() else line for line in lines)


def _native(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n")


def returned(node: ast.Return, scope: Scope) -> Iterator[Edit]:
    """Return another variable, or the parts of a pair the other way round."""
    if node.value is None:
        names = scope.local_names(node)
        yield from (scope.swap(node, f"return {name}") for name in names[-3:] if name not in ("self", "cls"))
        return
    if isinstance(node.value, ast.Constant) and isinstance(node.value.value, bool):
        for name in [n for n in scope.local_names(node) if n not in ("self", "cls")]:
            yield from (scope.swap(node.value, text, 0.8) for text in (f"not {name}", f"bool({name})"))
        return
    if isinstance(node.value, ast.Tuple) and len(node.value.elts) == 2:
        left, right = node.value.elts
        start, end = scope.source.span(left)[0], scope.source.span(right)[1]
        text = f"{scope.text(right)}, {scope.text(left)}"
        yield Edit(start, end, text, f"{shown(scope.source.text[start:end])} → {shown(text)}")
    if not isinstance(node.value, ast.Name | ast.Compare):  # a variable is no answer to a question
        names = [n for n in scope.local_names(node) if n not in ("self", "cls")]
        yield from (scope.swap(node.value, name, 0.5) for name in names[-4:])


def kept_result(node: ast.Expr, scope: Scope) -> Iterator[Edit]:
    """Keep the result of a method that changes nothing by itself: `x.strip()` becomes `x = x.strip()`."""
    call = node.value
    if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute):
        owner = call.func.value
        if isinstance(owner, ast.Name | ast.Attribute | ast.Subscript):
            start = scope.source.span(node)[0]
            name = scope.text(owner)
            yield Edit(start, start, f"{name} = ", f"keep the result of {shown(scope.text(call))}")


def loop_jump(node: ast.If, scope: Scope) -> Iterator[Edit]:
    """Turn an `if` into a `while`, where one round is not enough."""
    start = scope.source.span(node)[0]
    if scope.source.text.startswith("if", start) and not node.orelse and not isinstance(node.body[-1], _JUMPS):
        yield Edit(start, start + 2, "while", "`if` → `while`")


def both_parts(node: ast.Tuple, scope: Scope) -> Iterator[Edit]:
    """Swap the two names that are unpacked or paired."""
    if len(node.elts) == 2 and not isinstance(scope.parents.get(node), ast.Return | ast.Subscript):
        left, right = node.elts
        (start, middle), (gap, end) = scope.source.span(left), scope.source.span(right)
        text = scope.text(right) + scope.source.text[middle:gap] + scope.text(left)
        yield Edit(start, end, text, f"{shown(scope.source.text[start:end])} → {shown(text)}")


OPERATORS = (
    Operator("missing-return", (ast.Expr,), missing_return),
    Operator("missing-result", (ast.stmt,), missing_result),
    Operator("wrong-jump", (ast.Continue, ast.Break), jump),
    Operator("superfluous-statement", (ast.stmt,), superfluous_statement),
    Operator("out-of-order", (ast.stmt,), out_of_order),
    Operator("too-deep", (ast.stmt,), dedent),
    Operator("not-deep-enough", (ast.stmt,), deepen),
    Operator("wrong-result", (ast.Return,), returned),
    Operator("dropped-result", (ast.Expr,), kept_result),
    Operator("if-for-while", (ast.If,), loop_jump),
    Operator("swapped-pair", (ast.Tuple,), both_parts),
)
