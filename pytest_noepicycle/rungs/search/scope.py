"""A file as operators see it: its statements, where they may write, and how an edit is written."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

from pytest_noepicycle.rungs.search.edits import Edit, shown
from pytest_noepicycle.rungs.search.facts import COMPREHENSIONS, FileFacts

Block = ast.stmt | ast.ExceptHandler | ast.match_case
BODIES = ("body", "orelse", "finalbody", "handlers", "cases")
_ATOMS = (ast.Name, ast.Constant, ast.Call, ast.Attribute, ast.Subscript, ast.List, ast.Dict, ast.Set, *COMPREHENSIONS)


@dataclass(frozen=True)
class Scope(FileFacts):
    """One parsed file. The operators ask it about nodes and let it write their edits."""

    @cached_property
    def statements(self) -> tuple[ast.AST, ...]:
        """Return all statements, handlers and cases, in the order of their positions."""
        found = [n for n in ast.walk(self.tree) if isinstance(n, Block) and hasattr(n, "lineno")]
        return tuple(sorted(found, key=lambda n: (n.lineno, n.col_offset)))  # type: ignore[attr-defined]

    @cached_property
    def units(self) -> tuple[tuple[int, int], ...]:
        """Return spans of whole lines that compile by themselves: outermost functions, and statements outside them."""
        spans: list[tuple[int, int]] = []
        queue: list[ast.AST] = list(reversed(self.tree.body))
        while queue:
            node = queue.pop()
            inner = node.body if isinstance(node, ast.ClassDef) else []
            spans += [] if inner else self._lines_of(node)
            queue.extend(reversed(inner))
        return tuple(sorted(spans))

    def _lines_of(self, node: ast.AST) -> list[tuple[int, int]]:
        if self.indent(node) is None:
            return []
        first = min([node.lineno, *(d.lineno for d in getattr(node, "decorator_list", []))])  # type: ignore[attr-defined]
        return [(self.source.line_start(first), self.source.line_end(node.end_lineno))]  # type: ignore[attr-defined]

    def at(self, line: int) -> list[ast.AST]:
        """Return the statements that begin at a line, else the smallest one that holds it."""
        begin = [n for n in self.statements if n.lineno == line]  # type: ignore[attr-defined]
        if begin:
            return begin
        around = [n for n in self.statements if n.lineno <= line <= n.end_lineno]  # type: ignore[attr-defined]
        return around[-1:]

    def own_nodes(self, statement: ast.AST) -> Iterator[ast.AST]:
        """Yield a statement and the expressions in it, without the statements of its body."""
        queue: list[ast.AST] = [statement]
        while queue:
            node = queue.pop(0)
            yield node
            queue.extend(child for child in ast.iter_child_nodes(node) if self._visible(node, child))

    def _visible(self, parent: ast.AST, child: ast.AST) -> bool:
        """Leave out bodies, and parts of f-strings whose positions older interpreters get wrong."""
        if isinstance(child, Block):
            return False
        if isinstance(parent, ast.JoinedStr):
            return isinstance(child, ast.FormattedValue)
        if isinstance(parent, ast.FormattedValue):
            return child is parent.value and self._well_placed(parent.value)
        return True

    def _well_placed(self, node: ast.expr) -> bool:
        try:
            return ast.dump(ast.parse(self.text(node).strip(), mode="eval").body) == ast.dump(node)
        except (SyntaxError, IndexError):
            return False

    def statement(self, node: ast.AST) -> ast.AST:
        """Return the smallest statement that holds a node."""
        return next((a for a in (node, *self.ancestors(node)) if isinstance(a, ast.stmt)), node)

    def siblings(self, statement: ast.AST) -> list[ast.stmt]:
        """Return the block in which a statement stands."""
        parent = self.parents.get(statement)
        for name in BODIES:
            block = getattr(parent, name, None)
            if isinstance(block, list) and statement in block:
                return block
        return []

    def places(self, function: ast.AST, kind: type[ast.AST]) -> dict[str, list[tuple[int, int]]]:
        """Return where a function reads names, attributes or constants, in order, by what stands there.

        The inside of f-strings is left out: older interpreters get its places wrong.
        """
        if (function, kind) not in self._known_places:
            found: dict[str, list[tuple[int, int]]] = {}
            for start, end in sorted(self._spans(function, kind)):
                found.setdefault(self.source.text[start:end], []).append((start, end))
            self._known_places[function, kind] = found
        return self._known_places[function, kind]

    @cached_property
    def _known_places(self) -> dict[tuple[ast.AST, type[ast.AST]], dict[str, list[tuple[int, int]]]]:
        return {}

    def _spans(self, function: ast.AST, kind: type[ast.AST]) -> Iterator[tuple[int, int]]:
        for node in ast.walk(function):
            loaded = isinstance(getattr(node, "ctx", ast.Load()), ast.Load)
            if type(node) is kind and loaded and not any(isinstance(a, ast.JoinedStr) for a in self.ancestors(node)):
                start, end = self.source.span(node)
                yield (end - len(node.attr) if isinstance(node, ast.Attribute) else start), end

    def crash(self, node: ast.AST) -> str:
        """Return the exception that a failure raised in this statement, or an empty text."""
        statement = self.statement(node)
        first, last = statement.lineno, statement.end_lineno  # type: ignore[attr-defined]
        if getattr(statement, "body", None):
            last = first
        return next(
            (
                self.hints.crashes.get((self.path, n), "")
                for n in range(first, last + 1)
                if (self.path, n) in self.hints.crashes
            ),
            "",
        )

    def text(self, node: ast.AST) -> str:
        """Return a node's text as it stands."""
        return self.source.segment(node)

    def wrapped(self, node: ast.AST) -> str:
        """Return a node's text so that it can be an operand of anything."""
        return self.text(node) if isinstance(node, _ATOMS) else f"({self.text(node)})"

    def swap(self, node: ast.AST, text: str, likelihood: float = 1.0) -> Edit:
        """Return the edit that puts a text in the place of a node."""
        start, end = self.source.span(node)
        return Edit(start, end, text, f"{shown(self.source.text[start:end])} → {shown(text)}", likelihood)

    def between(self, left: ast.AST, right: ast.AST) -> tuple[int, str]:
        """Return where the gap between two nodes begins, and its text with comments blanked."""
        start, end = self.source.span(left)[1], self.source.span(right)[0]
        lines = self.source.text[start:end].splitlines(keepends=True)
        return start, "".join(_blank_comment(line) for line in lines)

    def indent(self, statement: ast.AST) -> str | None:
        """Return the white space before a statement, or None where something else stands there."""
        line = statement.lineno  # type: ignore[attr-defined]
        before = self.source.text[self.source.line_start(line) : self.source.span(statement)[0]]
        return before if not before.strip(" \t\f") else None

    @cached_property
    def step(self) -> str:
        """Return one level of indentation as the file writes it."""
        inner = [self.indent(s) for s in self.statements if self.indent(s)]
        shortest = min((i for i in inner if i), key=len, default="    ")
        return "\t" if shortest.startswith("\t") else shortest

    def insert_before(self, statement: ast.AST, lines: Iterable[str], likelihood: float = 1.0) -> Iterator[Edit]:
        """Yield the edit that puts lines before a statement (none, where it shares its line)."""
        indent = self.indent(statement)
        if indent is None:
            return
        written = list(lines)
        start = self.source.line_start(statement.lineno)  # type: ignore[attr-defined]
        text = "".join(f"{indent}{line}\n" for line in written)
        yield Edit(start, start, text, f"add {shown(' '.join(written))}", likelihood)

    def insert_after(self, statement: ast.AST, lines: Iterable[str], likelihood: float = 1.0) -> Iterator[Edit]:
        """Yield the edit that puts lines behind a statement (none, where it shares a line)."""
        span, indent = self.whole_lines(statement), self.indent(statement)
        if span is None or indent is None:
            return
        written = list(lines)
        lead = "" if self.source.text[: span[1]].endswith(("\n", "\r")) else "\n"
        text = lead + "\n".join(f"{indent}{line}" for line in written) + ("" if lead else "\n")
        yield Edit(span[1], span[1], text, f"add {shown(' '.join(written))}", likelihood)

    def whole_lines(self, statement: ast.AST) -> tuple[int, int] | None:
        """Return the span of a statement's lines, or None where it shares one of them."""
        end = self.source.span(statement)[1]
        last = self.source.line_end(statement.end_lineno)  # type: ignore[attr-defined]
        rest = self.source.text[end:last].strip()
        if (
            self.indent(statement) is None
            or (rest and not rest.startswith("#"))
            or getattr(statement, "decorator_list", None)
        ):
            return None
        return self.source.line_start(statement.lineno), last  # type: ignore[attr-defined]


def _blank_comment(line: str) -> str:
    position = line.find("#")
    return (
        line
        if position < 0
        else line[:position] + " " * (len(line.rstrip("\r\n")) - position) + line[len(line.rstrip("\r\n")) :]
    )
