"""The project's files as localisation sees them: which statement and which function a line belongs to."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Callable, Mapping
from functools import cached_property
from pathlib import PurePosixPath

from pytest_noepicycle.domain.guard import Territory, may_edit

Place = tuple[str, int]
"""A path and the first line of a statement in it."""

Function = ast.FunctionDef | ast.AsyncFunctionDef
DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Import, ast.ImportFrom)


class Module:
    """A parsed file; ``tree`` is None where it does not parse, ``length`` counts its lines."""

    def __init__(self, raw: bytes) -> None:
        self.tree = _tree(raw)
        self.length = raw.count(b"\n") + 1

    @cached_property
    def nodes(self) -> tuple[ast.AST, ...]:
        """Return all nodes, outer ones first."""
        return tuple(ast.walk(self.tree)) if self.tree else ()

    @cached_property
    def statements(self) -> dict[int, ast.stmt]:
        """Map each line to the smallest statement that holds it."""
        lines: dict[int, ast.stmt] = {}
        for node in self.nodes:
            if isinstance(node, ast.stmt):
                lines.update(dict.fromkeys(range(node.lineno, (node.end_lineno or node.lineno) + 1), node))
        return lines

    @cached_property
    def first_lines(self) -> dict[int, int]:
        """Map each line of code to the first line of its statement; docstrings are no code."""
        documents = {n for n in self.nodes if isinstance(n, ast.Expr) and isinstance(n.value, ast.Constant)}
        return {line: node.lineno for line, node in self.statements.items() if node not in documents}

    @cached_property
    def functions(self) -> list[Function]:
        """List the functions, outer ones first."""
        return [n for n in self.nodes if isinstance(n, Function)]

    @cached_property
    def _function_by_line(self) -> dict[int, Function]:
        lines: dict[int, Function] = {}
        for function in self.functions:
            lines.update(dict.fromkeys(range(function.lineno, (function.end_lineno or 0) + 1), function))
        return lines

    def function_at(self, line: int) -> Function | None:
        """Return the innermost function around a line."""
        return self._function_by_line.get(line)

    @cached_property
    def constants(self) -> list[tuple[int, str]]:
        """List (line, name) of what the module and its classes set outside functions."""
        bodies = [self.tree.body if self.tree else []]
        bodies += [n.body for n in bodies[0] if isinstance(n, ast.ClassDef)]
        stored = [(s, n) for b in bodies for s in b if isinstance(s, ast.Assign | ast.AnnAssign) for n in ast.walk(s)]
        return [(s.lineno, n.id) for s, n in stored if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)]


class ProductFiles:
    """The project's files, parsed when they are first asked for; ``read`` returns a file's bytes."""

    def __init__(self, read: Callable[[str], bytes | None], territory: Territory) -> None:
        self._read = read
        self.territory = territory
        self._parsed: dict[str, Module] = {}
        self._editable: dict[str, bool] = {}

    def module(self, path: str) -> Module:
        """Return the parsed file; an empty one where there is none."""
        if path not in self._parsed:
            self._parsed[path] = Module(self._read(path) or b"")
        return self._parsed[path]

    def editable(self, path: str) -> bool:
        """Whether a patch may change that file, and it holds Python."""
        if path not in self._editable:
            self._editable[path] = path.endswith(".py") and may_edit(path, self.territory)
        return self._editable[path]

    def place(self, path: str, line: int) -> Place | None:
        """Return where the statement begins that holds a line; None for what is no code or may not be edited."""
        if not self.editable(path):
            return None
        module = self.module(path)
        if module.tree is None:
            return path, max(1, min(line, module.length))
        return (path, module.first_lines[line]) if line in module.first_lines else None

    def places(self, lines: Mapping[str, frozenset[int]]) -> frozenset[Place]:
        """Return the statements that were run, of one test's coverage (path → lines)."""
        found: set[Place] = set()
        for path in filter(self.editable, lines):
            first = self.module(path).first_lines
            found.update((path, first[n]) for n in lines[path] if n in first)
        return frozenset(found)

    def named(self, path: str) -> str | None:
        """Return the project's file that an absolute or relative path in a message means."""
        pure = PurePosixPath(path.replace("\\", "/"))
        tails = ("/".join(pure.parts[n:]) for n in range(len(pure.parts)))
        return next((tail for tail in tails if tail in self.territory.files), None)


def _tree(raw: bytes) -> ast.Module | None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return ast.parse(raw)
        except (SyntaxError, ValueError, RecursionError):
            return None
