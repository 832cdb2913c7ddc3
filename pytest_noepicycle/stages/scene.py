"""The scene of a failure: what is known of the project around it, and the source that it went through."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import PurePosixPath

from pytest_noepicycle.domain.failure import Failure, Frame
from pytest_noepicycle.stages.test_source import Function, Read, TestModule

# What names an error that the test waits for: the code is to answer with it, whatever it meets.
_AWAITED = frozenset({"raises", "RaisesGroup", "assertRaises", "assertRaisesRegex", "suppress"})


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What is known of a project when a failure is judged.

    ``modules`` are names that import, here or in the project; ``files`` are the project's, ``read`` gives their
    bytes.
    """

    modules: frozenset[str] = frozenset()
    files: frozenset[str] = frozenset()
    read: Read = lambda path: None

    def text(self, path: str) -> str:
        """Return a file of the project as text; empty where there is none."""
        return (self.read(path) or b"").decode("utf-8", "replace")


@dataclass(frozen=True, slots=True)
class Scene:
    """One failure with the source that it went through."""

    failure: Failure
    around: Surroundings

    @property
    def place(self) -> Frame | None:
        """Return the innermost step that is the project's own."""
        return next((frame for frame in reversed(self.failure.frames) if frame.inside_tree), None)

    @property
    def line(self) -> str:
        """Return the source of that step, without its indentation."""
        place = self.place
        lines = self.around.text(place.path).splitlines() if place else []
        return lines[place.line - 1].strip() if place and 0 < place.line <= len(lines) else ""

    @property
    def kind(self) -> str:
        """Return the exception's own name, without its module."""
        return self.failure.exception.rpartition(".")[2]

    @property
    def on_purpose(self) -> bool:
        """Whether the project's own code raised it with a ``raise``: then it is what the code says."""
        innermost = self.failure.frames[-1] if self.failure.frames else None
        return innermost is not None and innermost.inside_tree and self.line.startswith("raise")

    @property
    def test_files(self) -> tuple[str, ...]:
        """Return the test's file and every conftest above it."""
        path = self.failure.test.split("::")[0]
        folders = [str(folder) for folder in PurePosixPath(path).parents]
        return (path, *("conftest.py" if folder == "." else f"{folder}/conftest.py" for folder in folders))

    @property
    def tests(self) -> str:
        """Return the text of these files."""
        return "\n".join(map(self.around.text, self.test_files))

    @property
    def asked_by_test(self) -> bool:
        """Whether the step that failed is the test's own, where no patch may change anything."""
        return self.place is None or self.place.path in self.test_files

    @property
    def awaited(self) -> bool:
        """Whether the test waits for an error where it failed, in ``raises`` or ``try``: this one was to be another."""
        return any(
            node.lineno <= frame.line <= (node.end_lineno or node.lineno)
            for frame in self.failure.frames
            if frame.path in self.test_files
            for node in _awaiting(TestModule.read(frame.path, self.around.read))
        )

    @property
    def pretended(self) -> bool:
        """Whether a stand-in of the test raised it."""
        return any(frame.path.endswith("unittest/mock.py") for frame in self.failure.frames)

    @property
    def given(self) -> frozenset[str | int]:
        """Return the texts and numbers that the test spells out: in itself, its parameters, and constants it names.

        What it hands to the code on purpose is among them.
        """
        module = TestModule.read(self.failure.test.split("::")[0], self.around.read)
        function = module.function(self.failure.test)
        if module.tree is None or function is None:
            return frozenset()
        nodes = [*_without_words(function)]
        names = {node.id for node in nodes if isinstance(node, ast.Name)}
        for statement in module.tree.body:
            if isinstance(statement, ast.Assign | ast.AnnAssign) and names & set(_assigned(statement)):
                nodes += ast.walk(statement)
        return frozenset(n.value for n in nodes if isinstance(n, ast.Constant) and isinstance(n.value, str | int))

    @property
    def sources(self) -> str:
        """Return the text of the project's own files, but those of tests, that the failure went through."""
        passed = dict.fromkeys(frame.path for frame in self.failure.frames if frame.inside_tree)
        return "\n".join(self.around.text(path) for path in passed if path not in self.test_files)


def _awaiting(module: TestModule) -> Iterator[ast.stmt | ast.expr]:
    """Yield what stands where an error is awaited."""
    for node in ast.walk(module.tree) if module.tree else ():
        if _catches(node):
            yield from getattr(node, "body", ())
        elif isinstance(node, ast.Call) and len(node.args) > 1 and _awaits(node):
            yield node


def _catches(node: ast.AST) -> bool:
    if isinstance(node, ast.With | ast.AsyncWith):
        return any(_awaits(item.context_expr) for item in node.items)
    return isinstance(node, ast.Try) and bool(node.handlers)


def _awaits(node: ast.expr) -> bool:
    called = node.func if isinstance(node, ast.Call) else None
    return (called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")) in _AWAITED


def _without_words(function: Function) -> Iterator[ast.AST]:
    """Yield the nodes of a function, but for its docstring."""
    words = function.body[0] if ast.get_docstring(function, clean=False) is not None else None
    for part in (function.args, *function.decorator_list, *function.body):
        if part is not words:
            yield from ast.walk(part)


def _assigned(statement: ast.Assign | ast.AnnAssign) -> Iterator[str]:
    targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
    yield from (node.id for target in targets for node in ast.walk(target) if isinstance(node, ast.Name))
