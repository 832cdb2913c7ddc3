"""A missing guard: what an exception says was not thought of, returned early or raised as the test wants."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from pytest_noepicycle.rungs.search.edits import Edit, Operator
from pytest_noepicycle.rungs.search.facts import Function
from pytest_noepicycle.rungs.search.scope import Scope

_EMPTY = frozenset(
    {"IndexError", "ZeroDivisionError", "ValueError", "StopIteration", "RecursionError", "StatisticsError"}
)
_NONE = frozenset({"TypeError", "AttributeError"})
_NEUTRAL = ("None", "[]", "0", '""', "{}", "False", "True")
_EXCEPTIONS = ("ValueError", "TypeError", "KeyError", "IndexError", "AttributeError", "RuntimeError",
               "NotImplementedError", "ZeroDivisionError", "LookupError", "StopIteration")  # fmt: skip


def missing_guard(node: ast.stmt, scope: Scope) -> Iterator[Edit]:
    """Return early for an empty value, zero or None, as the exception suggests."""
    function = scope.function(node)
    crash = scope.crash(node)
    if function is None or node is function or crash not in _EMPTY | _NONE | {"KeyError", "UnboundLocalError"}:
        return
    for weight, name in _involved(node, function, scope):
        tests = [f"{name} is None"] if crash in _NONE else [f"not {name}"]
        for test in tests:
            for index, neutral in enumerate(_neutral(function, scope)):
                lines = (f"if {test}:", f"{scope.step}return {neutral}")
                yield from scope.insert_before(node, lines, weight * max(0.3, 1.0 - 0.12 * index))


def base_case(node: ast.stmt, scope: Scope) -> Iterator[Edit]:
    """Return early at the top of a function for an empty, zero or missing parameter."""
    function = scope.function(node)
    if function is None or node is function or node is not _first(function):
        return
    failed = scope.hints.raised - {"AssertionError", "Failed"}
    for name in [p for p in scope.parameters(function) if p not in ("self", "cls")][:3]:
        for place, test in enumerate(_tests_for(name, function, scope)):
            for index, neutral in enumerate(_ends(name, function, scope)):
                weight = max(0.2, 1.0 - 0.15 * index - 0.2 * place) * (1.0 if failed else 0.4)
                yield from scope.insert_before(node, (f"if {test}:", f"{scope.step}return {neutral}"), weight)


def _ends(name: str, function: Function, scope: Scope) -> list[str]:
    recursive = ["1", name, "0"] if "RecursionError" in scope.hints.raised else []
    return list(dict.fromkeys([*recursive, *_neutral(function, scope)[:6], name]))


def _tests_for(name: str, function: Function, scope: Scope) -> list[str]:
    """Return when to end early: for endless recursion where it should have ended, else for nothing at all."""
    if "RecursionError" in scope.hints.raised:
        text = scope.text(function)
        measured = f"len({name})" in text or f"{name}[" in text
        return [f"len({name}) <= 1", f"not {name}"] if measured else [f"{name} <= 1", f"{name} <= 0", f"not {name}"]
    if scope.hints.raised & _NONE:
        return [f"{name} is None", f"not {name}"]
    return [f"not {name}"]


def _first(function: Function) -> ast.stmt | None:
    body = function.body
    documented = isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant)
    return body[1] if documented and len(body) > 1 else body[0]


def _involved(node: ast.stmt, function: Function, scope: Scope) -> list[tuple[float, str]]:
    names = [n.id for n in scope.own_nodes(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)]
    known = scope.local_names(node)
    called = {n.func.id for n in scope.own_nodes(node) if isinstance(n, ast.Call) and isinstance(n.func, ast.Name)}
    found = [n for n in dict.fromkeys(names) if n in known and n not in called and n not in ("self", "cls")]
    return [(1.0 if name in scope.parameters(function) else 0.9, name) for name in found[:3]]


def _neutral(function: Function, scope: Scope) -> list[str]:
    """Rank what to return: what the failures expected, what the function returns elsewhere, then the neutral ones."""
    expected = [repr(b) for a, b in scope.hints.pairs if b in (None, 0, 1, "", False, True)]
    elsewhere = [
        scope.text(n.value)
        for n in ast.walk(function)
        if isinstance(n, ast.Return) and isinstance(n.value, ast.Constant | ast.List | ast.Dict | ast.Tuple)
    ]
    short = [text for text in elsewhere if len(text) < 12]
    kind = [text for head, text in _KINDS.items() if any(text_starts(s, head, scope) for s in ast.walk(function))]
    return list(dict.fromkeys([*expected, *short, *kind, *_NEUTRAL]))


_KINDS = {"[": "[]", "{": "{}", '"': '""', "'": '""', "sum(": "0", "len(": "0", "0": "0", "0.0": "0.0"}


def text_starts(node: ast.AST, head: str, scope: Scope) -> bool:
    """Whether a returned or first assigned value begins with that text."""
    valued = isinstance(node, ast.Return | ast.Assign) and node.value is not None
    return valued and scope.text(node.value).startswith(head)  # type: ignore[attr-defined]


def missing_raise(node: ast.stmt, scope: Scope) -> Iterator[Edit]:
    """Raise the exception that a test waits for, where a parameter is empty, negative or None."""
    function = scope.function(node)
    wanted = [w for w in scope.hints.unraised if w in _EXCEPTIONS]
    if function is None or node is not _first(function) or not wanted:
        return
    for index, name in enumerate([p for p in scope.parameters(function) if p not in ("self", "cls")][:3]):
        for place, test in enumerate((f"not {name}", f"{name} < 0", f"{name} is None", f"{name} <= 0")):
            for exception in wanted[:2]:
                reason = ("must not be empty", "must not be negative", "must be given", "must be positive")[place]
                lines = (f"if {test}:", f'{scope.step}raise {exception}("{name} {reason}")')
                yield from scope.insert_before(node, lines, max(0.3, 1.0 - 0.1 * index - 0.1 * place))


def wrong_exception(node: ast.Raise | ast.ExceptHandler, scope: Scope) -> Iterator[Edit]:
    """Raise or catch another exception, those first that the failure names."""
    kind = node.type if isinstance(node, ast.ExceptHandler) else node.exc
    name = kind.func if isinstance(kind, ast.Call) else kind
    if not isinstance(name, ast.Name):
        return
    raised = sorted(scope.hints.raised & set(_EXCEPTIONS))
    first = raised if isinstance(node, ast.ExceptHandler) else list(scope.hints.wanted)
    for other in dict.fromkeys([*first, *_EXCEPTIONS[:4]]):
        if other != name.id:
            yield scope.swap(name, other, 1.0 if other in first else 0.3)
    if isinstance(node, ast.ExceptHandler):
        for other in raised:
            if other != name.id:
                yield scope.swap(name, f"({name.id}, {other})", 0.8)


def swallowed(node: ast.Return | ast.Pass, scope: Scope) -> Iterator[Edit]:
    """Let an exception through that a handler hides."""
    if scope.hints.wanted and isinstance(scope.parents.get(node), ast.ExceptHandler):
        yield scope.swap(node, "raise")


OPERATORS = (
    Operator("missing-guard", (ast.stmt,), missing_guard),
    Operator("missing-base-case", (ast.stmt,), base_case),
    Operator("missing-raise", (ast.stmt,), missing_raise),
    Operator("wrong-exception", (ast.Raise, ast.ExceptHandler), wrong_exception),
    Operator("hidden-exception", (ast.Return, ast.Pass), swallowed),
)
