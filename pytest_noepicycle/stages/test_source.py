"""Tests as their source shows them: what they expect, of which inputs, and from which tables."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import PurePosixPath

Read = Callable[[str], "bytes | None"]
Function = ast.FunctionDef | ast.AsyncFunctionDef
_EQUALITIES = frozenset({"assertEqual", "assertEquals", "assertListEqual", "assertDictEqual", "assertTupleEqual"}) | {
    "assertSetEqual",
    "assertSequenceEqual",
    "assertMultiLineEqual",
    "assertCountEqual",
    "assertAlmostEqual",
    "assertIs",
}
_RAISES = frozenset({"raises", "assertRaises", "assertRaisesRegex"})
_PLAIN_FOLDERS = ("", "tests", "test")


@dataclass(frozen=True, slots=True)
class Expectation:
    """One thing that a test demands: ``kind`` is equal, truth or raises; ``subject`` is what gives the answer.

    ``expected`` is the answer's node (the exception's, for raises; the whole condition, for truth); ``reached``
    says that a test which passes has come by it.
    """

    kind: str
    subject: tuple[ast.AST, ...]
    expected: ast.expr
    reached: bool


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of parameters: the names, the rows as nodes, and the file that the rows stand in."""

    names: tuple[str, ...]
    rows: tuple[tuple[ast.expr, ...], ...]
    path: str


@dataclass(slots=True)
class TestModule:
    """A file of tests, parsed; ``tree`` is None where it does not parse."""

    __test__ = False  # pytest is not to take the name for a class of tests

    path: str
    source: bytes
    tree: ast.Module | None
    _functions: dict[str, Function] = field(default_factory=dict)

    @classmethod
    def read(cls, path: str, read: Read) -> TestModule:
        """Read and parse a file."""
        source = read(path) or b""
        module = cls(path, source, _parse(source) if path.endswith(".py") else None)
        if module.tree is not None:
            module._functions.update(_functions(module.tree, ""))
        return module

    def function(self, test: str) -> Function | None:
        """Return the function behind a node id, its parameters aside."""
        return self._functions.get(test.partition("::")[2].partition("[")[0])

    @property
    def functions(self) -> dict[str, Function]:
        """Return the functions by their dotted-by-colons names, as ids have them."""
        return self._functions


def _parse(source: bytes) -> ast.Module | None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            source.decode("utf-8")
            return ast.parse(source)
        except (SyntaxError, ValueError, RecursionError):
            return None


def _functions(node: ast.AST, above: str) -> Iterator[tuple[str, Function]]:
    for child in getattr(node, "body", []):
        if isinstance(child, Function):
            yield above + child.name, child
        if isinstance(child, Function | ast.ClassDef):  # some collect tests within functions, too
            yield from _functions(child, f"{above}{child.name}::")


def expectations(function: Function) -> list[Expectation]:
    """Return what a test expects, in its order."""
    return list(_expectations(function.body, reached=True))


def _expectations(body: Iterable[ast.stmt], *, reached: bool) -> Iterator[Expectation]:
    for statement in body:
        yield from _of_statement(statement, reached)
        certain = reached and isinstance(statement, ast.With | ast.AsyncWith)
        within = [*getattr(statement, "body", []), *getattr(statement, "orelse", [])]
        if isinstance(statement, ast.For) and _is_filled(statement.iter):
            certain = reached
        if not isinstance(statement, Function | ast.ClassDef):
            raising = isinstance(statement, ast.With) and any(_raises(i.context_expr) for i in statement.items)
            yield from _expectations(within, reached=certain and not raising)
        reached = reached and not any(isinstance(n, ast.Return) for n in ast.walk(statement))


def _is_filled(node: ast.expr) -> bool:
    return isinstance(node, ast.List | ast.Tuple) and bool(node.elts)


def _of_statement(statement: ast.stmt, reached: bool) -> Iterator[Expectation]:
    if isinstance(statement, ast.Assert):
        yield _of_condition(statement.test, reached)
    elif isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
        yield from _of_call(statement.value, reached)
    elif isinstance(statement, ast.With | ast.AsyncWith):
        for item in statement.items:
            expected = _raises(item.context_expr)
            if expected is not None:
                yield Expectation("raises", tuple(statement.body), expected, reached)


def _of_condition(condition: ast.expr, reached: bool) -> Expectation:
    if isinstance(condition, ast.Compare) and len(condition.ops) == 1 and isinstance(condition.ops[0], ast.Eq):
        left, right = condition.left, condition.comparators[0]
        return Expectation("equal", *_sides(left, right), reached)
    return Expectation("truth", (condition,), condition, reached)


def _sides(left: ast.expr, right: ast.expr) -> tuple[tuple[ast.AST, ...], ast.expr]:
    """Tell the answer from what is expected: that is the literal, or what holds no call, or stands on the right."""
    turned = is_literal(left) and not is_literal(right)
    turned = turned or (not is_literal(right) and _has_call(right) and not _has_call(left) and not _approx(right))
    return ((right,), left) if turned else ((left,), right)


def _of_call(call: ast.Call, reached: bool) -> Iterator[Expectation]:
    name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    if name in _EQUALITIES and len(call.args) >= 2:
        yield Expectation("equal", *_sides(call.args[0], call.args[1]), reached)
    elif name in _RAISES and len(call.args) >= 2:
        yield Expectation("raises", (call,), call.args[0], reached)


def _raises(node: ast.expr) -> ast.expr | None:
    """Return the exception of ``raises(E)``."""
    if not isinstance(node, ast.Call) or not node.args:
        return None
    name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    return node.args[0] if name in _RAISES else None


def _approx(node: ast.expr) -> bool:
    if not isinstance(node, ast.Call):
        return False
    return (node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")) == "approx"


def approx_value(node: ast.expr) -> ast.expr | None:
    """Return the value in ``approx(value)``."""
    return node.args[0] if isinstance(node, ast.Call) and _approx(node) and node.args else None


def _has_call(node: ast.AST) -> bool:
    return any(isinstance(n, ast.Call) for n in ast.walk(node))


def is_literal(node: ast.AST) -> bool:
    """Whether a node is a literal, containers of literals among them."""
    try:
        ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return False
    return True


def tables(module: TestModule, function: Function, read: Read, files: Iterable[str] = ()) -> list[Table]:
    """Return the literal tables that parametrise a test, one for each mark, also such as a helper file holds."""
    found = []
    for mark in function.decorator_list:
        if isinstance(mark, ast.Call) and ast.unparse(mark.func).endswith("parametrize") and len(mark.args) >= 2:
            names = _names(mark.args[0])
            path, rows = _resolved(mark.args[1], module, read, files)
            if names and isinstance(rows, ast.List | ast.Tuple):
                found.append(Table(names, tuple(_row(element, len(names)) for element in rows.elts), path))
    return found


def _names(node: ast.expr) -> tuple[str, ...]:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return tuple(name.strip() for name in node.value.split(",") if name.strip())
    if isinstance(node, ast.List | ast.Tuple):
        return tuple(str(e.value) for e in node.elts if isinstance(e, ast.Constant))
    return ()


def _row(node: ast.expr, width: int) -> tuple[ast.expr, ...]:
    if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("param"):
        return tuple(node.args)
    if width > 1 and isinstance(node, ast.Tuple | ast.List):
        return tuple(node.elts)
    return (node,)


def _resolved(node: ast.expr, module: TestModule, read: Read, files: Iterable[str]) -> tuple[str, ast.expr | None]:
    """Follow a name to the literal that it stands for: in this file, or in one that it is imported from."""
    if not isinstance(node, ast.Name) or module.tree is None:
        return module.path, node
    value = _assigned(module.tree, node.id)
    if value is not None:
        return module.path, value
    for statement in module.tree.body:
        if isinstance(statement, ast.ImportFrom) and statement.module:
            for alias in statement.names:
                if (alias.asname or alias.name) == node.id:
                    return _in_other_file(statement.module, alias.name, module, read, files)
    return module.path, None


def _in_other_file(
    name: str, variable: str, module: TestModule, read: Read, files: Iterable[str]
) -> tuple[str, ast.expr | None]:
    tail = name.replace(".", "/") + ".py"
    folder = str(PurePosixPath(module.path).parent)
    for path in dict.fromkeys([f"{folder}/{tail}".removeprefix("./"), tail, *(f"{f}/{tail}" for f in _PLAIN_FOLDERS)]):
        other = TestModule.read(path, read)
        if other.tree is not None and other.source:
            return path, _assigned(other.tree, variable)
    return module.path, None


def _assigned(tree: ast.Module, name: str) -> ast.expr | None:
    for node in tree.body:
        if isinstance(node, ast.Assign) and any(isinstance(t, ast.Name) and t.id == name for t in node.targets):
            return node.value
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.target.id == name:
            return node.value
    return None
