"""A strict reader of unified diffs, on bytes: what it cannot read exactly it does not read at all."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from pytest_noepicycle.errors import PatchError

_HUNK = re.compile(rb"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")
_ESCAPE = re.compile(rb"\\([0-7]{3}|.)")
_LETTERS = {b"a": b"\a", b"b": b"\b", b"f": b"\f", b"n": b"\n", b"r": b"\r", b"t": b"\t", b"v": b"\v"}
NOTHING = b"/dev/null"
_HINT = "Make it with: git diff --binary --no-color --no-ext-diff > change.patch"


@dataclass(frozen=True, slots=True)
class Hunk:
    """Lines to find and lines to put there, newlines included; ``start`` is the first line, from zero."""

    start: int
    old: tuple[bytes, ...]
    new: tuple[bytes, ...]


@dataclass(slots=True)
class FileDiff:
    """What a diff says of one file; names are as in the tree, None where there is no such side."""

    old: str | None = None
    new: str | None = None
    old_mode: str = ""
    new_mode: str = ""
    binary: bool = False
    copied: bool = False
    hunks: list[Hunk] = field(default_factory=list)

    def applied_to(self, before: bytes | None) -> bytes:
        """Return the file with every hunk in its place.

        :raises PatchError: where a hunk's lines are not there, or are in more than one place and not where it says.
        """
        lines, done, shift, at = _lines(before or b""), list[bytes](), 0, 0
        for number, hunk in enumerate(self.hunks, start=1):
            place = self._place(number, hunk, lines, at, hunk.start + shift)
            done += [*lines[at:place], *hunk.new]
            at, shift = place + len(hunk.old), place - hunk.start
        return b"".join([*done, *lines[at:]])

    def _place(self, number: int, hunk: Hunk, lines: Sequence[bytes], at: int, wanted: int) -> int:
        size = len(hunk.old)
        if wanted >= at and tuple(lines[wanted : wanted + size]) == hunk.old and wanted + size <= len(lines):
            return wanted
        found = [n for n in range(at, len(lines) - size + 1) if tuple(lines[n : n + size]) == hunk.old]
        if size == 0 or len(found) != 1:
            raise PatchError(f"{self.new or self.old}: hunk {number} does not fit the file", hint=_HINT)
        return found[0]


def read_diff(data: bytes) -> tuple[FileDiff, ...]:
    """Read a unified diff, git's or plain.

    :raises PatchError: where it is none, or one that two programs could read in two ways.
    """
    reader = _Reader(_lines(data))
    files = reader.files()
    if not files:
        raise PatchError("the patch holds no change of any file", hint=_HINT)
    return files


class _Reader:
    """Walks the lines of a diff once."""

    def __init__(self, lines: Sequence[bytes]) -> None:
        self._lines, self._at = lines, 0
        self._files: list[FileDiff] = []
        self._file: FileDiff | None = None

    def files(self) -> tuple[FileDiff, ...]:
        """Return the files of the diff, in their order."""
        while self._at < len(self._lines):
            line = self._lines[self._at]
            self._at += 1
            if line.startswith(b"diff --git "):
                self._begin(line)
            elif line.startswith(b"--- ") and self._peek().startswith(b"+++ "):
                self._names(line)
            elif line.startswith(b"@@ ") and self._file is not None:
                self._hunk(line)
            elif line[:1] in (b"+", b"-", b" ") and self._file is not None and self._file.hunks and _is_content(line):
                raise PatchError(f"line {self._at} of the patch stands outside of a hunk", hint=_HINT)
            elif self._file is not None:
                self._header(line)
        return tuple(self._files)

    def _peek(self) -> bytes:
        return self._lines[self._at] if self._at < len(self._lines) else b""

    def _begin(self, line: bytes) -> None:
        self._file = FileDiff()
        self._files.append(self._file)
        name = _same_name(line[len(b"diff --git ") :].rstrip(b"\r\n"))
        if name is not None:
            self._file.old = self._file.new = name

    def _header(self, line: bytes) -> None:
        file, text = self._file, line.rstrip(b"\r\n")
        if file is None or file.hunks:
            return
        for start, take in _HEADERS:
            if text.startswith(start):
                take(file, text[len(start) :])
                return

    def _names(self, line: bytes) -> None:
        """Read ``---`` and ``+++``; without git's header they begin a file of their own."""
        plus = self._lines[self._at]
        self._at += 1
        if self._file is None or self._file.hunks:
            self._file = FileDiff()
            self._files.append(self._file)
        self._file.old, self._file.new = _name(line[4:]), _name(plus[4:])

    def _hunk(self, line: bytes) -> None:
        match = _HUNK.match(line)
        if match is None or self._file is None:
            raise PatchError(f"line {self._at} of the patch is no header of a hunk", hint=_HINT)
        start, many_old, _, many_new = (int(part) if part else 1 for part in match.groups())
        old: list[bytes] = []
        new: list[bytes] = []
        while len(old) < many_old or len(new) < many_new or self._peek().startswith(b"\\"):
            self._take(old, new)
        if len(old) != many_old or len(new) != many_new:
            raise PatchError(f"line {self._at} of the patch: a hunk is longer than it says", hint=_HINT)
        first = start - 1 if many_old else start
        self._file.hunks.append(Hunk(first, tuple(old), tuple(new)))

    def _take(self, old: list[bytes], new: list[bytes]) -> None:
        if self._at >= len(self._lines):
            raise PatchError("the patch ends in the middle of a hunk", hint=_HINT)
        line = self._lines[self._at]
        self._at += 1
        sign, body = line[:1], line[1:]
        if sign == b"\\":
            for side in _sides(self._lines[self._at - 2][:1], old, new):
                side[-1] = side[-1].removesuffix(b"\n")
            return
        if sign in (b"\n", b"\r"):  # some programs drop the blank of an empty line
            sign, body = b" ", line
        sides = _sides(sign, old, new)
        if not sides:
            raise PatchError(f"line {self._at} of the patch is no line of a hunk", hint=_HINT)
        for side in sides:
            side.append(body)


def _sides(sign: bytes, old: list[bytes], new: list[bytes]) -> list[list[bytes]]:
    return {b" ": [old, new], b"-": [old], b"+": [new]}.get(sign, [])


def _is_content(line: bytes) -> bool:
    """A mail's signature, ``-- `` and a version, may follow the last hunk."""
    return line.rstrip() != b"--" and bool(line.strip())


def _same_name(text: bytes) -> str | None:
    """Return the name in ``a/name b/name``; it is needed where neither hunks nor a rename tell it."""
    half = len(text) // 2
    first, second = text[:half], text[half + 1 :]
    old, new = _name(first), _name(second)
    return old if text[half : half + 1] == b" " and old == new else None


def _name(text: bytes) -> str | None:
    """Return a path without git's ``a/`` or ``b/``, unquoted, without the time that other programs add."""
    text = text.rstrip(b"\r\n")
    text = _unquoted(text) if text.startswith(b'"') else text.split(b"\t")[0]
    if text == NOTHING:
        return None
    return (text[2:] if text[:2] in (b"a/", b"b/") else text).decode("utf-8", "surrogateescape")


def _plain_name(text: bytes) -> str:
    return (_unquoted(text) if text.startswith(b'"') else text).decode("utf-8", "surrogateescape")


def _unquoted(text: bytes) -> bytes:
    body = text[1 : text.rindex(b'"')] if text.count(b'"') > 1 else text
    return _ESCAPE.sub(_unescaped, body)


def _unescaped(found: re.Match[bytes]) -> bytes:
    code = found[1]
    return bytes([int(code, 8) & 0xFF]) if code.isdigit() else _LETTERS.get(code, code)


def _lines(data: bytes) -> list[bytes]:
    parts = data.split(b"\n")
    return [part + b"\n" for part in parts[:-1]] + ([parts[-1]] if parts[-1] else [])


def _old_mode(file: FileDiff, text: bytes) -> None:
    file.old_mode = text.decode("ascii", "replace").strip()


def _new_mode(file: FileDiff, text: bytes) -> None:
    file.new_mode = text.decode("ascii", "replace").strip()


def _made(file: FileDiff, text: bytes) -> None:
    _new_mode(file, text)
    file.old = None


def _deleted(file: FileDiff, text: bytes) -> None:
    _old_mode(file, text)
    file.new = None


def _index(file: FileDiff, text: bytes) -> None:
    _, _, mode = text.partition(b" ")
    if mode:
        _old_mode(file, mode)
        _new_mode(file, mode)


def _from(file: FileDiff, text: bytes) -> None:
    file.old = _plain_name(text)


def _to(file: FileDiff, text: bytes) -> None:
    file.new = _plain_name(text)


def _copy_from(file: FileDiff, text: bytes) -> None:
    file.copied = True
    _from(file, text)


def _binary(file: FileDiff, text: bytes) -> None:
    file.binary = True


_HEADERS = (
    (b"old mode ", _old_mode),
    (b"new mode ", _new_mode),
    (b"new file mode ", _made),
    (b"deleted file mode ", _deleted),
    (b"index ", _index),
    (b"rename from ", _from),
    (b"rename to ", _to),
    (b"copy from ", _copy_from),
    (b"copy to ", _to),
    (b"GIT binary patch", _binary),
    (b"Binary files ", _binary),
)
