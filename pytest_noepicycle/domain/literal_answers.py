"""What in a source answers literally: branches that compare with a literal, and rows of literal tables."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from pytest_noepicycle.domain.literals import Names, leaves, plain

RAISES = "raises:"
_EQUAL, _UNEQUAL = (ast.Eq, ast.Is, ast.In), (ast.NotEq, ast.IsNot, ast.NotIn)
_COMPARING = frozenset({"__eq__", "eq", "is_", "contains", "__contains__", "startswith", "endswith"}) | {
    "match",
    "fullmatch",
    "search",
}
_DIGESTS = frozenset({"hash", "crc32", "adler32", "hexdigest", "digest", "md5", "sha1", "sha256", "b64encode"})
_LONG_TEXT = 8  # characters, from which on a text may hold an input and its answer


@dataclass(frozen=True, slots=True)
class Branch:
    """A comparison with literals, and the literals that follow from it."""

    line: int
    subject: str
    inputs: frozenset[str]
    answers: frozenset[str]
    known: bool = False  # it stands in a table or chain that the project had already
    hidden: bool = False  # it compares a digest, so that nobody can read with what


Rows = Mapping[tuple[tuple[str, ...], str], int]
"""A literal table: the leaves of each key and its answer, with the line."""


@dataclass(frozen=True, slots=True)
class Source:
    """What of a source matters here: its literals, its branches over them, and its tables."""

    literals: Counter[str] = field(default_factory=Counter)
    branches: tuple[Branch, ...] = ()
    tables: tuple[Rows, ...] = ()
    texts: tuple[tuple[int, str], ...] = ()  # longer texts that are no docstrings, each with its line

    @classmethod
    def of(cls, tree: ast.Module) -> Source:
        """Read a parsed source."""
        tables = tuple(rows for rows in _tables(tree) if rows)
        return cls(literals_of(tree), tuple(_branches(tree)), tables, tuple(_texts(tree)))


def literals_of(tree: ast.Module) -> Counter[str]:
    return Counter(repr(node.value) for node in ast.walk(tree) if isinstance(node, ast.Constant))


def _texts(tree: ast.Module) -> Iterator[tuple[int, str]]:
    documents = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    texts = (n for n in ast.walk(tree) if isinstance(n, ast.Constant) and isinstance(n.value, str))
    for node in texts:
        if len(str(node.value)) >= _LONG_TEXT and id(node) not in documents:
            yield node.lineno, str(node.value)


def _branches(tree: ast.Module) -> Iterator[Branch]:
    names = Names.of(tree)
    for function, node in _with_function(tree, ""):
        if isinstance(node, ast.If | ast.While):
            yield from _compared(function, node, node.test, _answers(node.body, names), names)
            yield from _compared(function, node, node.test, _answers(node.orelse, names), names, _UNEQUAL)
        elif isinstance(node, ast.IfExp):
            yield from _compared(function, node, node.test, _values([node.body], names), names)
            yield from _compared(function, node, node.test, _values([node.orelse], names), names, _UNEQUAL)
        elif isinstance(node, ast.BoolOp) and isinstance(node.op, ast.And):
            yield from _compared(function, node, node, _values(node.values[-1:], names), names)
        elif isinstance(node, ast.Match):
            yield from _matched(function, node, names)
        elif isinstance(node, ast.Subscript | ast.Call) and _looks_up_digest(node, names):
            owner = node.value if isinstance(node, ast.Subscript) else getattr(node.func, "value", node.func)
            yield Branch(node.lineno, f"{function}|digest", frozenset(), _held(owner, names), hidden=True)
        elif isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Compare):
            yield from _compared(function, node, node.slice, _chosen(node.value, names), names)


def _matched(function: str, node: ast.Match, names: Names) -> Iterator[Branch]:
    for case in node.cases:
        subject, answers = f"{function}|{ast.unparse(node.subject)}", _answers(case.body, names)
        yield Branch(case.pattern.lineno, subject, _patterns(case.pattern), answers)
        if case.guard is not None:
            yield from _compared(function, case.guard, case.guard, answers, names)


def _with_function(node: ast.AST, function: str) -> Iterator[tuple[str, ast.AST]]:
    """Yield every node with the dotted name of the function that it stands in."""
    for child in ast.iter_child_nodes(node):
        scope = function
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            scope = f"{function}.{child.name}"
        yield scope, child
        yield from _with_function(child, scope)


def _compared(
    function: str,
    node: ast.AST,
    test: ast.expr,
    answers: frozenset[str],
    names: Names,
    operators: tuple[type[ast.cmpop], ...] = _EQUAL,
) -> Iterator[Branch]:
    """Yield a branch for the comparisons with literals in a test, where the other side is not computed."""
    inputs: set[str] = set()
    subjects: list[str] = []
    for literals, other in _sides(test, operators):
        found = frozenset[str]().union(*(_leaves_of(literal, names) for literal in literals))
        if found and not any(isinstance(n, ast.BinOp) for n in ast.walk(other)):
            inputs |= found
            subjects.append(ast.unparse(other))
    if inputs and answers:
        subject = f"{function}|{'|'.join(subjects)}"
        hidden = _holds_digest(test, names)
        yield Branch(getattr(node, "lineno", 1), subject, frozenset(inputs), answers, hidden=hidden)


def _looks_up_digest(node: ast.Subscript | ast.Call, names: Names) -> bool:
    """Whether a table is asked for what stands under a digest."""
    if isinstance(node, ast.Subscript):
        return _holds_digest(node.slice, names)
    return _called(node) in ("get", "pop", "setdefault") and any(_holds_digest(part, names) for part in node.args[:1])


def _held(node: ast.expr, names: Names) -> frozenset[str]:
    """Return the values of a literal table, or of a name for one."""
    node = names.values.get(node.id, node) if isinstance(node, ast.Name) else node
    return _values(node.values, names) if isinstance(node, ast.Dict) else frozenset()


def _holds_digest(test: ast.expr, names: Names) -> bool:
    used = (names.values.get(n.id) for n in ast.walk(test) if isinstance(n, ast.Name))
    nodes = (node for part in (test, *used) if part is not None for node in ast.walk(part))
    return any(isinstance(node, ast.Call) and _called(node) in _DIGESTS for node in nodes)


def _sides(test: ast.expr, operators: tuple[type[ast.cmpop], ...]) -> Iterator[tuple[list[ast.expr], ast.expr]]:
    """Yield what may be literals, with what is compared with them; a method that compares is a comparison too."""
    for node in ast.walk(test):
        if isinstance(node, ast.Compare):
            for left, operator, right in _pairs(node):
                if isinstance(operator, operators):
                    yield from (([right], left), ([left], right))
        elif isinstance(node, ast.Call) and operators is _EQUAL and _called(node) in _COMPARING:
            yield node.args, node.func


def _called(call: ast.Call) -> str:
    return call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")


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
        node = node.body if isinstance(node, ast.Lambda) else node
        try:
            found.add(plain(names.literal(node)) if node is not None else "None")
        except ValueError:
            found |= _picked(node, names)  # it is computed, or picked from literals
    return frozenset(found)


def _picked(node: ast.expr | None, names: Names) -> frozenset[str]:
    """Return the elements of a literal list that an index picks one of."""
    if not isinstance(node, ast.Subscript) or isinstance(node.slice, ast.Slice):
        return frozenset()
    try:
        value = names.literal(node.value)
    except ValueError:
        return frozenset()
    return frozenset(plain(part) for part in value) if isinstance(value, list | tuple) else frozenset()


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
        elif isinstance(node, ast.Call) and _called(node) == "zip" and len(node.args) == 2:
            yield dict(_rows(zip(*(_elements(part, names) for part in node.args), strict=False), names))


def _elements(node: ast.expr, names: Names) -> list[ast.expr]:
    node = names.values.get(node.id, node) if isinstance(node, ast.Name) else node
    return node.elts if isinstance(node, ast.List | ast.Tuple) else []


def _rows(
    pairs: Iterable[tuple[ast.expr, ast.expr]], names: Names
) -> Iterator[tuple[tuple[tuple[str, ...], str], int]]:
    for key, value in pairs:
        inputs = _leaves_of(key, names)
        answers = _values([value], names)
        if inputs and answers:
            yield (tuple(sorted(inputs)), next(iter(answers))), value.lineno
