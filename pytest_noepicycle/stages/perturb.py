"""The same tests with other expectations: an honest fix must fail them, and whatever agrees with all must not pass."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from pytest_noepicycle.stages.test_source import (
    Expectation,
    Function,
    Read,
    Table,
    TestModule,
    approx_value,
    expectations,
    is_literal,
    tables,
)

_BOM = b"\xef\xbb\xbf"
_TOLERANT = frozenset({"approx", "assertAlmostEqual", "assertAlmostEquals", "isclose", "allclose", "assert_allclose"})
_STRANGER = "object()"
_OTHER_ERROR = "type('Unrelated', (Exception,), {})"

Splice = tuple[int, int, str]
"""Start and end in bytes, and what stands there instead."""


@dataclass(frozen=True, slots=True)
class Perturbed:
    """Files to lay over the tree, the targets whose expectations they change, and those where none can be.

    ``renumbered`` are the targets whose parameters changed, and with them their ids: they are found by position.
    """

    overlay: Mapping[str, bytes]
    targets: tuple[str, ...]
    impossible: tuple[str, ...]
    renumbered: frozenset[str] = frozenset()

    def ids(self) -> tuple[str, ...]:
        """Return what to run: the targets, or their whole file where ids have changed."""
        return tuple(dict.fromkeys(t.split("::")[0] if t in self.renumbered else t for t in self.targets))

    def now(self, test: str, before: Iterable[str], after: Iterable[str]) -> str | None:
        """Return a target's id in the perturbed run, by its place among the cases of its function."""
        if test not in self.renumbered:
            return test
        stem = test.partition("[")[0] + "["
        old = [name for name in before if name.startswith(stem)]
        new = [name for name in after if name.startswith(stem)]
        return new[old.index(test)] if test in old and len(old) == len(new) else None


@dataclass(slots=True)
class _Work:
    """Splices by file, gathered function by function."""

    read: Read
    renumber: bool
    modules: dict[str, TestModule] = field(default_factory=dict)
    splices: dict[str, dict[tuple[int, int], str]] = field(default_factory=dict)
    columns: dict[tuple[str, int, int], int] = field(default_factory=dict)

    def takes(self, table: Table, column: int) -> bool:
        """Whether that column of a table may change: one alone, for a test may go from either side to the other."""
        first = table.rows[0][0]
        return self.columns.setdefault((table.path, first.lineno, first.col_offset), column) == column

    def module(self, path: str) -> TestModule:
        """Return a file, parsed once."""
        return self.modules.setdefault(path, TestModule.read(path, self.read))

    def replace(self, path: str, node: ast.AST, text: str) -> None:
        """Put a text in a node's place."""
        start, end = _span(self.module(path).source, node)
        self.splices.setdefault(path, {})[start, end] = text


def perturb(targets: Iterable[str], read: Read, *, renumber: bool = True) -> Perturbed:
    """Change what the targets expect: the literal, the parameter, the exception, or the truth of it.

    Only expectations count that a passing test must have come by. ``renumber`` allows parameters to change,
    which gives tests other ids.
    """
    work = _Work(read, renumber)
    changed: dict[tuple[str, str], str] = {}
    done, impossible, renumbered = list[str](), list[str](), set[str]()
    for test in targets:
        module = work.module(test.split("::")[0])
        function = module.function(test)
        name = test.partition("::")[2].partition("[")[0]
        if function is not None and (module.path, name) not in changed:
            changed[module.path, name] = _change(function, module, work)
        how = changed.get((module.path, name), "")
        (done if how else impossible).append(test)
        if how == "parameter":
            renumbered.add(test)
    overlay = {path: _spliced(work.module(path).source, found) for path, found in work.splices.items()}
    return Perturbed(overlay, tuple(done), tuple(impossible), frozenset(renumbered))


def _change(function: Function, module: TestModule, work: _Work) -> str:
    """Change every certain expectation of a function and return how: parameter, expectation, or not at all."""
    certain = [expectation for expectation in expectations(function) if expectation.reached]
    tolerant = _tolerant(function)
    known = tables(module, function, work.read) if work.renumber else []
    how = ""
    for expectation in certain:
        if _change_parameter(expectation, function, known, work):
            how = "parameter"
        else:
            work.replace(module.path, expectation.expected, _other(expectation, module.source, tolerant))
            how = how or "expectation"
    return how


def _change_parameter(expectation: Expectation, function: Function, known: Iterable[Table], work: _Work) -> bool:
    """Change the column that an expectation names, in every row, where each of them is a literal."""
    node = approx_value(expectation.expected) or expectation.expected
    if expectation.kind != "equal" or not isinstance(node, ast.Name) or not _only_expected(node.id, function):
        return False
    for table in known:
        if node.id in table.names:
            column = table.names.index(node.id)
            cells = [row[column] for row in table.rows if len(row) > column]
            whole = len(cells) == len(table.rows) and all(is_literal(cell) for cell in cells)
            if cells and whole and work.takes(table, column):
                other = _far if node.id in _tolerant(function) else _near
                for cell in cells:
                    work.replace(table.path, cell, repr(other(ast.literal_eval(cell))))
                return True
    return False


def _only_expected(name: str, function: Function) -> bool:
    """Whether a parameter is nothing but compared with: one that is also handed in may change the answer."""
    used = sum(isinstance(n, ast.Name) and n.id == name for n in ast.walk(function))
    wanted = [approx_value(e.expected) or e.expected for e in expectations(function) if e.kind == "equal"]
    return used == sum(isinstance(node, ast.Name) and node.id == name for node in wanted)


def _tolerant(function: Function) -> frozenset[str]:
    """Return, as source text, what the function compares with some tolerance."""
    calls = (node for node in ast.walk(function) if isinstance(node, ast.Call))
    found = (call for call in calls if _called(call) in _TOLERANT)
    return frozenset(ast.unparse(argument) for call in found for argument in call.args)


def _called(call: ast.Call) -> str:
    return call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")


def _other(expectation: Expectation, source: bytes, tolerant: frozenset[str]) -> str:
    if expectation.kind == "raises":
        return _OTHER_ERROR
    if expectation.kind == "truth":
        start, end = _span(source, expectation.expected)
        return f"not ({source[start:end].decode('utf-8')})"
    value = approx_value(expectation.expected)
    if value is not None and isinstance(expectation.expected, ast.Call) and is_literal(value):
        return f"{ast.unparse(expectation.expected.func)}({_far(ast.literal_eval(value))!r})"
    if is_literal(expectation.expected):
        other = _far if ast.unparse(expectation.expected) in tolerant else _near
        return repr(other(ast.literal_eval(expectation.expected)))
    return _STRANGER  # equal to nothing but itself and to what equals everything


def _near(value: object) -> object:
    """Return another value of the same kind that is as close as can be: an equality that is generous takes it."""
    if isinstance(value, int) and not isinstance(value, bool):
        return value + 1
    if isinstance(value, float) and value == value and 1e-9 < abs(value) < 1e15:
        return value + abs(value) / 64
    if isinstance(value, str):
        return value.swapcase() + "~"
    if isinstance(value, bytes):
        return value.swapcase() + b"~"
    if isinstance(value, list | tuple | set | frozenset) and value:
        first, *rest = sorted(value, key=repr) if isinstance(value, set | frozenset) else value
        return type(value)([_near(first), *rest])
    if isinstance(value, dict) and value:
        first = next(iter(value))
        return {**value, first: _near(value[first])}
    return _far(value)


def _far(value: object) -> object:
    """Return another value of the same kind, beyond any tolerance."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return 3 * abs(value) + 71
    if isinstance(value, float | complex):
        return 3 * abs(value) + 71.5 if value == value and abs(value) < 1e300 else 71.5
    if isinstance(value, bytes):
        return value + b"~other"
    if isinstance(value, list | tuple | set | frozenset):
        return type(value)([*value, "~other"])
    if isinstance(value, dict):
        return {**value, "~other": "~other"}
    return f"{value}~other" if isinstance(value, str) else "~other"


def _span(source: bytes, node: ast.AST) -> tuple[int, int]:
    """Return where a node stands, in bytes; its columns are counted in bytes as well, after a mark at the start."""
    starts, total = [0], 0
    for line in source.splitlines(keepends=True):
        total += len(line)
        starts.append(total)
    first, last = getattr(node, "lineno", 1), getattr(node, "end_lineno", 1)
    mark = len(_BOM) if source.startswith(_BOM) else 0
    start = starts[first - 1] + getattr(node, "col_offset", 0) + (mark if first == 1 else 0)
    end = starts[last - 1] + getattr(node, "end_col_offset", 0) + (mark if last == 1 else 0)
    return start, end


def _spliced(source: bytes, splices: Mapping[tuple[int, int], str]) -> bytes:
    """Make the changes from the end on; of two that overlap the outer one is made."""
    floor = len(source) + 1
    for (start, end), text in sorted(splices.items(), key=lambda item: (item[0][1], -item[0][0]), reverse=True):
        if end <= floor:
            source, floor = source[:start] + text.encode() + source[end:], start
    return source
