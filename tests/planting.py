"""Small faults in a source: one operator, literal, branch or statement changed, each of which has its true fix."""

from __future__ import annotations

import ast
from collections.abc import Iterator

_EQUALITY = {ast.Eq: "!=", ast.NotEq: "==", ast.In: "not in", ast.NotIn: "in", ast.Is: "is not", ast.IsNot: "is"}
_OPPOSITES = {**_EQUALITY, ast.Lt: "<=", ast.LtE: "<", ast.Gt: ">=", ast.GtE: ">"}
_SUMS = {"+": "-", "-": "+", "*": "+"}


def faults(source: str) -> list[str]:
    """Every version of a source with one small fault in it that compiles."""
    found = []
    for start, end, text in _changes(source):
        raw = source.encode()
        changed = (raw[:start] + text.encode() + raw[end:]).decode()
        if changed != source and _compiles(changed):
            found.append(changed)
    return found


def _changes(source: str) -> Iterator[tuple[int, int, str]]:
    tree, raw = ast.parse(source), source.encode()
    documents = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and id(node) not in documents and type(node.value) in (bool, int, str):
            text = node.value + "x" if isinstance(node.value, str) else not node.value
            whole = type(node.value) is int
            yield *_span(source, node), repr(node.value + 1 if whole else text)
        elif isinstance(node, ast.Compare) and len(node.ops) == 1:
            between = _span(source, node.left)[1], _span(source, node.comparators[0])[0]
            yield *between, f" {_OPPOSITES[type(node.ops[0])]} "
        elif isinstance(node, ast.BinOp):
            start, end = _span(source, node.left)[1], _span(source, node.right)[0]
            other = _SUMS.get(raw[start:end].decode().strip())
            if other:
                yield start, end, f" {other} "
        elif isinstance(node, ast.Return) and node.value:
            yield *_span(source, node), "return None"
        elif isinstance(node, ast.If | ast.Assign | ast.AugAssign | ast.Raise):
            yield *_span(source, node), "pass"


def _span(source: str, node: ast.AST) -> tuple[int, int]:
    starts = [0]
    for line in source.encode().splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    first, last = getattr(node, "lineno", 1), getattr(node, "end_lineno", 1)
    return starts[first - 1] + getattr(node, "col_offset", 0), starts[last - 1] + getattr(node, "end_col_offset", 0)


def _compiles(source: str) -> bool:
    try:
        compile(source, "<fault>", "exec", dont_inherit=True)
    except (SyntaxError, ValueError):
        return False
    return True
