"""The smallest patch that still does it: hunks and lines that are not needed go, by delta debugging."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from pytest_noepicycle.domain.patch import FileChange, Patch

Keeps = Callable[[Patch], bool]
"""Whether a patch still mends all it should and loses nothing: a warm trial, no proof."""

MOST_TRIALS = 200


@dataclass(frozen=True, slots=True)
class _Piece:
    """A part of a file's change: these lines of the old file give way to those new ones."""

    path: str
    start: int
    end: int
    lines: tuple[bytes, ...]


def minimise(patch: Patch, keeps: Keeps, *, most: int = MOST_TRIALS) -> Patch:
    """Return a patch without what it does not need, after ``most`` trials at the latest.

    Hunks go first, then single lines. The result is a candidate like any other: the proof is to be taken again.
    """
    counted = _Counted(keeps, most)
    best = patch
    for split in (_hunks, _lines):
        pieces = split(best)
        kept = _fewest(pieces, lambda chosen: counted.ask(_joined(patch, chosen)))
        best = _joined(patch, kept)
    return best


class _Counted:
    """Asks at most so many times, and never twice for the same bytes; beyond that nothing more is left out."""

    def __init__(self, keeps: Keeps, most: int) -> None:
        self._keeps, self._left = keeps, most
        self._known: dict[str, bool] = {}

    def ask(self, patch: Patch) -> bool:
        """Return whether the patch still does it, False where it can no longer be tried."""
        if patch.digest not in self._known:
            if self._left <= 0 or not patch.changes:
                return False
            self._left -= 1
            self._known[patch.digest] = self._keeps(patch)
        return self._known[patch.digest]


def _fewest(pieces: Sequence[_Piece], enough: Callable[[Sequence[_Piece]], bool]) -> Sequence[_Piece]:
    """Leave out halves, then quarters, down to single pieces, for as long as the rest is enough."""
    parts = 2
    while len(pieces) > 1:
        size = max(1, len(pieces) // parts)
        chunks = [pieces[n : n + size] for n in range(0, len(pieces), size)]
        smaller = next((rest for rest in _without_each(chunks) if rest and enough(rest)), None)
        if smaller is not None:
            pieces, parts = smaller, max(2, parts - 1)
        elif size == 1:
            break
        else:
            parts = min(len(pieces), parts * 2)
    return pieces


def _without_each(chunks: Sequence[Sequence[_Piece]]) -> Iterable[list[_Piece]]:
    for left_out in range(len(chunks)):
        yield [piece for n, chunk in enumerate(chunks) if n != left_out for piece in chunk]


def _hunks(patch: Patch) -> list[_Piece]:
    """Cut a patch at its hunks; a new or a deleted file is one piece."""
    return [piece for change in patch.changes for piece in _of_change(change)]


def _of_change(change: FileChange) -> list[_Piece]:
    new = _split(change.after)
    return [_Piece(change.path, a, b, tuple(new[c:d])) for a, b, c, d in change.hunks()]


def _lines(patch: Patch) -> list[_Piece]:
    """Cut each hunk further: lines that go, each by itself, and lines that come, each by itself."""
    return [piece for hunk in _hunks(patch) for piece in _single(hunk)]


def _single(hunk: _Piece) -> list[_Piece]:
    if hunk.end - hunk.start == len(hunk.lines):
        return [_Piece(hunk.path, hunk.start + n, hunk.start + n + 1, (line,)) for n, line in enumerate(hunk.lines)]
    if hunk.end > hunk.start and hunk.lines:
        return [hunk]  # which old line a new one stands for cannot be told
    gone = [_Piece(hunk.path, n, n + 1, ()) for n in range(hunk.start, hunk.end)]
    return gone + [_Piece(hunk.path, hunk.start, hunk.start, (line,)) for line in hunk.lines]


def _joined(patch: Patch, pieces: Iterable[_Piece]) -> Patch:
    """Put pieces together again; a file of which none is left stays as it was."""
    by_path: dict[str, list[_Piece]] = {}
    for piece in pieces:
        by_path.setdefault(piece.path, []).append(piece)
    whole = {change.path: change for change in patch.changes}
    return Patch.of(_partly(whole[path], found) for path, found in by_path.items())


def _partly(change: FileChange, pieces: Sequence[_Piece]) -> FileChange:
    if change.after is None:
        return change
    lines = _split(change.before)
    for piece in reversed(pieces):  # they stand in the order of the file
        lines[piece.start : piece.end] = piece.lines
    return FileChange(change.path, change.before, b"".join(lines))


def _split(content: bytes | None) -> list[bytes]:
    parts = (content or b"").split(b"\n")
    return [part + b"\n" for part in parts[:-1]] + ([parts[-1]] if parts[-1] else [])
