"""Slips that the flow of data gives away: what is set and never read, read and never set again, or dropped."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from pytest_noepicycle.rungs.search.edits import Edit, Operator
from pytest_noepicycle.rungs.search.kinship import bound_pairs
from pytest_noepicycle.rungs.search.scope import Scope

_LOOPS = (ast.For, ast.While, ast.AsyncFor)
_JUMPS = (ast.Return, ast.Raise, ast.Continue, ast.Break)


def stale(node: ast.stmt, scope: Scope) -> Iterator[Edit]:
    """Set a variable anew that a loop or a condition reads, and that nothing sets after its first value."""
    if scope.siblings(node)[-1:] != [node] or isinstance(node, _JUMPS) or not _may_repeat(node, scope):
        return
    around = [a for a in scope.ancestors(node) if isinstance(a, ast.FunctionDef | ast.AsyncFunctionDef)]
    read = frozenset().union(*(scope.names_read(f) for f in around))
    for name, value in [pair for f in around for pair in _set_once(f)]:
        if name in read:
            for weight, text in _later(node, value, scope):
                yield from scope.insert_after(node, [f"{name} = {text}"], weight)


def _may_repeat(node: ast.stmt, scope: Scope) -> bool:
    inside = [a for a in scope.ancestors(node) if isinstance(a, ast.If | ast.For | ast.While | ast.FunctionDef)]
    looped = any(isinstance(a, _LOOPS) for a in inside)
    nested = sum(isinstance(a, ast.FunctionDef) for a in inside) > 1
    return looped or (nested and isinstance(inside[0], ast.If))


def _set_once(function: ast.AST) -> list[tuple[str, ast.expr]]:
    """Return the variables of a function that are set to a constant once, and never again."""
    stored = [n.id for n in ast.walk(function) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)]
    pairs = bound_pairs(s for s in ast.walk(function) if isinstance(s, ast.Assign))
    return [(n, v) for n, v in pairs if isinstance(v, ast.Constant) and stored.count(n) == 1]


def _later(node: ast.stmt, value: ast.expr, scope: Scope) -> Iterator[tuple[float, str]]:
    """Yield what the variable could be set to: the opposite of a switch, or what the loop goes through."""
    held = value.value if isinstance(value, ast.Constant) else None
    if isinstance(held, bool):
        yield 1.0, str(not held)
        return
    loops = [a for a in scope.ancestors(node) if isinstance(a, ast.For)]
    targets = [n.id for a in loops[:1] for n in ast.walk(a.target) if isinstance(n, ast.Name)]
    for index, name in enumerate(targets):
        counted = len(name) == 1 or name.startswith(("ind", "pos"))
        yield 0.9 if counted == isinstance(held, int) else 0.8 - 0.1 * index, name


def handover(node: ast.Assign, scope: Scope) -> Iterator[Edit]:
    """Keep what a variable was in its companion before it is set anew: `second = first`."""
    if len(node.targets) != 1 or not isinstance(node.targets[0], ast.Name) or scope.function(node) is None:
        return
    name = node.targets[0].id
    beside = {scope.text(s) for s in scope.siblings(node)}
    for other in _companions(name, scope.function(node)):
        line = f"{other} = {name}"
        if line not in beside and any(isinstance(a, _LOOPS) for a in scope.ancestors(node)):
            yield from scope.insert_before(node, [line])


def _companions(name: str, function: ast.AST | None) -> list[str]:
    """Return variables that begin together with one: `a = b = None`, `a, b = 0, 1`."""
    assigns = [n for n in ast.walk(function) if isinstance(n, ast.Assign)] if function else []
    groups = [[n.id for t in a.targets for n in ast.walk(t) if isinstance(n, ast.Name)] for a in assigns]
    return list(dict.fromkeys(other for group in groups if name in group for other in group if other != name))


def unread_value(node: ast.AugAssign, scope: Scope) -> Iterator[Edit]:
    """Set a variable to what nothing reads yet, where it is counted up."""
    for name in scope.unread(node)[:2]:
        yield scope.swap(node, f"{scope.text(node.target)} = {name}")


def kept(node: ast.Expr, scope: Scope) -> Iterator[Edit]:
    """Keep the result of a call in a variable that holds such a result elsewhere in the function."""
    call, function = node.value, scope.function(node)
    if not isinstance(call, ast.Call) or function is None:
        return
    callee, start = scope.text(call.func), scope.source.span(node)[0]
    assigns = [n for n in ast.walk(function) if isinstance(n, ast.Assign) and isinstance(n.value, ast.Call)]
    first = call.args[0] if call.args else None
    if isinstance(first, ast.Name | ast.Attribute | ast.Subscript) and callee in scope.functions:
        name = scope.text(first)
        yield Edit(start, start, f"{name} = ", f"keep the result in `{name}`")
    for name in dict.fromkeys(
        scope.text(n.targets[0])
        for n in assigns
        if scope.text(n.value.func) == callee and len(n.targets) == 1  # type: ignore[attr-defined]
    ):
        yield Edit(start, start, f"{name} = ", f"keep the result in `{name}`")


def missing_jump(node: ast.stmt, scope: Scope) -> Iterator[Edit]:
    """End the round, the loop or the function when a case has been dealt with."""
    branch = scope.parents.get(node)
    last = isinstance(branch, ast.If) and branch.body[-1] is node and not isinstance(node, _JUMPS)
    if not last or branch.orelse or not any(isinstance(a, _LOOPS) for a in scope.ancestors(node)):  # type: ignore[union-attr]
        return
    function = scope.function(node)
    valued = any(isinstance(n, ast.Return) and n.value is not None for n in ast.walk(function)) if function else True
    follows = scope.siblings(branch)[-1:] != [branch]  # type: ignore[arg-type]
    lines = [("continue", 0.9)] if follows else []
    lines += [("break", 0.8)] + ([("return", 1.0)] if not valued else [])
    for line, weight in lines:
        yield from scope.insert_after(node, [line], weight)


def early_end(node: ast.Return, scope: Scope) -> Iterator[Edit]:
    """Go on with the next round, or leave the loop, where the function ends in its midst."""
    looped = any(isinstance(a, _LOOPS) for a in scope.ancestors(node))
    if looped and (node.value is None or isinstance(node.value, ast.Constant)):
        for index, word in enumerate(("continue", "break")):
            yield scope.swap(node, word, (1.0 if node.value is None else 0.6) - 0.3 * index)


def if_anything(node: ast.Expr, scope: Scope) -> Iterator[Edit]:
    """Do something only where there is anything to do it with: `if batch: yield batch`."""
    span, indent, value = scope.whole_lines(node), scope.indent(node), node.value
    if isinstance(value, ast.Call) and len(value.args) == 1:
        value = value.args[0]
    elif isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute) and scope.crash(node):
        value = value.func.value
    elif isinstance(value, ast.Yield):
        value = value.value  # type: ignore[assignment]
    if span is None or indent is None or not isinstance(value, ast.Name) or node.lineno != node.end_lineno:
        return
    text = scope.source.text[slice(*scope.source.span(node))]
    lines = f"{indent}if {value.id}:\n{indent}{scope.step}{text}\n"
    yield Edit(*span, lines, f"only `if {value.id}`")
    yield Edit(*span, lines.replace(":", " is not None:", 1), f"only `if {value.id} is not None`", 0.6)


def or_else(node: ast.Name, scope: Scope) -> Iterator[Edit]:
    """Fall back to another variable, where the failure says that nothing was there: `min(later or times)`."""
    parent = scope.parents.get(node)
    function = scope.function(node)
    given = isinstance(parent, ast.Call) and node in parent.args
    if function is None or not given or not scope.crash(node):
        return
    others = [n for n in scope.local_names(node) if n not in (node.id, "self", "cls")]
    sources = {n for n, value in bound_pairs(function.body) if n == node.id for n in scope.names_in(value)}
    for name in sorted(others, key=lambda n: n not in sources)[:3]:
        yield scope.swap(node, f"{node.id} or {name}", 1.0 if name in sources else 0.6)


def other_owner(node: ast.Assign, scope: Scope) -> Iterator[Edit]:
    """Add to the entry that is set, not to one of another mapping: `total[key] = total.get(key, 0) + value`."""
    target = node.targets[0]
    if not isinstance(target, ast.Subscript) or not isinstance(node.value, ast.BinOp):
        return
    key = scope.text(target.slice)
    for part in (node.value.left, node.value.right):
        got = isinstance(part, ast.Call) and isinstance(part.func, ast.Attribute) and part.func.attr == "get"
        asked = scope.text(part.args[0]) if got and part.args else None  # type: ignore[attr-defined]
        owner = part.func.value if got else part.value if isinstance(part, ast.Subscript) else None  # type: ignore[attr-defined]
        asked = scope.text(part.slice) if isinstance(part, ast.Subscript) else asked
        if owner is not None and asked == key and scope.text(owner) != scope.text(target.value):
            yield scope.swap(owner, scope.text(target.value))


OPERATORS = (
    Operator("stale-variable", (ast.stmt,), stale),
    Operator("missing-handover", (ast.Assign,), handover),
    Operator("unread-value", (ast.AugAssign,), unread_value),
    Operator("result-not-kept", (ast.Expr,), kept),
    Operator("missing-jump", (ast.stmt,), missing_jump),
    Operator("early-end", (ast.Return,), early_end),
    Operator("missing-fallback", (ast.Name,), or_else),
    Operator("other-owner", (ast.Assign,), other_owner),
    Operator("missing-if-any", (ast.Expr,), if_anything),
)
