"""Statements that are missing: a variable is not set back, an entry not taken out, the twin of a line forgotten."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from pytest_noepicycle.rungs.search.edits import Edit, Operator
from pytest_noepicycle.rungs.search.facts import Function
from pytest_noepicycle.rungs.search.kinship import bound_pairs, renamed, renamings
from pytest_noepicycle.rungs.search.scope import Scope

Loop = ast.For | ast.While | ast.AsyncFor
_NEAR = 60
_SIMPLE = (ast.Assign, ast.AugAssign, ast.Expr)
_PUTS = {"add": ("remove", "discard"), "append": ("pop", "remove"), "push": ("pop",), "acquire": ("release",)}


def reset(node: ast.stmt, scope: Scope) -> Iterator[Edit]:
    """Set a variable back in each round of a loop to what it was before the loop."""
    loop = next((a for a in scope.ancestors(node) if isinstance(a, Loop)), None)
    if loop is None or scope.function(node) is None:
        return
    changed = {n.id for n in ast.walk(loop) if isinstance(n, ast.Name)}
    for name, value in bound_pairs(scope.siblings(loop)):
        if name not in changed or not _is_plain(value):
            continue
        text = scope.text(value)
        if scope.siblings(node)[-1:] == [node]:
            weight = 1.0 if name in _names_beside(node, scope) else 0.5
            yield from scope.insert_after(node, [f"{name} = {text}"], weight)
        if loop.body[0] is node:
            opposite = {"True": "False", "False": "True"}.get(text, text)
            yield from (
                e for t in dict.fromkeys((opposite, text)) for e in scope.insert_before(node, [f"{name} = {t}"], 0.8)
            )


def _is_plain(value: ast.expr) -> bool:
    return isinstance(value, ast.Constant) or (isinstance(value, ast.List | ast.Dict) and not any(_parts(value)))


def _parts(value: ast.List | ast.Dict) -> list[ast.expr]:
    return value.elts if isinstance(value, ast.List) else value.values


def _names_beside(node: ast.stmt, scope: Scope) -> set[str]:
    return {n.id for s in scope.siblings(node) for n in ast.walk(s) if isinstance(n, ast.Name)}


def membership(node: ast.If, scope: Scope) -> Iterator[Edit]:
    """Take out what was found in a collection, or put in what was not found there."""
    test = node.test
    if not isinstance(test, ast.Compare) or not isinstance(test.ops[0], ast.In | ast.NotIn) or len(test.ops) > 1:
        return
    item, owner = scope.text(test.left), scope.text(test.comparators[0])
    found = isinstance(test.ops[0], ast.In)
    lines = [f"{owner}.remove({item})", f"del {owner}[{item}]"] if found else [f"{owner}.add({item})"]
    lines += [] if found else [f"{owner}.append({item})", f"{owner}[{item}] = True"]
    for index, line in enumerate(lines):
        yield from scope.insert_before(node.body[0], [line], 1.0 - 0.25 * index)


def undoing(node: ast.stmt, scope: Scope) -> Iterator[Edit]:
    """Undo at the end what a block did at its beginning: `add` and `remove`, `append` and `pop`."""
    block = scope.siblings(node)
    for earlier in block[: block.index(node)] if node in block else []:
        call = earlier.value if isinstance(earlier, ast.Expr) else None
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr in _PUTS:
            owner, arguments = scope.text(call.func.value), ", ".join(map(scope.text, call.args))
            for index, name in enumerate(_PUTS[call.func.attr]):
                line = f"{owner}.{name}({'' if name in ('pop', 'release') else arguments})"
                yield from scope.insert_after(node, [line], 1.0 - 0.4 * index)


def twin(node: ast.stmt, scope: Scope) -> Iterator[Edit]:
    """Repeat a line for the other of two names that the function treats alike."""
    function = scope.function(node)
    if function is None or not isinstance(node, _SIMPLE):
        return
    beside = {scope.text(s) for s in scope.siblings(node)}
    for names in renamings(function):
        line = renamed(node, names, scope)
        if line not in beside:
            yield from scope.insert_after(node, [line], min(1.0, 0.4 + 0.3 * len(names)))


def flush(node: Loop, scope: Scope) -> Iterator[Edit]:
    """Keep what is left over when a loop has ended: the last word, the last group."""
    for inner in ast.walk(node):
        call = inner.value if isinstance(inner, ast.Expr) else None
        if isinstance(call, ast.Call) and len(call.args) == 1 and isinstance(call.args[0], ast.Name | ast.JoinedStr):
            line, value = scope.text(call), scope.text(call.args[0])
            if isinstance(call.args[0], ast.Name):
                yield from scope.insert_after(node, [f"if {value}:", f"{scope.step}{line}"])
            yield from scope.insert_after(node, [line], 0.8)


def borrowed(node: ast.stmt, scope: Scope) -> Iterator[Edit]:
    """Add a line that stands elsewhere in the class or the file, where all of its names are known."""
    function = scope.function(node)
    if function is None or node is function or not isinstance(node, (*_SIMPLE, ast.Return, ast.If)):
        return
    known = {*scope.local_names(node), *scope.module_callables, *scope.module_values}
    beside = {scope.text(s) for s in scope.siblings(node)}
    near = sorted(scope.plain_lines, key=lambda s: abs(s.lineno - node.lineno))[:_NEAR]
    offered = [s for s in near if scope.names_in(s) <= known and scope.text(s) not in beside]
    for index, line in enumerate(offered[:6]):
        yield from scope.insert_before(node, [scope.text(line)], 1.0 - 0.1 * index)


def base_class(node: ast.stmt, scope: Scope) -> Iterator[Edit]:
    """Let the base class set itself up: a missing `super().__init__()`."""
    function, owner = scope.parents.get(node), scope.class_of(node)
    if not isinstance(function, Function) or owner is None or function.name != "__init__":
        return
    if function.body[0] is not node or not owner.bases or "super()" in scope.text(function):
        return
    base = next((c for c in scope.classes if c.name == scope.text(owner.bases[0])), None)
    made = [m for m in base.body if isinstance(m, Function) and m.name == "__init__"] if base else []
    own = scope.parameters(function)
    wanted = [p for p in (scope.parameters(made[0]) if made else ()) if p in own and p != "self"]
    for given in dict.fromkeys([", ".join(wanted), ", ".join(own[1:]), ""]):
        yield from scope.insert_before(node, [f"super().__init__({given})"])


def attribute(node: ast.stmt, scope: Scope) -> Iterator[Edit]:
    """Keep a parameter that `__init__` is given and does nothing with."""
    function = scope.parents.get(node)
    if not isinstance(function, Function) or function.name != "__init__" or function.body[-1] is not node:
        return
    for name in [p for p in scope.parameters(function)[1:] if p not in scope.names_read(function)]:
        for place in dict.fromkeys((name, f"_{name}")):
            yield from scope.insert_after(node, [f"self.{place} = {name}"], 1.0 if place == name else 0.6)


def seed(node: ast.Assign, scope: Scope) -> Iterator[Edit]:
    """Set the first entry of a table of zeros, from which all others follow."""
    value = node.value
    if isinstance(value, ast.BinOp) and isinstance(value.left, ast.List) and isinstance(node.targets[0], ast.Name):
        name = node.targets[0].id
        yield from scope.insert_after(node, [f"{name}[0] = 1"])
        yield from scope.insert_after(node, [f"{name}[0] = True"], 0.5)


def progress(node: ast.stmt, scope: Scope) -> Iterator[Edit]:
    """Count on at the end of a `while` loop that never gets further."""
    loop = scope.parents.get(node)
    if not isinstance(loop, ast.While) or loop.body[-1] is not node:
        return
    stored = {n.id for n in ast.walk(loop) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    for name in sorted({n.id for n in ast.walk(loop.test) if isinstance(n, ast.Name)} - stored):
        yield from scope.insert_after(node, [f"{name} += 1"])
        yield from scope.insert_after(node, [f"{name} -= 1"], 0.7)


OPERATORS = (
    Operator("missing-reset", (ast.stmt,), reset),
    Operator("missing-bookkeeping", (ast.If,), membership),
    Operator("missing-undoing", (ast.stmt,), undoing),
    Operator("missing-twin", (ast.Assign, ast.AugAssign, ast.Expr), twin),
    Operator("missing-flush", (ast.For, ast.While), flush),
    Operator("borrowed-line", (ast.stmt,), borrowed),
    Operator("missing-super", (ast.stmt,), base_class),
    Operator("missing-attribute", (ast.stmt,), attribute),
    Operator("missing-seed", (ast.Assign,), seed),
    Operator("missing-progress", (ast.stmt,), progress),
)
