"""Slips in calls and signatures: arguments swapped, missing or superfluous, and mutable defaults."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from pytest_noepicycle.rungs.search.edits import Edit, Operator, shown
from pytest_noepicycle.rungs.search.facts import Function
from pytest_noepicycle.rungs.search.operators.names import unused_parameters
from pytest_noepicycle.rungs.search.scope import Scope


def swapped(node: ast.Call, scope: Scope) -> Iterator[Edit]:
    """Swap two neighbouring arguments."""
    for left, right in zip(node.args, node.args[1:], strict=False):
        if isinstance(left, ast.Starred) or isinstance(right, ast.Starred):
            continue
        (start, middle), (gap, end) = scope.source.span(left), scope.source.span(right)
        text = scope.text(right) + scope.source.text[middle:gap] + scope.text(left)
        yield Edit(start, end, text, f"{shown(scope.source.text[start:end])} → {shown(text)}")


def swapped_owner(node: ast.Call, scope: Scope) -> Iterator[Edit]:
    """Swap the object of a method and its argument: `x.f(y)` becomes `y.f(x)`."""
    if isinstance(node.func, ast.Attribute) and len(node.args) == 1 and not node.keywords:
        owner, argument = node.func.value, node.args[0]
        if (
            not isinstance(argument, ast.Starred | ast.GeneratorExp | ast.Lambda)
            and not _is_number(argument)
            and scope.text(owner) not in ("self", "cls")
        ):
            yield scope.swap(node, f"{scope.wrapped(argument)}.{node.func.attr}({scope.text(owner)})")


def _is_number(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, int | float | complex)


def starred(node: ast.Call, scope: Scope) -> Iterator[Edit]:
    """Hand over the parts of an argument, or the argument as a whole: `f(x)` and `f(*x)`."""
    for part in node.args:
        if isinstance(part, ast.Starred):
            yield scope.swap(part, scope.text(part.value))
        elif isinstance(part, ast.Name | ast.Attribute | ast.Call | ast.Subscript):
            yield scope.swap(part, f"*{scope.text(part)}", 0.6)


def empty_default(node: ast.Call, scope: Scope) -> Iterator[Edit]:
    """Give `max` and `min` a default, where the failure says that nothing was there to choose from."""
    named = isinstance(node.func, ast.Name) and node.func.id in ("max", "min")
    if named and scope.hints.empty and not any(k.arg == "default" for k in node.keywords):
        for index, default in enumerate(("0", "None", '""')):
            yield _appended(node, f"default={default}", scope, 1.0 - 0.2 * index)


def superfluous(node: ast.Call, scope: Scope) -> Iterator[Edit]:
    """Leave out an argument."""
    parts: list[ast.expr | ast.keyword] = [*node.args, *node.keywords]
    parts.sort(key=lambda part: scope.source.span(part))
    for index, part in enumerate(parts):
        start, end = scope.source.span(part)
        if index:
            start = scope.source.span(parts[index - 1])[1]
        elif len(parts) > 1:
            end = scope.source.span(parts[1])[0]
        text = scope.source.text[start:end]
        if text.count("(") == text.count(")"):
            yield Edit(start, end, "", f"leave out {shown(text.strip(', '))}", 1.0 if len(parts) > 1 else 0.4)


def missing(node: ast.Call, scope: Scope) -> Iterator[Edit]:
    """Pass one more argument: a parameter of the callee that is in scope, or one that is not used yet."""
    known = scope.local_names(node)
    callee = _callee(node, scope)
    given = {k.arg for k in node.keywords} | {scope.text(a) for a in node.args}
    wanted = [p for p in scope.parameters(callee) if p not in ("self", "cls") and p not in given]
    for name in wanted[:4]:
        if name in known:
            yield _appended(node, f"{name}={name}" if node.keywords or wanted[0] != name else name, scope, 0.65)
        elif f"self.{name}" in scope.source.text and "self" in known:
            yield _appended(node, f"{name}=self.{name}", scope, 1.0 if _makes_its_own(node, scope) else 0.6)
    for name in [p for p in scope.parameters(scope.function(node)) if p in unused_parameters(node, scope) - {"self"}][
        :2
    ]:
        if not _is_starred(name, scope.function(node)):
            yield _appended(node, name, scope, 0.55)
    yield from _passed_on(node, scope)
    callable_name = scope.text(node.func).rpartition(".")[2]
    if callable_name in _DEFAULTS:
        for text in _DEFAULTS[callable_name]:
            yield _appended(node, text, scope, 0.45)


def _passed_on(node: ast.Call, scope: Scope) -> Iterator[Edit]:
    """Pass on `*args` and `**kwargs` that a function takes and reads nowhere."""
    function = scope.function(node)
    if function is not None:
        unused = unused_parameters(node, scope)
        for stars, argument in (("*", function.args.vararg), ("**", function.args.kwarg)):
            if argument is not None and argument.arg in unused:
                yield _appended(node, f"{stars}{argument.arg}", scope, 0.9)


_DEFAULTS = {
    "enumerate": ("1", "start=1"), "sum": ("0",), "get": ("0", "None", '""', "[]"), "split": ("1", '","', '" "'),
    "rsplit": ("1",), "next": ("None",), "round": ("2",), "int": ("2", "16"), "zip": ("strict=True",),
    "replace": ("1",), "pop": ("None",), "splitlines": ("True",), "getattr": ("None",),
}  # fmt: skip


def _is_starred(name: str, function: Function | None) -> bool:
    arguments = function.args if function else None
    return arguments is not None and name in {a.arg for a in (arguments.vararg, arguments.kwarg) if a is not None}


def _makes_its_own(node: ast.Call, scope: Scope) -> bool:
    """Whether a method makes another object of its own class: that one is likely to get what this one has."""
    owner = scope.class_of(node)
    return owner is not None and scope.text(node.func) in (owner.name, "type(self)", "self.__class__", "cls")


def _appended(node: ast.Call, text: str, scope: Scope, likelihood: float) -> Edit:
    inside = [*node.args, *node.keywords]
    close = scope.source.span(node)[1] - 1
    at = max((scope.source.span(part)[1] for part in inside), default=close)
    added = f", {text}" if inside else text
    if len(node.args) == 1 and isinstance(node.args[0], ast.GeneratorExp) and not node.keywords:
        start, end = scope.source.span(node.args[0])
        if scope.source.text[end - 1 : end] == ")" and end - 1 == close:
            inner = scope.source.text[start + 1 : end - 1]
            return Edit(start, end, f"(({inner}), {text})", f"pass `{text}` too", likelihood)
    return Edit(at, at, added, f"pass `{text}` too", likelihood)


def _callee(node: ast.Call, scope: Scope) -> Function | None:
    name = scope.text(node.func).rpartition(".")[2]
    classes = [n for n in scope.tree.body if isinstance(n, ast.ClassDef) and n.name == name]
    made = [m for c in classes for m in c.body if isinstance(m, Function) and m.name == "__init__"]
    return made[0] if made else scope.functions.get(name)


def wrong_keyword(node: ast.Call, scope: Scope) -> Iterator[Edit]:
    """Name another parameter of the callee."""
    wanted = [p for p in scope.parameters(_callee(node, scope)) if p not in {k.arg for k in node.keywords}]
    for keyword in node.keywords:
        for name in [p for p in wanted if p not in ("self", "cls")][:4]:
            if keyword.arg:
                start = scope.source.span(keyword)[0]
                yield Edit(start, start + len(keyword.arg), name, f"`{keyword.arg}=` → `{name}=`")


def mutable_default(node: ast.FunctionDef | ast.AsyncFunctionDef, scope: Scope) -> Iterator[Edit]:
    """Make a fresh list, set or mapping at each call, where all calls share the default."""
    positional = [*node.args.posonlyargs, *node.args.args]
    pairs = list(zip(positional[len(positional) - len(node.args.defaults) :], node.args.defaults, strict=True))
    pairs += [(a, d) for a, d in zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True) if d is not None]
    body = [s for s in node.body if not _is_docstring(s)] or node.body
    indent = scope.indent(body[0])
    for argument, default in pairs:
        made = isinstance(default, ast.Call) and scope.text(default.func).rpartition(".")[2] in _MUTABLE
        if not (made or isinstance(default, ast.List | ast.Dict | ast.Set)) or indent is None:
            continue
        start, end = scope.source.span(default)
        at = scope.source.line_start(body[0].lineno)
        guard = f"{indent}if {argument.arg} is None:\n{indent}{scope.step}{argument.arg} = {scope.text(default)}\n"
        text = "None" + scope.source.text[end:at] + guard
        yield Edit(start, at, text, f"a fresh `{scope.text(default)}` for `{argument.arg}` at each call")


_MUTABLE = ("list", "dict", "set", "bytearray", "deque", "defaultdict", "Counter", "OrderedDict")


def default_value(node: ast.FunctionDef | ast.AsyncFunctionDef, scope: Scope) -> Iterator[Edit]:
    """Give a parameter another default, or one at all."""
    for argument in node.args.args[::-1]:
        after = scope.source.span(argument)[1]
        if argument.arg in scope.hints.missing and argument.arg != "self":
            for text in ("None", "0", "1", '""'):
                yield Edit(after, after, f"={text}", f"`{argument.arg}` → `{argument.arg}={text}`")
    for name in sorted(scope.hints.missing):
        if "TypeError" in scope.hints.raised and name in _unknown_keywords(node, scope):
            for argument in node.args.args:
                if argument.arg not in ("self", "cls"):
                    yield scope.swap(argument, name, 0.3)


def _unknown_keywords(node: Function, scope: Scope) -> frozenset[str]:
    read = {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}
    return scope.hints.missing & read - set(scope.parameters(node))


def _is_docstring(statement: ast.stmt) -> bool:
    return (
        isinstance(statement, ast.Expr)
        and isinstance(statement.value, ast.Constant)
        and isinstance(statement.value.value, str)
    )


OPERATORS = (
    Operator("swapped-arguments", (ast.Call,), swapped),
    Operator("swapped-owner", (ast.Call,), swapped_owner),
    Operator("starred-argument", (ast.Call,), starred),
    Operator("empty-default", (ast.Call,), empty_default),
    Operator("superfluous-argument", (ast.Call,), superfluous),
    Operator("missing-argument", (ast.Call,), missing),
    Operator("wrong-keyword", (ast.Call,), wrong_keyword),
    Operator("mutable-default", (ast.FunctionDef, ast.AsyncFunctionDef), mutable_default),
    Operator("default-value", (ast.FunctionDef, ast.AsyncFunctionDef), default_value),
)
