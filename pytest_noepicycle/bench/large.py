"""A large tree: what it costs until the first candidate is scored, and what each costs after it."""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from pytest_noepicycle.bench.speed.subject import Subject, write_subject
from pytest_noepicycle.domain.settings import Settings
from pytest_noepicycle.ports import Box
from pytest_noepicycle.sandbox.choice import choose

SIZES = (200, 20_000)
_IN_A_FOLDER = 100
_FILE = "def of(x):\n    return x + 1\n" * 3
_ENOUGH = 16  # trials until every level of a worker is there


@dataclass(frozen=True, slots=True)
class Cost:
    """For a tree of so many files: seconds once, and milliseconds of a candidate (median)."""

    files: int
    snapshot: float
    open: float
    first: float
    candidate: float


def measure(rounds: int, kind: str, tell: Callable[[str], None], sizes: Sequence[int] = SIZES) -> list[Cost]:
    """Measure trees of several sizes; ``kind`` is the sandbox, or auto."""
    costs = []
    for size in sizes:
        tell(f"{size} files")
        with tempfile.TemporaryDirectory(prefix="noepi-large-") as place:
            Path(place).chmod(0o755)
            costs.append(_measured(_laid_out(Path(place, "shop"), size), size, rounds, kind))
    return costs


def as_text(costs: Sequence[Cost]) -> str:
    """Return a line for each size."""
    head = f"{'files':>7} {'snapshot':>9} {'box':>7} {'first candidate':>16} {'each':>9}"
    rows = (f"{c.files:7} {c.snapshot:7.2f} s {c.open:5.2f} s {c.first:14.2f} s {c.candidate:6.1f} ms" for c in costs)
    return "\n".join([head, *rows])


def as_json(costs: Sequence[Cost]) -> list[dict[str, Any]]:
    """Return the same for programs."""
    return [asdict(cost) for cost in costs]


def _laid_out(folder: Path, files: int) -> Path:
    for number in range(files):
        place = folder / f"part{number // _IN_A_FOLDER}"
        if number % _IN_A_FOLDER == 0:
            place.mkdir(parents=True)
        (place / f"m{number}.py").write_text(_FILE, encoding="utf-8")
    return folder


def _measured(folder: Path, size: int, rounds: int, kind: str) -> Cost:
    began = time.perf_counter()
    subject = write_subject(folder)
    taken = time.perf_counter()
    try:
        box = choose(kind, subject.session, Settings()).open(subject.tree)
        try:
            opened = time.perf_counter()
            first = _seconds(box, subject, 0)
            for number in range(_ENOUGH):
                _seconds(box, subject, number)
            each = statistics.median(_seconds(box, subject, number) for number in range(rounds))
        finally:
            box.close()
    finally:
        subject.tree.close()
    return Cost(size, taken - began, opened - taken, first, each * 1000)


def _seconds(box: Box, subject: Subject, number: int) -> float:
    began = time.perf_counter()
    box.run(subject.trial(number, body_only=True))
    return time.perf_counter() - began
