"""Slips in what a value is: the wrong slice, a key that may be missing, a missing copy or conversion."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from pytest_noepicycle.rungs.search.edits import Edit, Operator
from pytest_noepicycle.rungs.search.operators.names import unused_parameters
from pytest_noepicycle.rungs.search.scope import Scope

_WRAPS = ("str", "int", "list", "sorted", "abs", "float", "set", "len", "tuple", "reversed", "round", "bool", "sum")
_LIKELY = {"TypeError": ("str", "int", "list", "float", "tuple"), "AttributeError": ("str", "list")}


def dictionary(node: ast.Subscript, scope: Scope) -> Iterator[Edit]:
    """Ask a mapping with `get`, where a key may be missing."""
    if isinstance(node.slice, ast.Slice | ast.Tuple) or not isinstance(node.ctx, ast.Load):
        return
    owner, key = scope.text(node.value), scope.text(node.slice)
    likely = 1.0 if "KeyError" in scope.hints.raised else 0.3
    for index, default in enumerate(("", ", 0", ", []", ', ""', ", {}")):
        yield scope.swap(node, f"{owner}.get({key}{default})", likely * (1.0 - 0.1 * index))


def accessed(node: ast.Call, scope: Scope) -> Iterator[Edit]:
    """Ask a mapping directly in the place of `get`, or with another default."""
    if not isinstance(node.func, ast.Attribute) or node.func.attr != "get" or not node.args or node.keywords:
        return
    owner, key = scope.text(node.func.value), scope.text(node.args[0])
    yield scope.swap(node, f"{owner}[{key}]")
    given = scope.text(node.args[1]) if len(node.args) > 1 else "None"
    for default in ("0", "[]", '""', "1", "{}", key):
        if default != given:
            yield scope.swap(node, f"{owner}.get({key}, {default})", 0.6)


def grown_entry(node: ast.AugAssign, scope: Scope) -> Iterator[Edit]:
    """Begin at zero, where an entry of a mapping is counted up that may be missing."""
    target = node.target
    if isinstance(target, ast.Subscript) and isinstance(node.op, ast.Add) and not isinstance(target.slice, ast.Slice):
        owner, key, value = scope.text(target.value), scope.text(target.slice), scope.text(node.value)
        weight = 1.0 if "KeyError" in scope.hints.raised else 0.2
        yield scope.swap(node, f"{owner}[{key}] = {owner}.get({key}, 0) + {value}", weight)


def slicing(node: ast.Subscript, scope: Scope) -> Iterator[Edit]:
    """Slice otherwise: without a bound, from the second, up to the last but one, backwards."""
    part = node.slice
    if not isinstance(part, ast.Slice):
        yield from _index(node, scope)
        return
    lower, upper, step = (scope.text(p) if p else "" for p in (part.lower, part.upper, part.step))
    tail = f":{step}" if step else ""
    forms: dict[str, float] = {f":{upper}{tail}": 0.7, f"{lower}:{tail}": 0.7, f"{upper}:{lower}{tail}": 0.6}
    if not lower:
        forms[f"1:{upper}{tail}"] = 0.8
    if not upper:
        forms[f"{lower}:-1{tail}"] = 0.7
    forms[f"{lower}:{upper}:-1"] = 0.5 if not step else 0.9 if step == "1" else 0.3
    if step:
        forms |= {
            f"{lower}:{upper}": 0.6,
            f"{lower}:{upper}:-{step.lstrip('-')}": 0.6,
            f"{lower}:{upper}:{step[1:]}": 0.3,
        }
    for text, weight in forms.items():
        if text.strip(": ") or text.count(":"):
            yield scope.swap(node, f"{scope.text(node.value)}[{text}]", weight)
    if isinstance(node.ctx, ast.Load):
        yield scope.swap(node, scope.text(node.value), 0.5)


def _index(node: ast.Subscript, scope: Scope) -> Iterator[Edit]:
    index = scope.text(node.slice)
    instead = {"0": ("-1", "1"), "1": ("0", "-1"), "-1": ("0", "-2"), "2": ("1",), "-2": ("-1",)}.get(index, ())
    for new in instead:
        yield scope.swap(node.slice, new)
    if isinstance(node.slice, ast.Name | ast.BinOp) and isinstance(node.ctx, ast.Load):
        yield scope.swap(node.slice, f"-{scope.wrapped(node.slice)}", 0.3)


def missing_copy(node: ast.expr, scope: Scope) -> Iterator[Edit]:
    """Copy a value that is stored, returned or looped over, so that a change does not reach it."""
    parent = scope.parents.get(node)
    if not isinstance(node, ast.Name | ast.Attribute | ast.Subscript) or isinstance(node.ctx, ast.Store):
        return
    kept = isinstance(parent, ast.Assign | ast.Return) and parent.value is node
    looped = isinstance(parent, ast.For) and parent.iter is node
    handed = isinstance(parent, ast.Call) and node in parent.args and isinstance(parent.func, ast.Attribute)
    if kept or looped or (handed and parent.func.attr in ("append", "add", "insert")):  # type: ignore[union-attr]
        shared = isinstance(parent, ast.Assign) and isinstance(parent.targets[0], ast.Attribute | ast.Subscript)
        weight = 1.1 if shared else 0.6 if kept else 1.0
        first, second = ("dict", "list") if _is_mapping(node, scope) else ("list", "dict")
        yield scope.swap(node, f"{first}({scope.text(node)})", weight)
        yield scope.swap(node, f"{second}({scope.text(node)})", 0.5 * weight)
        yield scope.swap(node, f"{scope.text(node)}.copy()", 0.4 * weight)


def _is_mapping(node: ast.expr, scope: Scope) -> bool:
    """Whether the file sets that name to a mapping somewhere."""
    return scope.text(node) in scope.mappings


def conversion(node: ast.expr, scope: Scope) -> Iterator[Edit]:
    """Convert a value: to text, a number, a list, or in order."""
    parent = scope.parents.get(node)
    if isinstance(node, ast.Constant | ast.UnaryOp | ast.Compare | ast.BoolOp | ast.Lambda | ast.Starred):
        return
    if not isinstance(getattr(node, "ctx", ast.Load()), ast.Load) or not _is_value(node, parent):
        return
    unused = [n for n in unused_parameters(node, scope) if n not in ("self", "cls")]
    for name in unused[:2]:
        yield scope.swap(node, f"{name}({scope.text(node)})", 0.8)
    likely = [w for e in sorted(scope.hints.raised) for w in _LIKELY.get(e, ())]
    likely += ["sorted"] if scope.hints.reordered else []
    already = scope.text(parent.func) if isinstance(parent, ast.Call) else ""
    for index, name in enumerate(dict.fromkeys([*likely, *_WRAPS])):
        if name != already and not scope.text(node).startswith(f"{name}("):
            collected = isinstance(parent, ast.ListComp | ast.GeneratorExp) and name in ("str", "int", "float")
            weight = 1.0 if name in likely else 0.85 if collected else max(0.25, 0.6 - 0.03 * index)
            yield scope.swap(node, f"{name}({scope.text(node)})", weight)
    if isinstance(node, ast.Call | ast.Name | ast.ListComp) and isinstance(parent, ast.Return | ast.Assign):
        yield scope.swap(node, f'"".join({scope.text(node)})', 0.7 if "TypeError" in scope.hints.raised else 0.4)


def _is_value(node: ast.expr, parent: ast.AST | None) -> bool:
    if isinstance(parent, ast.ListComp | ast.SetComp | ast.GeneratorExp):
        return parent.elt is node
    if isinstance(parent, ast.Return | ast.Assign | ast.For | ast.comprehension | ast.BinOp | ast.Compare | ast.Dict):
        return not isinstance(parent, ast.For | ast.comprehension) or parent.iter is node
    if isinstance(parent, ast.Call):
        return node in parent.args
    return isinstance(parent, ast.Subscript) and parent.slice is node and not isinstance(node, ast.Slice | ast.Tuple)


def method(node: ast.expr, scope: Scope) -> Iterator[Edit]:
    """Call a tidying method on a text: strip, lower, split."""
    parent = scope.parents.get(node)
    texty = {"strip", "lower", "upper", "split", "splitlines", "replace", "startswith", "endswith", "join"}
    texty |= {"isalpha", "isdigit", "isalnum", "isupper", "islower", "isspace", "title", "capitalize"}
    if not texty & set(scope.attribute_names) and not scope.hints.fragments:
        return
    loaded = isinstance(getattr(node, "ctx", ast.Load()), ast.Load)
    asked = (isinstance(parent, ast.UnaryOp) and isinstance(parent.op, ast.Not)) or isinstance(
        parent, ast.If | ast.While
    )
    plain = isinstance(node, ast.Name | ast.Call | ast.Attribute | ast.Subscript)
    if loaded and plain and (asked or _is_value(node, parent)):
        weights = {"strip": scope.hints.blanks_differ, "lower": scope.hints.case_differs, "upper": False}
        for name, hinted in weights.items():
            yield scope.swap(node, f"{scope.text(node)}.{name}()", 1.0 if hinted else 0.4)


OPERATORS = (
    Operator("key-may-be-missing", (ast.Subscript,), dictionary),
    Operator("wrong-default", (ast.Call,), accessed),
    Operator("first-count", (ast.AugAssign,), grown_entry),
    Operator("slice", (ast.Subscript,), slicing),
    Operator("missing-copy", (ast.expr,), missing_copy),
    Operator("missing-conversion", (ast.expr,), conversion),
    Operator("missing-method", (ast.expr,), method),
)
