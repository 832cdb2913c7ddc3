"""What in a source answers literally: branches that compare with a literal, and rows of literal tables."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from pytest_noepicycle.domain.literals import Names, leaves, plain

RAISES = "raises:"


@dataclass(frozen=True, slots=True)
class Branch:
    """A comparison with literals, and the literals that follow from it."""

    line: int
    subject: str
    inputs: frozenset[str]
    answers: frozenset[str]
    known: bool = False  # it stands in a table or chain that the project had already


Rows = Mapping[tuple[tuple[str, ...], str], int]
"""A literal table: the leaves of each key and its answer, with the line."""


@dataclass(frozen=True, slots=True)
class Source:
    """What of a source matters here: its literals, its branches over them, and its tables."""

    literals: Counter[str] = field(default_factory=Counter)
    branches: tuple[Branch, ...] = ()
    tables: tuple[Rows, ...] = ()

    @classmethod
    def of(cls, tree: ast.Module) -> Source:
        """Read a parsed source."""
        return cls(literals_of(tree), tuple(_branches(tree)), tuple(rows for rows in _tables(tree) if rows))


def literals_of(tree: ast.Module) -> Counter[str]:
    return Counter(repr(node.value) for node in ast.walk(tree) if isinstance(node, ast.Constant))


def _branches(tree: ast.Module) -> Iterator[Branch]:
    names = Names.of(tree)
    for function, node in _with_function(tree, ""):
        if isinstance(node, ast.If):
            yield from _compared(function, node, node.test, _answers(node.body, names), names)
        elif isinstance(node, ast.IfExp):
            yield from _compared(function, node, node.test, _values([node.body], names), names)
        elif isinstance(node, ast.Match):
            for case in node.cases:
                inputs = _patterns(case.pattern)
                subject = f"{function}|{ast.unparse(node.subject)}"
                yield Branch(case.pattern.lineno, subject, inputs, _answers(case.body, names))
        elif isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Compare):
            yield from _compared(function, node, node.slice, _chosen(node.value, names), names)


def _with_function(node: ast.AST, function: str) -> Iterator[tuple[str, ast.AST]]:
    """Yield every node with the dotted name of the function that it stands in."""
    for child in ast.iter_child_nodes(node):
        scope = function
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            scope = f"{function}.{child.name}"
        yield scope, child
        yield from _with_function(child, scope)


def _compared(function: str, node: ast.AST, test: ast.expr, answers: frozenset[str], names: Names) -> Iterator[Branch]:
    """Yield a branch for the comparisons with literals in a test, where the other side is not computed."""
    inputs: set[str] = set()
    subjects: list[str] = []
    for compare in (n for n in ast.walk(test) if isinstance(n, ast.Compare)):
        for left, operator, right in _pairs(compare):
            if isinstance(operator, ast.Eq | ast.Is | ast.In):
                for literal, other in ((right, left), (left, right)):
                    found = _leaves_of(literal, names)
                    if found and not any(isinstance(n, ast.BinOp) for n in ast.walk(other)):
                        inputs |= found
                        subjects.append(ast.unparse(other))
                        break
    if inputs and answers:
        yield Branch(getattr(node, "lineno", 1), f"{function}|{'|'.join(subjects)}", frozenset(inputs), answers)


def _pairs(compare: ast.Compare) -> Iterator[tuple[ast.expr, ast.cmpop, ast.expr]]:
    left = compare.left
    for operator, right in zip(compare.ops, compare.comparators, strict=True):
        yield left, operator, right
        left = right


def _leaves_of(node: ast.expr, names: Names) -> frozenset[str]:
    try:
        return leaves(names.literal(node))
    except ValueError:
        return frozenset()


def _patterns(pattern: ast.pattern) -> frozenset[str]:
    found: frozenset[str] = frozenset()
    for node in ast.walk(pattern):
        if isinstance(node, ast.MatchValue):
            found |= _leaves_of(node.value, Names())
    return found


def _answers(body: Iterable[ast.stmt], names: Names) -> frozenset[str]:
    """Return the literals that a body returns, yields or stores, and the exceptions that it raises."""
    found: list[ast.expr | None] = []
    raised: set[str] = set()
    for statement in body:
        for node in ast.walk(statement):
            if isinstance(node, ast.Return | ast.Assign | ast.AnnAssign | ast.Yield):
                found.append(node.value)
            elif isinstance(node, ast.Raise) and node.exc is not None:
                called = node.exc.func if isinstance(node.exc, ast.Call) else node.exc
                raised.add(RAISES + ast.unparse(called).split(".")[-1])
    return _values(found, names) | raised


def _values(nodes: Iterable[ast.expr | None], names: Names) -> frozenset[str]:
    found = set()
    for node in nodes:
        try:
            found.add(plain(names.literal(node)) if node is not None else "None")
        except ValueError:
            continue  # it is computed
    return frozenset(found)


def _chosen(node: ast.expr, names: Names) -> frozenset[str]:
    return _values(node.elts, names) if isinstance(node, ast.Tuple | ast.List) else frozenset()


def _tables(tree: ast.Module) -> Iterator[Rows]:
    """Yield each literal table as rows."""
    names = Names.of(tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.Dict):
            pairs = [(k, v) for k, v in zip(node.keys, node.values, strict=True) if k is not None]
            yield dict(_rows(pairs, names))
        elif isinstance(node, ast.List | ast.Tuple | ast.Set):
            inner = [e for e in node.elts if isinstance(e, ast.Tuple | ast.List) and len(e.elts) > 1]
            yield dict(_rows([(ast.Tuple(e.elts[:-1], ast.Load()), e.elts[-1]) for e in inner], names))


def _rows(
    pairs: Iterable[tuple[ast.expr, ast.expr]], names: Names
) -> Iterator[tuple[tuple[tuple[str, ...], str], int]]:
    for key, value in pairs:
        inputs = _leaves_of(key, names)
        answers = _values([value], names)
        if inputs and answers:
            yield (tuple(sorted(inputs)), next(iter(answers))), value.lineno
