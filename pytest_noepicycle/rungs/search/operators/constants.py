"""Slips in literals: a number that is one off, the wrong truth value, a string with the wrong letter."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from itertools import pairwise

from pytest_noepicycle.rungs.search.edits import Edit, Operator, shown
from pytest_noepicycle.rungs.search.operators.names import similarity
from pytest_noepicycle.rungs.search.scope import Scope


def number(node: ast.Constant, scope: Scope) -> Iterator[Edit]:
    """Change a number by one, to 0, 1 or -1, or by the amount by which a result was off."""
    value = node.value
    if isinstance(value, bool) or not isinstance(value, int | float):
        return
    near = {_spelled(value + step): _step_weight(value, step, scope) for step in reversed(scope.hints.steps[:3])}
    for other, weight in ((value + 1, 1.0), (value - 1, 1.0), (0, 0.6), (1, 0.6), (-1, 0.4), (2, 0.3)):
        near.setdefault(_spelled(other), weight)
    for other in scope.numbers_near(node, value):
        near.setdefault(_spelled(other), 0.4)
    if value:
        for other, weight in ((value * 10, 0.3), (value / 10, 0.3)):
            near.setdefault(_spelled(other), weight)
    echoed = {_spelled(e) for a, e in scope.hints.pairs if a == value and isinstance(e, int | float)}
    signed = isinstance(scope.parents.get(node), ast.UnaryOp)
    for text, weight in near.items():
        if text != scope.text(node) and not (signed and text.startswith("-")):
            weight *= 0.4 if text == "2" and _is_step(node, scope) else 1.0
            weight *= 0.3 if text in echoed else 1.0  # the test sees this very constant: its own value proves little
            yield scope.swap(node, text, weight if isinstance(value, int) or "." in text else weight * 0.5)


def _is_step(node: ast.Constant, scope: Scope) -> bool:
    """Whether a one is added or taken away: a step of two is seldom what was meant."""
    parent = scope.parents.get(node)
    return (
        node.value == 1 and isinstance(parent, ast.AugAssign | ast.BinOp) and isinstance(parent.op, ast.Add | ast.Sub)
    )


def _step_weight(value: float, step: int, scope: Scope) -> float:
    """Judge a change by what a result was off: a large one, or one that yields what a test expects, is seldom meant."""
    if abs(step) == 1:
        return 1.0
    expected = any(value + step == e for _, e in scope.hints.pairs if not isinstance(e, str | bool))
    return (0.3 if expected else 0.6) * (1.0 if abs(step) <= max(3, abs(value)) else 0.15)


def _spelled(value: float) -> str:
    return repr(int(value)) if float(value).is_integer() and abs(value) < 10**15 else repr(value)


def truth_value(node: ast.Constant, scope: Scope) -> Iterator[Edit]:
    """Swap True and False."""
    if isinstance(node.value, bool):
        yield scope.swap(node, "False" if node.value else "True")


def initial_value(node: ast.expr, scope: Scope) -> Iterator[Edit]:
    """Begin with another neutral value: None, 0, 1, an empty text, list or mapping, infinity."""
    parent = scope.parents.get(node)
    if not isinstance(parent, ast.Assign | ast.Return | ast.AnnAssign) or parent.value is not node:
        return
    text = scope.text(node)
    if text not in ("None", "0", "1", '""', "''", "[]", "{}", "()", "set()", "0.0", "-1", "False", "True"):
        return
    for new in ("None", "0", "[]", "{}", '""', "1", "set()", 'float("inf")', 'float("-inf")', "True", "False"):
        if new != text and not (text == "''" and new == '""'):
            yield scope.swap(node, new, 1.0 if new in ("None", "0", "[]", "1", '""') else 0.6)
    function = scope.function(node)
    for name in [p for p in scope.parameters(function) if p not in ("self", "cls")][:2]:
        if isinstance(parent, ast.Assign) and text in ("None", "0", "0.0", "-1", "1"):
            yield scope.swap(node, f"{name}[0]", 1.0)


def expected_value(node: ast.Constant, scope: Scope) -> Iterator[Edit]:
    """Take the value that a failing comparison expected, where the same kind of literal stands."""
    parent = scope.parents.get(node)
    if isinstance(parent, ast.Compare | ast.Expr | ast.Subscript | ast.Slice):
        return  # a comparison with a literal of the test would only special-case it
    for actual, expected in scope.hints.pairs:
        for old, new, weight in ((actual, expected, 1.0), (expected, actual, 0.5)):
            telling = not isinstance(old, int) or isinstance(old, bool) or abs(old) > 2  # a 1 is 1 by chance
            if telling and type(node.value) is type(old) is type(new) and node.value == old and new not in ("", None):
                yield scope.swap(node, repr(new), weight if isinstance(new, str) else weight * 0.5)


def string(node: ast.Constant | ast.JoinedStr, scope: Scope) -> Iterator[Edit]:
    """Change the piece of a string literal in which compared texts differ."""
    literal = scope.text(node)
    documents = isinstance(scope.parents.get(node), ast.Expr)
    if documents or literal[-1:] not in ("'", '"') or isinstance(getattr(node, "value", ""), bytes):
        return
    quote = min(p for p in (literal.find('"'), literal.find("'")) if p >= 0)
    inner = literal[quote:]
    width = 3 if inner[:3] in ('"""', "'''") else 1
    body = inner[width:-width]
    plain = _variants(body, scope) if isinstance(node, ast.Constant) else ()
    for new, weight in (*_hinted(body, scope), *plain):
        if new != body and all(new.count(mark) == body.count(mark) for mark in (inner[0], "\n", "{", "}")):
            text = literal[: quote + width] + new + literal[-width:]
            yield scope.swap(node, text, weight)


def _hinted(body: str, scope: Scope) -> Iterator[tuple[str, float]]:
    for old, new in scope.hints.fragments[:6]:
        for this, that, weight in ((old, new, 1.0), (new, old, 0.6)):
            if this and this in body and (len(this) > 2 or not (this + that).isalnum() or this == body):
                yield body.replace(this, that, 1), weight
                yield body.replace(this, that), weight * 0.8
            elif not this:
                yield from ((body + that, weight * 0.8), (that + body, weight * 0.7))


def _variants(body: str, scope: Scope) -> Iterator[tuple[str, float]]:
    """Vary case, white space and separators."""
    if body and "\\" not in body:
        for new in (body.lower(), body.upper(), body.capitalize(), body.title()):
            yield new, 0.4
    for new in (body.strip(), body + " ", " " + body):
        yield new, 0.4
    for old, other in (
        ("ascii", "utf-8"),
        ("latin-1", "utf-8"),
        ("utf-8", "utf-8-sig"),
        ("-", "_"),
        ("_", "-"),
        (",", ", "),
        (", ", ","),
        (",", ";"),
        (".", ","),
        ("/", "-"),
    ):
        if old in body:
            yield body.replace(old, other), 0.4
    if len(body) <= 2 and not body.isalnum():
        seen = "".join(a + b for a, b in scope.hints.fragments)
        for new in _SEPARATORS:
            meant = new.replace("\\n", "\n").replace("\\t", "\t")
            yield new, 0.9 if meant and meant in seen else 0.25


def other_text(node: ast.Constant, scope: Scope) -> Iterator[Edit]:
    """Use another short text that the file uses, the most similar and the nearest first."""
    if not isinstance(node.value, str) or isinstance(scope.parents.get(node), ast.Expr | ast.JoinedStr):
        return
    own = scope.texts.get(node.value, node.lineno)
    known = [(-similarity(node.value, text), abs(line - own), text) for text, line in scope.texts.items()]
    for likeness, _, text in [k for k in sorted(known) if k[2] != node.value][:4]:
        yield scope.swap(node, repr(text), 0.6 - 0.4 * likeness)


def swapped_fields(node: ast.JoinedStr, scope: Scope) -> Iterator[Edit]:
    """Swap two neighbouring values of an f-string."""
    values = [v.value for v in node.values if isinstance(v, ast.FormattedValue)]
    shown_values = set(scope.own_nodes(node))
    for left, right in pairwise(values):
        if left in shown_values and right in shown_values:
            (start, middle), (gap, end) = scope.source.span(left), scope.source.span(right)
            text = scope.text(right) + scope.source.text[middle:gap] + scope.text(left)
            yield Edit(start, end, text, f"{shown(scope.text(left))} and {shown(scope.text(right))} swapped")


_SEPARATORS = (",", ";", " ", "", ":", "-", "_", "|", "\\n", ".", "/", "=", ", ", "\\t")


def pattern(node: ast.Constant, scope: Scope) -> Iterator[Edit]:
    """Change a regular expression or a format: a quantifier, an anchor, a class."""
    documents = isinstance(scope.parents.get(node), ast.Expr)
    if documents or not isinstance(node.value, str) or not any(mark in node.value for mark in "\\+*[^$%"):
        return
    literal = scope.text(node)
    swaps = (
        ("+", "*"),
        ("*", "+"),
        ("\\d", "\\w"),
        ("\\w", "\\d"),
        ("\\s", "\\S"),
        ("+", ""),
        ("^", ""),
        ("$", ""),
        ("%m", "%M"),
        ("%M", "%m"),
        ("%y", "%Y"),
        ("%Y", "%y"),
        ("%d", "%s"),
        ("[^", "["),
        (".*", ".*?"),
    )
    for old, new in swaps:
        if old in literal:
            yield scope.swap(node, literal.replace(old, new, 1))
    for place in [m.end() for m in re.finditer(r"\]|\\[dws]", literal) if literal[m.end() : m.end() + 1] not in "+*?{"]:
        yield scope.swap(node, f"{literal[:place]}+{literal[place:]}", 0.9)
    if literal[-1:] in "\"'" and not node.value.endswith("$"):
        yield scope.swap(node, literal[:-1] + "$" + literal[-1:], 0.5)


OPERATORS = (
    Operator("number", (ast.Constant,), number),
    Operator("truth-value", (ast.Constant,), truth_value),
    Operator("initial-value", (ast.expr,), initial_value),
    Operator("expected-value", (ast.Constant,), expected_value),
    Operator("string", (ast.Constant, ast.JoinedStr), string),
    Operator("other-text", (ast.Constant,), other_text),
    Operator("swapped-fields", (ast.JoinedStr,), swapped_fields),
    Operator("pattern", (ast.Constant,), pattern),
)
