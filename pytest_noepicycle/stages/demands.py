"""What the targets demand, input by input, read from their source: no patch may be a list of these answers."""

from __future__ import annotations

import ast
import doctest
from collections.abc import Iterable, Iterator, Mapping

from pytest_noepicycle.domain.special_case import RAISES, Demand, leaves, plain
from pytest_noepicycle.domain.territory import is_doctest
from pytest_noepicycle.stages.test_source import Function, Read, TestModule, approx_value, expectations, tables

_Values = Mapping[str, ast.expr]


def demands(targets: Iterable[str], read: Read) -> tuple[Demand, ...]:
    """Return the literal inputs and answers of the targets; what is computed demands nothing that can be copied."""
    modules: dict[str, TestModule] = {}
    found: dict[Demand, None] = {}
    for test in targets:
        path = test.split("::")[0]
        module = modules.setdefault(path, TestModule.read(path, read))
        for demand in _of_test(test, module, read):
            found[demand] = None
    return tuple(found)


def _of_test(test: str, module: TestModule, read: Read) -> Iterator[Demand]:
    function = module.function(test)
    if function is not None:
        yield from _of_function(test, function, module, read)
    elif module.tree is not None and is_doctest(test):
        yield from _of_doctests(test, module.tree)


def _of_function(test: str, function: Function, module: TestModule, read: Read) -> Iterator[Demand]:
    constant = _constants(module.tree) if module.tree else {}
    local = {**constant, **_constants(function)}
    for row in [*_rows(function, module, read), {}]:
        yield from _of_expectations(test, function, {**local, **row})


def _of_expectations(test: str, function: Function, values: _Values) -> Iterator[Demand]:
    for expectation in expectations(function):
        inputs = _inputs(expectation.subject, values)
        if not inputs:
            continue
        if expectation.kind == "raises":
            yield Demand(test, inputs, RAISES + ast.unparse(expectation.expected).split(".")[-1])
        elif expectation.kind == "equal":
            expected = _literal(approx_value(expectation.expected) or expectation.expected, values)
            if expected is not None:
                yield Demand(test, inputs, expected)
        else:
            yield from _of_truth(test, expectation.expected, inputs, values)


def _of_truth(test: str, condition: ast.expr, inputs: frozenset[str], values: _Values) -> Iterator[Demand]:
    """``assert f(x)``, ``assert not f(x)`` and ``assert f(x) is True`` demand a truth value."""
    wanted = True
    if isinstance(condition, ast.UnaryOp) and isinstance(condition.op, ast.Not):
        condition, wanted = condition.operand, False
    if isinstance(condition, ast.Compare) and len(condition.ops) == 1 and isinstance(condition.ops[0], ast.Is):
        expected = _literal(condition.comparators[0], values)
        if expected is not None:
            yield Demand(test, inputs, expected)
    elif isinstance(condition, ast.Call):
        yield Demand(test, inputs, plain(wanted))


def _inputs(subject: Iterable[ast.AST], values: _Values) -> frozenset[str]:
    """Return the leaves of all literals that are handed to a call."""
    found: frozenset[str] = frozenset()
    for part in subject:
        for call in (n for n in ast.walk(part) if isinstance(n, ast.Call)):
            for argument in [*call.args, *(keyword.value for keyword in call.keywords)]:
                node = values.get(argument.id, argument) if isinstance(argument, ast.Name) else argument
                found |= _leaves(node)
    return found


def _leaves(node: ast.expr) -> frozenset[str]:
    try:
        return leaves(ast.literal_eval(node))
    except (ValueError, TypeError, SyntaxError, RecursionError):
        return frozenset()


def _literal(node: ast.expr, values: _Values) -> str | None:
    node = values.get(node.id, node) if isinstance(node, ast.Name) else node
    try:
        return plain(ast.literal_eval(node))
    except (ValueError, TypeError, SyntaxError, RecursionError):
        return None


def _constants(scope: ast.Module | Function) -> dict[str, ast.expr]:
    """Return the names that a scope gives one value, at its top."""
    found: dict[str, ast.expr] = {}
    for node in scope.body:
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            found[node.targets[0].id] = node.value
    return found


def _rows(function: Function, module: TestModule, read: Read) -> Iterator[dict[str, ast.expr]]:
    for table in tables(module, function, read):
        for row in table.rows:
            yield dict(zip(table.names, row, strict=False))
    for loop in (n for n in ast.walk(function) if isinstance(n, ast.For)):
        yield from _looped(loop)


def _looped(loop: ast.For) -> Iterator[dict[str, ast.expr]]:
    """Yield the rows of ``for x, y in [(1, 2), ...]``."""
    if not isinstance(loop.iter, ast.List | ast.Tuple):
        return
    for element in loop.iter.elts:
        if isinstance(loop.target, ast.Name):
            yield {loop.target.id: element}
        elif isinstance(loop.target, ast.Tuple) and isinstance(element, ast.Tuple | ast.List):
            names = [target.id for target in loop.target.elts if isinstance(target, ast.Name)]
            yield dict(zip(names, element.elts, strict=False))


def _of_doctests(test: str, tree: ast.Module) -> Iterator[Demand]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            for example in _examples(ast.get_docstring(node, clean=True) or ""):
                yield from _of_example(test, example)


def _examples(text: str) -> list[doctest.Example]:
    try:
        return doctest.DocTestParser().get_examples(text)
    except ValueError:
        return []


def _of_example(test: str, example: doctest.Example) -> Iterator[Demand]:
    try:
        call = ast.parse(example.source.strip(), mode="eval")
        expected = plain(ast.literal_eval(example.want.strip()))
    except (ValueError, TypeError, SyntaxError, RecursionError):
        return
    inputs = _inputs((call,), {})
    if inputs:
        yield Demand(test, inputs, expected)
