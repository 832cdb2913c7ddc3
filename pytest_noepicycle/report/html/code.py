"""A diff as rows: numbered lines in Pygments' colours, and the flags of a reviewer beneath the lines they mean."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from markupsafe import Markup

from pytest_noepicycle.domain.evidence import Flag
from pytest_noepicycle.report.text import harmless

LONGEST_LINE = 300  # characters of one line of code
_HUNK = re.compile(r"@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@")
_KINDS = {"+": "add", "-": "del", " ": "same", "\\": "note"}


@dataclass(frozen=True, slots=True)
class Line:
    """One line: ``kind`` is add, del, same, note or hunk; ``code`` is coloured and safe."""

    kind: str
    code: Markup
    old: int | None = None
    new: int | None = None
    flags: tuple[Flag, ...] = ()

    @property
    def sign(self) -> str:
        """Return what stands before the code, so that no reader depends on a colour."""
        return {"add": "+", "del": "−"}.get(self.kind, "")


@dataclass(frozen=True, slots=True)
class FileDiff:
    """The changed lines of one file; ``flags`` are those of the file as a whole, ``left_out`` counts lines."""

    path: str
    lines: tuple[Line, ...]
    flags: tuple[Flag, ...] = ()
    left_out: int = 0


def coloured(diff: str, flags: Iterable[Flag] = (), *, most: int = 400) -> tuple[FileDiff, ...]:
    """Return a unified diff file by file, ``most`` lines of it at the most."""
    every, found, room = tuple(flags), [], most
    for part in re.split(r"(?m)^(?=diff --git )", diff):
        if part.strip():
            path, body = _header(part)
            own = [flag for flag in every if flag.path == path]
            shown = _lines(path, body[:room], own)
            whole = tuple(flag for flag in own if flag.line == 0)
            found.append(FileDiff(harmless(path, longest=300), shown, whole, max(0, len(body) - room)))
            room = max(0, room - len(body))
    return tuple(found)


def _header(part: str) -> tuple[str, list[str]]:
    """Return the path of a file's diff, and its lines from the first hunk on."""
    lines = part.rstrip("\n").split("\n")
    start = next((n for n, line in enumerate(lines) if line.startswith("@@")), len(lines))
    names = [_unquoted(line[4:]) for line in lines[:start] if line.startswith(("--- ", "+++ "))]
    path = next((name[2:] for name in reversed(names) if name != "/dev/null"), "")
    return path or lines[0].rpartition(" b/")[2], lines[start:]


def _unquoted(name: str) -> str:
    """Return a path that git has quoted as it is: octal escapes are the bytes of UTF-8."""
    if not name.startswith('"'):
        return name
    raw = re.sub(
        rb"\\([0-7]{3}|.)",
        lambda found: bytes([int(found[1], 8) & 255]) if len(found[1]) == 3 else _ESCAPES.get(found[1], found[1]),
        name.strip('"').encode("utf-8", "replace"),
    )
    return raw.decode("utf-8", "replace")


_ESCAPES = {b"n": b"\n", b"t": b"\t", b"r": b"\r", b"a": b"\a", b"b": b"\b", b"f": b"\f", b"v": b"\v"}


def _lines(path: str, body: list[str], flags: list[Flag]) -> tuple[Line, ...]:
    codes = _colours(path, [line if line.startswith("@@") else line[1:] for line in body])
    found, old, new = [], 0, 0
    for line, code in zip(body, codes, strict=True):
        hunk = _HUNK.match(line)
        if hunk:
            old, new = int(hunk[1]), int(hunk[2])
            found.append(Line("hunk", Markup.escape(harmless(line, longest=80))))
            continue
        kind = _KINDS.get(line[:1], "same")
        row = Line(kind, code, old if kind in ("del", "same") else None, new if kind in ("add", "same") else None)
        own = tuple(flag for flag in flags if kind == "add" and flag.line == new)
        found.append(replace(row, flags=own))
        old, new = old + (kind in ("del", "same")), new + (kind in ("add", "same"))
    return tuple(found)


def _colours(path: str, lines: list[str]) -> list[Markup]:
    """Return the lines in colours; they are made harmless before, and escaped by Pygments."""
    from pygments import highlight
    from pygments.formatters import HtmlFormatter

    text = "\n".join(_one_line(line) for line in lines)
    shown = highlight(text, _lexer(path), HtmlFormatter(nowrap=True)).split("\n")[: len(lines)]
    if len(shown) != len(lines):
        return [Markup.escape(_one_line(line)) for line in lines]
    return [Markup(line) for line in shown]  # Pygments escapes what it formats


def _one_line(line: str) -> str:
    return harmless(line[: 2 * LONGEST_LINE], longest=LONGEST_LINE).replace("\n", " ")


def _lexer(path: str) -> Any:
    from pygments.lexers import get_lexer_for_filename
    from pygments.lexers.special import TextLexer
    from pygments.util import ClassNotFound

    try:
        return get_lexer_for_filename(path.rpartition("/")[2] or "text", stripnl=False, ensurenl=True)
    except ClassNotFound:
        return TextLexer(stripnl=False, ensurenl=True)
