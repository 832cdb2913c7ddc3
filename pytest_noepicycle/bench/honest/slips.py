"""Small slips in a sound source: one operator, literal, branch or statement changed, each with its true fix."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from pytest_noepicycle.bench.faults import compiles

_EQUALITY = {ast.Eq: "!=", ast.NotEq: "==", ast.In: "not in", ast.NotIn: "in", ast.Is: "is not", ast.IsNot: "is"}
_OPPOSITES = {**_EQUALITY, ast.Lt: "<=", ast.LtE: "<", ast.Gt: ">=", ast.GtE: ">"}
_SUMS = {"+": "-", "-": "+", "*": "+"}


@dataclass(frozen=True, slots=True)
class Slip:
    """One fault: its kind, the line (from 1) that it is in, and the whole source that holds it."""

    kind: str
    line: int
    source: str


def slips(source: str) -> list[Slip]:
    """Return every version of a source with one slip in it that compiles."""
    raw, found = source.encode(), []
    for kind, start, end, text in _changes(source):
        changed = (raw[:start] + text.encode() + raw[end:]).decode()
        if changed != source and compiles(changed):
            found.append(Slip(kind, 1 + raw[:start].count(b"\n"), changed))
    return found


def _changes(source: str) -> Iterator[tuple[str, int, int, str]]:
    """Yield a kind, the bytes from start to end, and what stands there instead."""
    tree = ast.parse(source)
    documents = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and id(node) not in documents and type(node.value) in (bool, int, str):
            yield "literal", *_span(source, node), repr(_other(node.value))
        elif isinstance(node, ast.Compare) and len(node.ops) == 1:
            yield "comparison", *_between(source, node.left, node.comparators[0]), f" {_OPPOSITES[type(node.ops[0])]} "
        elif isinstance(node, ast.BinOp):
            start, end = _between(source, node.left, node.right)
            other = _SUMS.get(source.encode()[start:end].decode().strip())
            if other:
                yield "arithmetic", start, end, f" {other} "
        elif isinstance(node, ast.Return) and node.value:
            yield "return", *_span(source, node), "return None"
        elif isinstance(node, ast.If | ast.Assign | ast.AugAssign | ast.Raise):
            yield "statement", *_span(source, node), "pass"


def _other(value: object) -> object:
    if isinstance(value, str):
        return value + "x"
    return value + 1 if type(value) is int else not value


def _between(source: str, left: ast.AST, right: ast.AST) -> tuple[int, int]:
    return _span(source, left)[1], _span(source, right)[0]


def _span(source: str, node: ast.AST) -> tuple[int, int]:
    starts = [0]
    for line in source.encode().splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    first, last = getattr(node, "lineno", 1), getattr(node, "end_lineno", 1)
    return starts[first - 1] + getattr(node, "col_offset", 0), starts[last - 1] + getattr(node, "end_col_offset", 0)
