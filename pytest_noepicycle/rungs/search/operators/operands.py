"""Slips in what an expression is made of: a summand, a bound or a part of a condition that is missing or too much."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from pytest_noepicycle.rungs.search.edits import Edit, Operator
from pytest_noepicycle.rungs.search.kinship import renamed
from pytest_noepicycle.rungs.search.scope import Scope

_VALUES = (ast.Name, ast.Attribute, ast.Subscript, ast.Call)
_DROPPABLE = (ast.Add, ast.Sub, ast.Mult, ast.Div, ast.FloorDiv, ast.Mod, ast.BitOr)


def superfluous(node: ast.BinOp, scope: Scope) -> Iterator[Edit]:
    """Keep only one side of an arithmetic operation."""
    if isinstance(node.op, _DROPPABLE):
        yield scope.swap(node, scope.text(node.left))
        yield scope.swap(node, scope.text(node.right), 0.5)


def missing(node: ast.expr, scope: Scope) -> Iterator[Edit]:
    """Add another variable to a value, those first that nothing reads yet."""
    if not _is_operand(node, scope):
        return
    text = scope.text(node)
    for weight, other in _others(node, scope):
        for op, share in (("+", 1.0), ("-", 0.6), ("*", 0.5)):
            yield scope.swap(node, f"{text} {op} {other}", weight * share)


def _is_operand(node: ast.expr, scope: Scope) -> bool:
    parent = scope.parents.get(node)
    if not isinstance(node, _VALUES) or not isinstance(getattr(node, "ctx", ast.Load()), ast.Load):
        return False
    if isinstance(parent, ast.Tuple | ast.Compare | ast.Return):
        return True
    return getattr(parent, "value", None) is node and isinstance(parent, ast.Assign | ast.AugAssign)


def _others(node: ast.AST, scope: Scope) -> list[tuple[float, str]]:
    inside = scope.names_in(node)
    unread = [n for n in scope.unread(node) if n not in inside]
    asked = [c for c in scope.plain_calls(node) if c not in scope.text(node)]
    mine = [f"self.{name}" for name in scope.unread_attributes(node) if f"self.{name}" not in scope.text(node)]
    locals_ = [n for n in scope.local_names(node) if n not in inside and n not in ("self", "cls", *unread)]
    ranked = [(1.0, n) for n in (*unread[:2], *mine[:2])] + [(0.8, c) for c in asked[:2]]
    return [*ranked, *((0.7, t) for t in _fellows(node, scope)[:2]), *((0.5, n) for n in locals_[-3:])]


def _fellows(node: ast.AST, scope: Scope) -> list[str]:
    """Return the same expression on other attributes of the object that the class asks in the same way."""
    owners = [n for n in ast.walk(node) if isinstance(n, ast.Attribute) and scope.text(n.value) == "self"]
    if len(owners) != 1 or not isinstance(node, ast.Call | ast.Subscript):
        return []
    own, text = scope.text(owners[0]), scope.text(node)
    others = [f"self.{name}" for name in scope.fellow_values.get(owners[0].attr, ())]
    around = scope.class_of(node)
    return [
        text.replace(own, other)
        for other in others
        if around and f"{other}{text[len(own) : len(own) + 2]}" in scope.text(around)
    ]


def for_constant(node: ast.Constant, scope: Scope) -> Iterator[Edit]:
    """Use a variable where a constant stands, one first that nothing reads yet."""
    parent = scope.parents.get(node)
    if isinstance(node.value, str | bytes) or isinstance(parent, ast.Expr | ast.FormattedValue | ast.JoinedStr):
        return
    unread = scope.unread(node)
    names = [n for n in scope.local_names(node) if n not in ("self", "cls")]
    for name in dict.fromkeys([*unread, *names[-4:]]):
        weight = 1.0 if name in unread else 0.4
        yield scope.swap(node, name, weight)
        if name in unread and isinstance(node.value, bool):
            yield scope.swap(node, f"not {name}", weight)


def wrapped_round(node: ast.BinOp, scope: Scope) -> Iterator[Edit]:
    """Begin again at the front behind the end: `% len(items)`."""
    parent = scope.parents.get(node)
    steps = isinstance(node.op, ast.Add | ast.Sub) and isinstance(parent, ast.Assign | ast.Subscript | ast.Return)
    if not steps or not isinstance(node.right, ast.Constant | ast.Name):
        return
    around = scope.class_of(node) or scope.function(node) or scope.tree
    owners = [scope.text(n.value) for n in ast.walk(around) if isinstance(n, ast.Subscript)]
    for owner in list(dict.fromkeys(owners))[:3]:
        yield scope.swap(node, f"({scope.text(node)}) % len({owner})")


def extreme(node: ast.expr, scope: Scope) -> Iterator[Edit]:
    """Keep the larger or the smaller of two values, where the new one is taken in any case."""
    if not isinstance(node, _VALUES) or not isinstance(getattr(node, "ctx", ast.Load()), ast.Load):
        return
    parent = scope.parents.get(node)
    held = isinstance(parent, ast.Assign) and parent.value is node and not isinstance(parent.targets[0], ast.Tuple)
    others = [scope.text(parent.targets[0])] if held else []  # type: ignore[union-attr]
    given = isinstance(parent, ast.Call) and node in parent.args and not isinstance(node, ast.Call)
    others += _compared(node, scope) if given or isinstance(parent, ast.Tuple | ast.Assign) else []
    for index, other in enumerate(dict.fromkeys(others)):
        for name in ("max", "min"):
            yield scope.swap(node, f"{name}({other}, {scope.text(node)})", 1.0 - 0.2 * index)


def _compared(node: ast.AST, scope: Scope) -> list[str]:
    """Return what the conditions around a node compare, shortest first."""
    tests = [a.test for a in scope.ancestors(node) if isinstance(a, ast.If)][:1]
    sides = [s for t in tests for c in ast.walk(t) if isinstance(c, ast.Compare) for s in (c.left, *c.comparators)]
    texts = [scope.text(s) for s in sides if isinstance(s, _VALUES) and scope.text(s) != scope.text(node)]
    return sorted(dict.fromkeys(texts), key=len)[:3]


def condition(node: ast.AST, scope: Scope) -> Iterator[Edit]:
    """Ask for one thing more: a variable that nothing reads yet, or a condition that stands nearby."""
    tests = [node.test] if isinstance(node, ast.If | ast.While | ast.IfExp) else getattr(node, "ifs", [])
    for test in tests if isinstance(tests, list) else []:
        parts = [(1.0, n) for n in scope.unread(test)] + [(0.7, f"not {n}") for n in scope.unread(test)]
        parts += [(0.5, text) for text in _conditions(test, scope)]
        left = f"({scope.text(test)})" if isinstance(test, ast.BoolOp | ast.IfExp | ast.Lambda) else scope.text(test)
        for weight, part in parts[:7]:
            yield scope.swap(test, f"{left} and {part}", weight)
            yield scope.swap(test, f"{left} or {part}", weight * 0.6)


def _conditions(test: ast.AST, scope: Scope) -> list[str]:
    """Return conditions of the function, with their names adapted to those that are known here."""
    here, local = scope.names_in(test), scope.local_names(test)
    known = {*local, *scope.module_values}
    found: list[str] = []
    for other in sorted(scope.conditions(test), key=lambda t: abs(t.lineno - test.lineno))[:8]:  # type: ignore[attr-defined]
        names = scope.names_in(other) & known
        spare = [n for n in local[-4:] if n not in names and n not in ("self", "cls")]
        found += [renamed(other, {old: new}, scope) for old in sorted(names - here) for new in spare if new in here]
        found += [scope.text(other)] if scope.names_in(other) <= known | scope.names_in(scope.tree) else []
    return [t for t in dict.fromkeys(found) if t != scope.text(test)][:5]


def guarded(node: ast.stmt, scope: Scope) -> Iterator[Edit]:
    """Do something only under a condition that stands nearby, its names adapted."""
    span, indent = scope.whole_lines(node), scope.indent(node)
    plain = isinstance(node, ast.Expr | ast.Assign | ast.AugAssign | ast.Raise)
    if span is None or indent is None or not plain or node.lineno != node.end_lineno or scope.function(node) is None:
        return
    for index, text in enumerate(_conditions(node, scope)):
        lines = f"{indent}if {text}:\n{indent}{scope.step}{scope.text(node)}\n"
        yield Edit(*span, lines, f"only `if {text}`", 1.0 - 0.1 * index)


def lower_bound(node: ast.expr, scope: Scope) -> Iterator[Edit]:
    """Leave out what is below zero where only the upper bound is asked for."""
    if isinstance(scope.parents.get(node), ast.BoolOp):
        return
    parts = node.values if isinstance(node, ast.BoolOp) and isinstance(node.op, ast.And) else [node]
    bounded = [p for p in parts if isinstance(p, ast.Compare) and len(p.ops) == 1 and isinstance(p.ops[0], ast.Lt)]
    if not bounded:
        return
    start, end = scope.source.span(node)
    text = scope.source.text[start:end]
    for part in reversed(bounded):
        place = scope.source.span(part)[0] - start
        text = f"{text[:place]}0 <= {text[place:]}"
    yield scope.swap(node, text)


def not_below(node: ast.BinOp, scope: Scope) -> Iterator[Edit]:
    """Let a difference not fall below zero: `max(0, a - b)`."""
    parent = scope.parents.get(node)
    held = isinstance(parent, ast.Return | ast.Assign) and parent.value is node
    if held and any(isinstance(n, ast.BinOp) and isinstance(n.op, ast.Sub) for n in (node, node.left)):
        yield scope.swap(node, f"max(0, {scope.text(node)})")


def lessened(node: ast.Name, scope: Scope) -> Iterator[Edit]:
    """Take another variable from a factor, or add it: `n * size` becomes `n * (size - used)`."""
    parent = scope.parents.get(node)
    if isinstance(parent, ast.BinOp) and isinstance(parent.op, ast.Mult | ast.Div | ast.FloorDiv | ast.Mod):
        inside = scope.names_in(parent)
        others = [n for n in scope.local_names(node) if n != node.id and n not in ("self", "cls")]
        for name in sorted(others[-4:], key=lambda n: n in inside):
            for op, share in (("-", 1.0), ("+", 0.8)):
                yield scope.swap(node, f"({node.id} {op} {name})", share)


def multiple_start(node: ast.Call, scope: Scope) -> Iterator[Edit]:
    """Begin a range of multiples behind the number itself, or at its square."""
    if isinstance(node.func, ast.Name) and node.func.id == "range" and len(node.args) == 3:
        first, step = scope.text(node.args[0]), scope.text(node.args[2])
        if first == step and isinstance(node.args[0], ast.Name):
            yield scope.swap(node.args[0], f"{first} * {first}")
            yield scope.swap(node.args[0], f"{first} * 2", 0.9)


OPERATORS = (
    Operator("superfluous-operand", (ast.BinOp,), superfluous),
    Operator("missing-operand", (ast.expr,), missing),
    Operator("constant-for-variable", (ast.Constant,), for_constant),
    Operator("missing-modulo", (ast.BinOp,), wrapped_round),
    Operator("missing-extreme", (ast.expr,), extreme),
    Operator("not-below-zero", (ast.BinOp,), not_below),
    Operator("missing-difference", (ast.Name,), lessened),
    Operator("multiple-start", (ast.Call,), multiple_start),
    Operator("missing-part", (ast.AST,), condition),
    Operator("missing-condition", (ast.stmt,), guarded),
    Operator("missing-lower-bound", (ast.Compare, ast.BoolOp), lower_bound),
)
