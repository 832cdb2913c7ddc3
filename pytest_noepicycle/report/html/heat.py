"""Tests × attempts: what became of each test in each attempt, tests with the same course in one row."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from pytest_noepicycle.report.history import History, Step

MEANING: Mapping[str, tuple[str, str]] = {
    "f": ("·", "fails still"),
    "t": ("○", "passed with a candidate that was not kept"),
    "n": ("✓", "mended in this attempt"),
    "k": ("▪", "stays mended"),
    "r": ("✗", "passed, but the proof did not hold"),
    "g": ("–", "passes, as before"),
    "b": ("!", "broken by a candidate, which was not kept"),
}
"""By its letter, the sign of a cell and what it means."""
MOST_ROWS, MOST_COLUMNS = 200, 60


@dataclass(frozen=True, slots=True)
class Row:
    """One course: the tests that have it in common, and a letter of :data:`MEANING` for each attempt."""

    tests: tuple[str, ...]
    cells: str
    guard: bool = False


@dataclass(frozen=True, slots=True)
class Heat:
    """The rows, over the attempts with these numbers; what is left out is counted."""

    rows: tuple[Row, ...]
    columns: tuple[int, ...]
    rows_left_out: int = 0
    columns_left_out: int = 0

    @property
    def letters(self) -> tuple[str, ...]:
        """Return the letters that occur, in the order of their meaning."""
        return tuple(letter for letter in MEANING if any(letter in row.cells for row in self.rows))


def heat(past: History) -> Heat:
    """Return the map of a run: its targets, and those guards that a candidate broke."""
    targets = past.baseline.targets
    broken = dict.fromkeys(test for step in past.steps for test in _lost(step))
    passed = [{test for candidate in step.candidates for test in candidate.fixed} for step in past.steps]
    lost = [_lost(step) for step in past.steps]
    courses = [(test, _course(test, past.steps, passed), False) for test in targets]
    courses += [(test, "".join("b" if test in some else "g" for some in lost), True) for test in broken]
    rows = _together(courses)
    skipped = max(0, len(past.steps) - MOST_COLUMNS)
    shown = tuple(Row(row.tests, row.cells[skipped:], row.guard) for row in rows[:MOST_ROWS])
    columns = tuple(step.attempt.iteration for step in past.steps[skipped:])
    return Heat(shown, columns, max(0, len(rows) - MOST_ROWS), skipped)


def _lost(step: Step) -> set[str]:
    return {*step.attempt.broken, *(test for candidate in step.candidates for test in candidate.lost)}


def _course(test: str, steps: Sequence[Step], passed: Sequence[set[str]]) -> str:
    letters, mended = [], False
    for step, some in zip(steps, passed, strict=True):
        if test in step.attempt.fixed:
            letters.append("r" if step.refuted else "n")
            mended = True
        elif mended:
            letters.append("r" if step.refuted else "k")
        else:
            letters.append("t" if test in some else "f")
        mended = mended and not step.refuted
    return "".join(letters)


def _together(courses: Iterable[tuple[str, str, bool]]) -> list[Row]:
    grouped: dict[tuple[str, bool], list[str]] = {}
    for test, cells, guard in courses:
        grouped.setdefault((cells, guard), []).append(test)
    return [Row(tuple(tests), cells, guard) for (cells, guard), tests in grouped.items()]
