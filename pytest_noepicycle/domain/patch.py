"""A patch as data: whole files, byte for byte, before and after. Text appears only for readers."""

from __future__ import annotations

import difflib
import hashlib
import itertools
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal

Opcode = tuple[Literal["replace", "delete", "insert", "equal"], int, int, int, int]


@dataclass(frozen=True, slots=True)
class FileChange:
    """One file: ``before`` is None where it is new, ``after`` None where it is deleted."""

    path: str
    before: bytes | None
    after: bytes | None

    def hunks(self) -> tuple[tuple[int, int, int, int], ...]:
        """Return the changed line ranges (before start, before end, after start, after end), from zero."""
        return tuple(op[1:] for op in _edits(_lines(self.before), _lines(self.after)))

    def touched_lines(self) -> frozenset[int]:
        """Return the 1-based lines of the old file that the change replaces, or stands beside."""
        touched: set[int] = set()
        for start, end, _, _ in self.hunks():
            touched.update(range(start + 1, max(end, start + 1) + 1))
        return frozenset(touched)


@dataclass(frozen=True, slots=True)
class Patch:
    """A set of file changes against the baseline, in order of their paths; empty is the baseline itself."""

    changes: tuple[FileChange, ...] = ()

    @classmethod
    def of(cls, changes: Iterable[FileChange]) -> Patch:
        """Return a patch without the changes that change nothing."""
        return cls(tuple(sorted((c for c in changes if c.before != c.after), key=lambda c: c.path)))

    @property
    def paths(self) -> tuple[str, ...]:
        """Return the changed paths, sorted, relative to the tree, with forward slashes."""
        return tuple(change.path for change in self.changes)

    @property
    def digest(self) -> str:
        """Return a name for the exact bytes: equal patches have equal digests."""
        name = hashlib.sha256()
        for change in self.changes:
            name.update(repr((change.path, change.before, change.after)).encode())
        return name.hexdigest()[:20]

    def files(self) -> dict[str, bytes | None]:
        """Return the new content by path; None deletes."""
        return {change.path: change.after for change in self.changes}

    def read(self, path: str, baseline: Callable[[str], bytes | None]) -> bytes | None:
        """Return the file as it is with this patch, asking ``baseline`` for what is not changed."""
        for change in self.changes:
            if change.path == path:
                return change.after
        return baseline(path)

    def with_file(self, path: str, after: bytes | None, baseline: Callable[[str], bytes | None]) -> Patch:
        """Return this patch with one more file set; the before-image stays that of the baseline."""
        others = [change for change in self.changes if change.path != path]
        return Patch.of([*others, FileChange(path, baseline(path), after)])

    def counts(self) -> tuple[int, int]:
        """Return how many lines are added and removed."""
        added = removed = 0
        for change in self.changes:
            for old_start, old_end, new_start, new_end in change.hunks():
                added, removed = added + new_end - new_start, removed + old_end - old_start
        return added, removed

    def diff(self) -> bytes:
        """Return a unified diff that ``git apply`` takes, the files' own bytes kept."""
        return b"".join(_file_diff(change) for change in self.changes)


@dataclass(frozen=True, slots=True)
class Proposal:
    """A patch with the reason its rung gives for it."""

    patch: Patch
    note: str
    detail: Mapping[str, str] = field(default_factory=dict)


def _lines(content: bytes | None) -> list[bytes]:
    """Split at newlines only: form feeds and lone carriage returns belong to a line, as they do for git."""
    if not content:
        return []
    parts = content.split(b"\n")
    return [part + b"\n" for part in parts[:-1]] + ([parts[-1]] if parts[-1] else [])


def _file_diff(change: FileChange) -> bytes:
    old_name = b"/dev/null" if change.before is None else _quoted("a/" + change.path)
    new_name = b"/dev/null" if change.after is None else _quoted("b/" + change.path)
    header = b"diff --git " + _quoted("a/" + change.path) + b" " + _quoted("b/" + change.path) + b"\n"
    if change.before is None:
        header += b"new file mode 100644\n"
    elif change.after is None:
        header += b"deleted file mode 100644\n"
    body = b"".join(
        line if line.endswith(b"\n") else line + b"\n\\ No newline at end of file\n"
        for line in _unified(_lines(change.before), _lines(change.after))
    )
    return header + b"--- " + old_name + b"\n+++ " + new_name + b"\n" + body


def _unified(old: list[bytes], new: list[bytes]) -> Iterable[bytes]:
    for group in _Lines(old, new).get_grouped_opcodes(3):
        first, last = group[0], group[-1]
        yield f"@@ -{_span(first[1], last[2])} +{_span(first[3], last[4])} @@\n".encode()
        for tag, i1, i2, j1, j2 in group:
            if tag == "equal":
                yield from (b" " + line for line in old[i1:i2])
                continue
            yield from (b"-" + line for line in old[i1:i2])
            yield from (b"+" + line for line in new[j1:j2])


def _span(start: int, stop: int) -> str:
    length = stop - start
    if length == 1:
        return str(start + 1)
    return f"{start if length == 0 else start + 1},{length}"


def _quoted(name: str) -> bytes:
    """Quote a path as git does where it holds more than plain characters."""
    raw = name.encode("utf-8", "surrogateescape")
    if all(32 < byte < 127 and byte not in b'"\\' for byte in raw):
        return raw
    escapes = {
        7: "\\a",
        8: "\\b",
        9: "\\t",
        10: "\\n",
        11: "\\v",
        12: "\\f",
        13: "\\r",
        34: '\\"',
        92: "\\\\",
    }
    text = "".join(escapes.get(byte) or (chr(byte) if 32 <= byte < 127 else f"\\{byte:03o}") for byte in raw)
    return f'"{text}"'.encode()


def merge(origin: Patch, ours: Patch, theirs: Patch) -> Patch | None:
    """Join two patches that both grew from ``origin``; None where they touch the same lines of a file."""
    changes = {change.path: change for change in ours.changes}
    for change in theirs.changes:
        start = _content(origin, change)
        mine = changes.get(change.path)
        if mine is None or mine.after == start:
            changes[change.path] = change
        elif change.after not in (start, mine.after):
            joined = _join(_lines(start), _lines(mine.after), _lines(change.after))
            if joined is None:
                return None
            changes[change.path] = FileChange(change.path, change.before, joined)
    return Patch.of(changes.values())


def _content(patch: Patch, change: FileChange) -> bytes | None:
    return patch.read(change.path, lambda _: change.before)


def _join(base: list[bytes], ours: list[bytes], theirs: list[bytes]) -> bytes | None:
    """Apply both sets of line edits to the base where none of them meet."""
    edits = [(*op[1:3], ours[op[3] : op[4]]) for op in _edits(base, ours)]
    edits += [(*op[1:3], theirs[op[3] : op[4]]) for op in _edits(base, theirs)]
    edits.sort(key=lambda edit: edit[:2])
    if any(left[1] >= right[0] for left, right in itertools.pairwise(edits)):
        return None
    for start, end, lines in reversed(edits):
        base = [*base[:start], *lines, *base[end:]]
    return b"".join(base)


def _edits(old: list[bytes], new: list[bytes]) -> list[Opcode]:
    return [op for op in _Lines(old, new).get_opcodes() if op[0] != "equal"]


class _Lines(difflib.SequenceMatcher[bytes]):
    """Compares two lists of lines, quickly where they differ in few places: equal ends are not looked at."""

    def __init__(self, old: list[bytes], new: list[bytes]) -> None:
        shorter = min(len(old), len(new))
        self._head = next((i for i in range(shorter) if old[i] != new[i]), shorter)
        rest = shorter - self._head
        self._tail = next((i for i in range(rest) if old[-1 - i] != new[-1 - i]), rest)
        self._whole = len(old), len(new)
        middle = slice(self._head, len(old) - self._tail), slice(self._head, len(new) - self._tail)
        super().__init__(None, old[middle[0]], new[middle[1]], autojunk=False)

    def get_opcodes(self) -> list[Opcode]:
        """Return the steps from old to new, with the equal ends put back."""
        head, (old, new) = self._head, self._whole
        steps: list[Opcode] = [("equal", 0, head, 0, head)] if head else []
        steps += [(tag, i1 + head, i2 + head, j1 + head, j2 + head) for tag, i1, i2, j1, j2 in super().get_opcodes()]
        if self._tail:
            steps.append(("equal", old - self._tail, old, new - self._tail, new))
        return steps
