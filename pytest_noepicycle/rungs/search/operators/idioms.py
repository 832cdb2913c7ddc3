"""Known traps of the language: shared rows, late binding, assignments one after the other, and their like."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from itertools import pairwise

from pytest_noepicycle.rungs.search.edits import Edit, Operator, shown
from pytest_noepicycle.rungs.search.scope import Scope

_OPPOSITE = {"min": "max", "max": "min", "any": "all", "all": "any", "<": "<=", "<=": "<", ">": ">=", ">=": ">"}
_SPECS = ("02d", ".2f", "02", ",", ".1f", "03d", ".0f", "x", ">2", "%", "r")


def simultaneous(node: ast.Assign, scope: Scope) -> Iterator[Edit]:
    """Assign two variables at once, where the second needs what the first was before."""
    block = scope.siblings(node)
    after = block[block.index(node) + 1 : block.index(node) + 2] if node in block else []
    span = scope.whole_lines(node)
    if not after or not isinstance(after[0], ast.Assign) or span is None or len(node.targets) > 1:
        return
    other, end = after[0], scope.whole_lines(after[0])
    crossed = scope.names_in(node.targets[0]) & scope.names_in(other.value)
    if (
        end is None
        or len(other.targets) > 1
        or not crossed
        or not scope.names_in(other.targets[0]) & scope.names_in(node.value)
    ):
        return
    left, right = (
        f"{scope.text(a)}, {scope.text(b)}" for a, b in ((node.targets[0], other.targets[0]), (node.value, other.value))
    )
    yield Edit(span[0], end[1], f"{scope.indent(node)}{left} = {right}\n", f"`{left} = {right}` at once")


def late_binding(node: ast.Lambda | ast.FunctionDef, scope: Scope) -> Iterator[Edit]:
    """Bind a loop's variable when a function is made, not when it is called."""
    inside = {
        n.id
        for b in ([node.body] if isinstance(node, ast.Lambda) else node.body)
        for n in ast.walk(b)
        if isinstance(n, ast.Name)
    }
    looped = {n.id for a in scope.ancestors(node) for t in _targets(a) for n in ast.walk(t) if isinstance(n, ast.Name)}
    own = scope.parameters(node)
    for name in sorted(inside & looped - set(own)):
        place = _behind_parameters(node, scope)
        if place is not None:
            lead = ", " if own else " " if isinstance(node, ast.Lambda) else ""
            yield Edit(place, place, f"{lead}{name}={name}", f"bind `{name}` at once")


def _targets(node: ast.AST) -> list[ast.expr]:
    if isinstance(node, ast.For):
        return [node.target]
    return [g.target for g in getattr(node, "generators", [])]


def _behind_parameters(node: ast.Lambda | ast.FunctionDef, scope: Scope) -> int | None:
    if node.args.vararg or node.args.kwarg or node.args.kwonlyargs:
        return None
    parts = [*node.args.posonlyargs, *node.args.args, *node.args.defaults]
    if parts:
        return max(scope.source.span(part)[1] for part in parts)
    start = scope.source.span(node)[0]
    return start + len("lambda") if isinstance(node, ast.Lambda) else scope.source.text.index("(", start) + 1


def shared_rows(node: ast.BinOp, scope: Scope) -> Iterator[Edit]:
    """Make each row of a table anew: `[[0] * n] * m` holds one row m times."""
    if isinstance(node.op, ast.Mult) and isinstance(node.left, ast.List) and len(node.left.elts) == 1:
        row = node.left.elts[0]
        if not isinstance(row, ast.Constant | ast.Name):
            yield scope.swap(node, f"[{scope.text(row)} for _ in range({scope.text(node.right)})]")


def deep_copy(node: ast.expr, scope: Scope) -> Iterator[Edit]:
    """Copy the rows of a table too."""
    inner: ast.expr | None = None
    if (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id == "list"
        and len(node.args) == 1
    ):
        inner = node.args[0]
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "copy":
        inner = node.func.value
    elif isinstance(node, ast.Subscript) and scope.text(node).endswith("[:]"):
        inner = node.value
    if isinstance(inner, ast.Name | ast.Attribute | ast.Subscript):
        text = scope.text(inner)
        yield scope.swap(node, f"[list(row) for row in {text}]")
        yield scope.swap(node, f"{{key: list(value) for key, value in {text}.items()}}", 0.4)


def toggle(node: ast.Assign, scope: Scope) -> Iterator[Edit]:
    """Turn a switch or a direction over in the place of setting it: `on = True` becomes `on = not on`."""
    one = isinstance(node.value, ast.UnaryOp) and isinstance(node.value.op, ast.USub)
    if one and scope.text(node.value) == "-1" and isinstance(node.targets[0], ast.Name | ast.Attribute):
        yield scope.swap(node.value, f"-{scope.text(node.targets[0])}")
    if isinstance(node.value, ast.Constant) and isinstance(node.value.value, bool) and len(node.targets) == 1:
        yield scope.swap(node.value, f"not {scope.text(node.targets[0])}")


def format_spec(node: ast.FormattedValue, scope: Scope) -> Iterator[Edit]:
    """Format a value: leading zeros, digits behind the point, thousands."""
    end = scope.source.span(node.value)[1]
    found = re.compile(r"\s*(![rsa])?(:[^{}]*)?\}").match(scope.source.text, end)
    if found is None:
        return
    old = (found[2] or "")[1:]
    precise = re.fullmatch(r"(.*?)(\d+)(\w*)", old)
    near = [f"{precise[1]}{int(precise[2]) + n}{precise[3]}" for n in (1, -1)] if precise and int(precise[2]) else []
    for index, new in enumerate(s for s in (*near, "", *_SPECS) if s != old):
        start = found.start(2) if found[2] else found.end() - 1
        spec = f":{new}" if new else ""
        yield Edit(start, found.end() - 1, spec, f"format `{old}` → `{new}`", max(0.3, 1.0 - 0.1 * index))


def dropped(node: ast.Expr, scope: Scope) -> Iterator[Edit]:
    """Add what a call returns to the result, where it is dropped."""
    function, call = scope.function(node), node.value
    if function is None or not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name | ast.Attribute):
        return
    if scope.text(call.func).rpartition(".")[2] not in scope.functions:
        return
    returned = [n.value.id for n in ast.walk(function) if isinstance(n, ast.Return) and isinstance(n.value, ast.Name)]
    for name in list(dict.fromkeys(returned))[:2]:
        text = scope.text(call)
        for index, line in enumerate(
            (f"{name}.extend({text})", f"{name} += {text}", f"{name}.append({text})", f"{name} = {text}")
        ):
            yield scope.swap(node, line, 1.0 - 0.15 * index)


def indices(node: ast.Subscript, scope: Scope) -> Iterator[Edit]:
    """Swap the two indices of a table."""
    inner = node.value
    if (
        isinstance(inner, ast.Subscript)
        and not isinstance(node.slice, ast.Slice)
        and not isinstance(inner.slice, ast.Slice)
    ):
        yield scope.swap(node, f"{scope.text(inner.value)}[{scope.text(node.slice)}][{scope.text(inner.slice)}]")


def part_of(node: ast.expr, scope: Scope) -> Iterator[Edit]:
    """Leave out the first or the last of a sequence, or go through it backwards."""
    parent = scope.parents.get(node)
    given = isinstance(parent, ast.Call) and node in parent.args
    looped = isinstance(parent, ast.For | ast.comprehension) and parent.iter is node
    if isinstance(node, ast.Name | ast.Attribute) and (given or looped) and scope.text(node) not in ("self", "cls"):
        twice = given and sum(ast.dump(a) == ast.dump(node) for a in getattr(parent, "args", ())) > 1
        for part, weight in (("1:", 1.0), (":-1", 0.7), ("::-1", 0.6)):
            yield scope.swap(node, f"{scope.text(node)}[{part}]", weight if twice or looped else weight * 0.2)
    elif isinstance(node, ast.Name) and _joined_to_text(node, scope):
        yield scope.swap(node, f"{node.id}[1:]", 0.9)
        yield scope.swap(node, f"{node.id}[:-1]", 0.8)
    elif isinstance(node, ast.ListComp) and isinstance(parent, ast.Assign | ast.Return):
        yield scope.swap(node, f"{scope.text(node)}[::-1]", 0.6)
    elif looped and isinstance(node, ast.Call) and scope.text(node.func) == "range":
        yield scope.swap(node, f"reversed({scope.text(node)})")


def _joined_to_text(node: ast.Name, scope: Scope) -> bool:
    """Whether a variable is joined with a text or a list: `"+" + digits`."""
    parent, top = scope.parents.get(node), node
    while isinstance(parent, ast.BinOp) and isinstance(parent.op, ast.Add):
        parent, top = scope.parents.get(parent), parent  # type: ignore[assignment]
    parts = ast.walk(top) if top is not node else ()
    return any(isinstance(n, ast.List) or (isinstance(n, ast.Constant) and isinstance(n.value, str)) for n in parts)


def everywhere(node: ast.stmt, scope: Scope) -> Iterator[Edit]:
    """Turn round all boundaries of a statement at once, or `min` and `max` wherever they stand in it."""
    for pattern in (r"(?<![<>=!-])[<>]=?(?![<>=])", r"\b(?:min|max)(?=\()", r"\b(?:any|all)(?=\()"):
        places = _places(node, pattern, scope)
        if len(places) > 1:
            start, end = places[0][0], places[-1][1]
            text = scope.source.text[start:end]
            for begin, stop in reversed(places):
                text = text[: begin - start] + _OPPOSITE[scope.source.text[begin:stop]] + text[stop - start :]
            yield Edit(start, end, text, f"{shown(scope.source.text[start:end])} → {shown(text)}")


def _places(node: ast.stmt, pattern: str, scope: Scope) -> list[tuple[int, int]]:
    """Return where comparisons, or names of functions, stand in the statement's own code."""
    found: set[tuple[int, int]] = set()
    for inner in scope.own_nodes(node):
        if isinstance(inner, ast.Compare):
            operands = [inner.left, *inner.comparators]
            gaps = [scope.between(a, b) for a, b in pairwise(operands)]
            found |= {(s + m.start(), s + m.end()) for s, gap in gaps for m in re.finditer(pattern, gap)}
        elif isinstance(inner, ast.Call) and re.match(pattern, f"{scope.text(inner.func)}("):
            found.add(scope.source.span(inner.func))
    return sorted(found)


OPERATORS = (
    Operator("one-after-the-other", (ast.Assign,), simultaneous),
    Operator("late-binding", (ast.Lambda, ast.FunctionDef), late_binding),
    Operator("shared-rows", (ast.BinOp,), shared_rows),
    Operator("shallow-copy", (ast.Call, ast.Subscript), deep_copy),
    Operator("toggle", (ast.Assign,), toggle),
    Operator("format", (ast.FormattedValue,), format_spec),
    Operator("dropped-part", (ast.Expr,), dropped),
    Operator("swapped-indices", (ast.Subscript,), indices),
    Operator("part-of-sequence", (ast.expr,), part_of),
    Operator("turned-round", (ast.stmt,), everywhere),
)
