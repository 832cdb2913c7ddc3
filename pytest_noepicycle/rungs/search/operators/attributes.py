"""Slips in attributes and methods: the wrong one, one that is not called, a missing `self`."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from pytest_noepicycle.rungs.search.edits import Edit, Operator, shown
from pytest_noepicycle.rungs.search.facts import Function
from pytest_noepicycle.rungs.search.operators.names import OPPOSITES, similarity
from pytest_noepicycle.rungs.search.scope import Scope

_PAIRS: dict[str, tuple[str, ...]] = {
    "append": ("extend", "add", "insert"), "extend": ("append",), "add": ("update", "discard", "append"),
    "update": ("add",), "remove": ("discard", "pop"), "discard": ("remove",), "startswith": ("endswith",),
    "endswith": ("startswith",), "lower": ("upper", "casefold"), "upper": ("lower",), "strip": ("lstrip", "rstrip"),
    "lstrip": ("strip", "rstrip", "removeprefix"), "rstrip": ("strip", "lstrip", "removesuffix"),
    "keys": ("values", "items"), "values": ("keys", "items"), "items": ("values", "keys"),
    "find": ("rfind", "index"), "rfind": ("find",), "index": ("find", "rindex"), "split": ("rsplit", "splitlines",
    "partition"), "rsplit": ("split",), "partition": ("rpartition",), "rpartition": ("partition",), "get":
    ("pop", "setdefault"), "setdefault": ("get",), "popleft": ("pop",), "pop": ("popleft",), "union": ("intersection",
    "update"), "intersection": ("union", "difference"), "difference": ("intersection", "symmetric_difference"),
    "issubset": ("issuperset",), "issuperset": ("issubset",), "isdigit": ("isalpha", "isalnum"), "isalpha":
    ("isalnum", "isdigit"), "isalnum": ("isalpha",), "ljust": ("rjust",), "rjust": ("ljust",), "title":
    ("capitalize",), "capitalize": ("title", "upper"), "match": ("search", "fullmatch"), "search": ("match",),
    "fullmatch": ("match",), "floor": ("ceil",), "ceil": ("floor",), "encode": ("decode",), "decode": ("encode",),
    "read": ("readlines",), "sin": ("cos",), "cos": ("sin",), "min": ("max",), "max": ("min",), "islower":
    ("isupper",), "isupper": ("islower",), "appendleft": ("append",), "days": ("seconds",), "insert": ("append",),
}  # fmt: skip


def wrong_attribute(node: ast.Attribute, scope: Scope) -> Iterator[Edit]:
    """Use the method or attribute that this one is mistaken for, or a similar one the file knows."""
    if node.attr in scope.hints.missing:
        yield from _missing(node, scope)
        return
    for index, name in enumerate(_PAIRS.get(node.attr, ())):
        yield _renamed(node, name, scope, max(0.5, 1.0 - 0.25 * index))
    if isinstance(node.value, ast.Name | ast.Attribute):
        for name in [n for n in OPPOSITES.get(node.attr, ()) if n in scope.attribute_names]:
            yield _renamed(node, name, scope, 1.0)
    if isinstance(node.value, ast.Name):
        near = [(similarity(node.attr, n), n) for n in _known_on(node.value.id, scope) if n != node.attr]
        for weight, name in sorted(near, key=lambda p: (-p[0], p[1]))[:3]:
            yield _renamed(node, name, scope, 0.3 + 0.6 * weight)
        yield from _sibling(node, {name for _, name in near}, scope)


def _sibling(node: ast.Attribute, offered: set[str], scope: Scope) -> Iterator[Edit]:
    """Offer the other values of the classes that hold this one: two fields of a thing are easily taken for another."""
    parent = scope.parents.get(node)
    if not isinstance(node.ctx, ast.Load) or (isinstance(parent, ast.Call) and parent.func is node):
        return
    others = [
        name for name in scope.fellow_values.get(node.attr, ()) if name not in offered and not name.startswith("_")
    ]
    for name in sorted(others, key=lambda n: (-similarity(node.attr, n), n))[:6]:
        yield _renamed(node, name, scope, 0.35 + 0.4 * similarity(node.attr, name))


def _known_on(owner: str, scope: Scope) -> tuple[str, ...]:
    return scope.attributes_on.get(owner, ())


def _missing(node: ast.Attribute, scope: Scope) -> Iterator[Edit]:
    meant = scope.hints.meant.get(node.attr)
    methods = [name for names in _PAIRS.values() for name in names]
    known = [n for n in dict.fromkeys([*scope.attribute_names, *methods]) if n != node.attr]
    ranked = sorted(((1.0 if n == meant else similarity(node.attr, n), n) for n in known), key=lambda p: (-p[0], p[1]))
    if meant and meant not in known:
        ranked.insert(0, (1.0, meant))
    for weight, name in ranked[:5]:
        yield _renamed(node, name, scope, max(0.3, weight))
    for name in _PAIRS.get(node.attr, ()):
        yield _renamed(node, name, scope, 0.9)


def _renamed(node: ast.Attribute, name: str, scope: Scope, likelihood: float) -> Edit:
    end = scope.source.span(node)[1]
    return Edit(end - len(node.attr), end, name, f"`.{node.attr}` → `.{name}`", likelihood)


def uncalled(node: ast.Attribute | ast.Name, scope: Scope) -> Iterator[Edit]:
    """Call a method that is only named."""
    parent = scope.parents.get(node)
    if (isinstance(parent, ast.Call) and parent.func is node) or not isinstance(node.ctx, ast.Load):
        return
    if isinstance(parent, ast.Attribute) and not isinstance(node, ast.Attribute):
        return
    methods = [name for name, function in scope.functions.items() if "property" not in _decorators(function, scope)]
    if isinstance(node, ast.Attribute) and (node.attr in methods or node.attr in _PAIRS):
        yield scope.swap(node, f"{scope.text(node)}()")
    elif isinstance(node, ast.Name) and node.id in methods:
        yield scope.swap(node, f"{node.id}()", 0.4)
    elif isinstance(node, ast.Name) and _decides(node, parent) and node.id in scope.parameters(scope.function(node)):
        others = [n for n in scope.local_names(node) if n not in ("self", "cls", node.id)]
        yield from (scope.swap(node, f"{node.id}({name})", 0.7) for name in others[-2:])


def _decides(node: ast.Name, parent: ast.AST | None) -> bool:
    if isinstance(parent, ast.If | ast.IfExp | ast.While):
        return parent.test is node
    return isinstance(parent, ast.comprehension) and node in parent.ifs


def _decorators(function: Function, scope: Scope) -> str:
    return " ".join(scope.text(decorator) for decorator in function.decorator_list)


def superfluous_call(node: ast.Call, scope: Scope) -> Iterator[Edit]:
    """Take a call away: `f(x)` becomes `x`, `x.f()` becomes `x`, and a property is not called."""
    if len(node.args) == 1 and not node.keywords and not isinstance(node.args[0], ast.Starred):
        yield scope.swap(node, scope.wrapped(node.args[0]), 0.8)
    elif isinstance(node.func, ast.Attribute) and not node.keywords and len(node.args) < 2:
        yield scope.swap(node, scope.text(node.func.value), 0.8)
    if not node.args and not node.keywords:
        yield scope.swap(node, scope.text(node.func), 0.5)


def missing_self(node: ast.Name, scope: Scope) -> Iterator[Edit]:
    """Put `self.` before a name that the object has, or take it from a local one."""
    function = scope.function(node)
    parameters = scope.parameters(function)
    if not parameters or parameters[0] not in ("self", "cls") or node.id in parameters[:1]:
        return
    owned = _known_on(parameters[0], scope)
    if node.id in owned or (node.id in scope.hints.missing and node.id in scope.attribute_names):
        start = scope.source.span(node)[0]
        yield Edit(start, start, f"{parameters[0]}.", f"`{node.id}` → `{parameters[0]}.{node.id}`")


def superfluous_self(node: ast.Attribute, scope: Scope) -> Iterator[Edit]:
    """Use the local variable or parameter in the place of the object's attribute of that name."""
    if isinstance(node.value, ast.Name) and node.value.id == "self" and node.attr in scope.local_names(node):
        yield scope.swap(node, node.attr)


def end_of_pop(node: ast.Call, scope: Scope) -> Iterator[Edit]:
    """Take from the other end: `pop()` and `pop(0)`, `append(x)` and `insert(0, x)`, `sorted` the other way."""
    func = node.func
    name = func.attr if isinstance(func, ast.Attribute) else getattr(func, "id", "")
    argument = scope.text(node.args[0]) if node.args else ""
    head = scope.text(func)
    if name == "pop" and len(node.args) < 2 and not node.keywords and argument in ("", "0", "-1"):
        yield scope.swap(node, f"{head}()" if argument == "0" else f"{head}(0)")
    elif name == "append" and len(node.args) == 1 and isinstance(func, ast.Attribute):
        yield scope.swap(node, f"{scope.text(func.value)}.insert(0, {argument})", 0.5)
    elif name in ("sorted", "sort") and not any(k.arg == "reverse" for k in node.keywords):
        inner = scope.text(node)[len(head) :].strip()[1:-1].rstrip().rstrip(",")
        yield scope.swap(node, f"{head}({inner + ', ' if inner else ''}reverse=True)", 0.8)
    for keyword in node.keywords:
        if keyword.arg == "reverse" and name in ("sorted", "sort"):
            yield scope.swap(keyword, f"reverse=not {scope.wrapped(keyword.value)}", 0.8)


def missing_await(node: ast.Call, scope: Scope) -> Iterator[Edit]:
    """Await a call in an async function."""
    if isinstance(scope.function(node), ast.AsyncFunctionDef) and not isinstance(scope.parents.get(node), ast.Await):
        yield scope.swap(node, f"await {scope.text(node)}", 1.0)


def recursion(node: ast.Yield, scope: Scope) -> Iterator[Edit]:
    """Yield from a call in the place of yielding the call itself, and the other way round."""
    if node.value is not None and not isinstance(node.value, ast.Tuple | ast.Constant):
        text = scope.text(node.value)
        yield scope.swap(node, f"yield from {text}", 1.0 if isinstance(node.value, ast.Call) else 0.5)


def single_yield(node: ast.YieldFrom, scope: Scope) -> Iterator[Edit]:
    """Yield the value itself in the place of its parts."""
    yield scope.swap(node, f"yield {scope.text(node.value)}", 0.7)


def bare_yield(node: ast.Expr, scope: Scope) -> Iterator[Edit]:
    """Yield from a call whose values a generator drops."""
    function = scope.function(node)
    yields = function is not None and any(isinstance(n, ast.Yield | ast.YieldFrom) for n in ast.walk(function))
    if yields and isinstance(node.value, ast.Call):
        start = scope.source.span(node)[0]
        yield Edit(start, start, "yield from ", f"yield from {shown(scope.text(node))}")


OPERATORS = (
    Operator("wrong-attribute", (ast.Attribute,), wrong_attribute),
    Operator("missing-call", (ast.Attribute, ast.Name), uncalled),
    Operator("superfluous-call", (ast.Call,), superfluous_call),
    Operator("missing-self", (ast.Name,), missing_self),
    Operator("superfluous-self", (ast.Attribute,), superfluous_self),
    Operator("other-end", (ast.Call,), end_of_pop),
    Operator("missing-await", (ast.Call,), missing_await),
    Operator("yield-from", (ast.Yield,), recursion),
    Operator("superfluous-yield-from", (ast.YieldFrom,), single_yield),
    Operator("dropped-yield", (ast.Expr,), bare_yield),
)
