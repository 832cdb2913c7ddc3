"""The veil: blanks the source of held-out tests in what a rung is shown of a file, line by line."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Callable, Iterable, Iterator

Veil = Callable[[str, bytes], bytes]
"""Takes a file's path and bytes, and returns them as they may be shown."""

_DEF = (ast.FunctionDef, ast.AsyncFunctionDef)
_Node = ast.FunctionDef | ast.AsyncFunctionDef | ast.Assign | ast.AnnAssign


def veil(held: Iterable[str]) -> Veil:
    """Return what hides those tests: their functions, and tables of parameters that no other code uses.

    Other lines keep their numbers. A file is hidden whole where one of its tests is held and it cannot be parsed.
    """
    names: dict[str, set[str]] = {}
    for test in held:
        path, _, rest = test.partition("::")
        names.setdefault(path, set()).add(rest.partition("[")[0])

    def shown(path: str, content: bytes) -> bytes:
        return _blanked(content, names[path]) if path in names else content

    return shown


def _blanked(content: bytes, names: set[str]) -> bytes:
    lines = content.splitlines(keepends=True)
    tree = _parsed(content)
    spans = [(1, len(lines))] if tree is None or "" in names else [_span(node) for node in _hidden(tree, names)]
    for first, last in spans:
        for number in range(first - 1, last):
            lines[number] = lines[number][len(lines[number].rstrip(b"\r\n")) :]
    return b"".join(lines)


def _parsed(content: bytes) -> ast.Module | None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return ast.parse(content)
        except (SyntaxError, ValueError, RecursionError):
            return None


def _hidden(tree: ast.Module, names: set[str]) -> Iterator[_Node]:
    """Yield the functions of those names, and the assignments at the top that only they read."""
    found = dict(_functions(tree, ""))
    functions = [node for node, name in found.items() if name in names]
    missing = names - set(found.values())  # inherited ones: wherever the function stands, it is theirs
    last = {name.rpartition("::")[2] for name in missing}
    functions += [node for node, name in found.items() if name not in names and name.rpartition("::")[2] in last]
    yield from functions
    inside = {node for function in functions for node in ast.walk(function)}
    mine = _read(inside)
    for statement in tree.body:
        if isinstance(statement, ast.Assign | ast.AnnAssign):
            bound = {node.id for node in ast.walk(statement) if isinstance(node, ast.Name) and _stores(node)}
            others = (node for node in ast.walk(tree) if node not in inside)
            if bound and bound <= mine and not bound & _read(others):
                yield statement


def _functions(node: ast.AST, above: str) -> Iterator[tuple[ast.FunctionDef | ast.AsyncFunctionDef, str]]:
    """Yield the functions of a module or class, wherever in its statements, with their names as ids have them."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, _DEF):
            yield child, above + child.name
        elif isinstance(child, ast.ClassDef):
            yield from _functions(child, f"{above}{child.name}::")
        elif isinstance(child, ast.stmt | ast.ExceptHandler):
            yield from _functions(child, above)


def _read(nodes: Iterable[ast.AST]) -> set[str]:
    return {node.id for node in nodes if isinstance(node, ast.Name) and not _stores(node)}


def _stores(node: ast.Name) -> bool:
    return isinstance(node.ctx, ast.Store)


def _span(node: _Node) -> tuple[int, int]:
    """Return the first and the last line, decorators included."""
    decorators: list[ast.expr] = getattr(node, "decorator_list", [])
    return min([node.lineno, *(one.lineno for one in decorators)]), node.end_lineno or node.lineno
