"""Cut from the project's sources what a model must see: the failing tests, and the functions under suspicion."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from pytest_noepicycle.domain.context import Context
from pytest_noepicycle.domain.failure import Failure
from pytest_noepicycle.domain.guard import may_edit
from pytest_noepicycle.rungs.edits import decode
from pytest_noepicycle.rungs.sendable import may_send

_LONGEST = 80  # lines of one function
_BEFORE, _AFTER = 8, 8  # lines around a place that lies in no function
_DEF = (ast.FunctionDef, ast.AsyncFunctionDef)
_INVISIBLE = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u200e\u200f\u061c")


@dataclass(frozen=True, slots=True)
class Piece:
    """Some lines of a file, with their numbers at the left; the title says which."""

    title: str
    text: str


@dataclass(frozen=True, slots=True)
class _Span:
    """Lines of a file, counted from one, both included."""

    first: int
    last: int

    def around(self, line: int) -> _Span:
        """Return the span itself, or the part around a line where the whole is too long."""
        if self.last - self.first < _LONGEST:
            return self
        first = max(self.first, min(line - _LONGEST // 2, self.last - _LONGEST + 1))
        return _Span(first, min(self.last, first + _LONGEST - 1))


def tests(context: Context, failures: Iterable[Failure]) -> Iterator[Piece]:
    """Yield the source of each failing test's function, each once."""
    seen: set[tuple[str, int]] = set()
    for failure in failures:
        path, *names = failure.test.split("::")
        source = _source(path, context)
        if source is None:
            continue
        span = _named(source, [name.split("[")[0] for name in names]) or _last_frame(failure, path)
        if span is not None and (path, span.first) not in seen:
            seen.add((path, span.first))
            yield _piece(path, source, span.around(span.first))


def suspects(context: Context) -> Iterator[Piece]:
    """Yield the functions that hold suspected lines, likeliest first, each once; only what may be edited."""
    sources: dict[str, str | None] = {}
    functions: dict[str, list[_Span]] = {}
    shown: set[tuple[str, int]] = set()
    for suspect in context.suspects:
        path, line = suspect.path, suspect.line
        if path not in sources:
            sources[path] = _source(path, context) if may_edit(path, context.territory) else None
            functions[path] = _functions(sources[path] or "")
        source = sources[path]
        if source is None or (path, line) in shown:
            continue
        span = _enclosing(functions[path], line).around(line)
        shown.update((path, number) for number in range(span.first, span.last + 1))
        yield _piece(path, source, span)


def clean(text: str) -> str:
    """Return the text without control characters and such as make it read other than it is."""
    lines = "".join("\n" if c in "\x85\u2028\u2029" else c for c in text)
    return "".join(c for c in lines if c in "\n\t\u00a0" or (c.isprintable() and c not in _INVISIBLE))


def cut(text: str, room: int) -> str:
    """Return the text, its middle left out where it has more than ``room`` bytes."""
    raw = text.encode("utf-8", "replace")
    if len(raw) <= room:
        return text
    mark = "\n[… cut …]\n"
    half = max(0, room - len(mark.encode())) // 2
    return raw[:half].decode("utf-8", "ignore") + mark + raw[len(raw) - half :].decode("utf-8", "ignore")


def _source(path: str, context: Context) -> str | None:
    """Return a source with plain newlines, or None where there is none to show."""
    known = path in context.files or path in context.best.paths
    wanted = known and path.endswith(".py") and may_send(path, context.never_send)
    content = context.read(path) if wanted else None
    if content is None:
        return None
    try:
        return decode(context.veil(path, content))[0].replace("\r\n", "\n")
    except (ValueError, LookupError):
        return None


def _named(source: str, names: list[str]) -> _Span | None:
    """Return where a definition stands, by the names of its classes and its own."""
    try:
        body: list[ast.stmt] = ast.parse(source).body
    except (SyntaxError, ValueError, RecursionError):
        return None
    found: ast.stmt | None = None
    for name in names:
        found = next((node for node in body if getattr(node, "name", None) == name), None)
        body = getattr(found, "body", [])
    return _span(found) if found is not None else None


def _functions(source: str) -> list[_Span]:
    """Return where the functions of a source stand; none, where it does not parse."""
    try:
        return [_span(node) for node in ast.walk(ast.parse(source)) if isinstance(node, _DEF)]
    except (SyntaxError, ValueError, RecursionError):
        return []


def _enclosing(functions: Iterable[_Span], line: int) -> _Span:
    """Return the innermost function around a line, or a few lines around it."""
    spans = [span for span in functions if span.first <= line <= span.last]
    if spans:
        return min(spans, key=lambda span: span.last - span.first)
    return _Span(max(1, line - _BEFORE), line + _AFTER)


def _last_frame(failure: Failure, path: str) -> _Span | None:
    lines = [frame.line for frame in failure.frames if frame.path == path]
    return _Span(max(1, lines[-1] - _BEFORE), lines[-1] + _AFTER) if lines else None


def _span(node: ast.stmt) -> _Span:
    decorators: list[ast.expr] = getattr(node, "decorator_list", [])
    first = min([node.lineno, *(decorator.lineno for decorator in decorators)])
    return _Span(first, node.end_lineno or node.lineno)


def _piece(path: str, source: str, span: _Span) -> Piece:
    lines = source.split("\n")[span.first - 1 : span.last]
    numbered = [f"{number:>5}| {line}" for number, line in enumerate(lines, span.first)]
    return Piece(f"{path}, lines {span.first} to {span.first + len(lines) - 1}", "\n".join(numbered))
