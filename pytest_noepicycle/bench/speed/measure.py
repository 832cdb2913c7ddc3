"""All ways in turn, round after round, so that what else the machine does falls on each of them alike."""

from __future__ import annotations

import os
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

from pytest_noepicycle.bench.speed.subject import Subject, write_subject
from pytest_noepicycle.bench.speed.ways import Try, Way, ways, worker
from pytest_noepicycle.errors import NoepiError
from pytest_noepicycle.inside.levels import COLLECTED

_AT_ONCE = 20  # candidates that one worker, and then two, get through
_WINDOWS = 5


@dataclass(frozen=True, slots=True)
class Row:
    """One way: ``times`` in milliseconds, ``ratios`` to the first way in the same round; or why there is nothing."""

    name: str
    times: tuple[float, ...] = ()
    ratios: tuple[float, ...] = ()
    missing: str = ""


@dataclass(frozen=True, slots=True)
class Table:
    """The rows, and how many times as many candidates two workers get through as one does."""

    rounds: int
    cores: int
    rows: tuple[Row, ...]
    two: Row = field(default_factory=lambda: Row("two workers"))


def measure(rounds: int, kinds: tuple[str, ...], tell: Callable[[str], None]) -> Table:
    """Measure every way that can be had here; ``tell`` hears what goes on."""
    with tempfile.TemporaryDirectory(prefix="noepi-speed-") as place, ExitStack() as stack:
        Path(place).chmod(0o755)
        folder = Path(place, "shop")
        folder.mkdir()
        subject = write_subject(folder)
        stack.callback(subject.tree.close)
        found = ways(kinds)
        opened = {way.name: _opened(way, subject, stack, tell) for way in found}
        times: dict[str, list[float]] = {way.name: [] for way in found}
        for number in range(rounds):
            tell(f"round {number + 1} of {rounds}")
            for way in found:
                run = opened[way.name]
                if not isinstance(run, str) and not (way.once and number):
                    times[way.name].append(_timed(run, number))
        rows = tuple(_row(way, opened[way.name], times[way.name], times[found[0].name]) for way in found)
        return Table(rounds, os.cpu_count() or 1, rows, _two_workers(subject, kinds, min(rounds, _WINDOWS), tell))


def _opened(way: Way, subject: Subject, stack: ExitStack, tell: Callable[[str], None]) -> Try | str:
    """Return the way ready for use, or why it cannot be had."""
    tell(way.name)
    try:
        run: Try = stack.enter_context(way.open(subject))
        run(0)  # what is done once is not what a candidate costs
    except (NoepiError, OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    return run


def _timed(run: Try, number: int) -> float:
    """Return milliseconds."""
    began = time.perf_counter()
    own = run(number)
    return (time.perf_counter() - began) * 1000 if own is None else own


def _row(way: Way, opened: Try | str, times: Sequence[float], measure_of_all: Sequence[float]) -> Row:
    if isinstance(opened, str):
        return Row(way.name, missing=opened)
    ratios = tuple(one / other for one, other in zip(times, measure_of_all, strict=False))
    return Row(way.name, tuple(times), ratios)


def _two_workers(subject: Subject, kinds: tuple[str, ...], windows: int, tell: Callable[[str], None]) -> Row:
    """Return the gain of a second worker: the same number of candidates through one, and through two."""
    kind = kinds[-1]
    name = f"two workers to one, {kind}"
    tell(name)
    try:
        with ExitStack() as stack:
            runs = [stack.enter_context(worker(kind, COLLECTED, body_only=True)(subject)) for _ in range(2)]
            pairs = [(_window(runs[:1]), _window(runs)) for _ in range(windows)]
    except NoepiError as error:
        return Row(name, missing=str(error))
    return Row(name, tuple(two for _, two in pairs), tuple(one / two for one, two in pairs))


def _window(runs: Sequence[Try]) -> float:
    """Return the milliseconds in which the workers get through their candidates together."""
    shares = [range(start, _AT_ONCE, len(runs)) for start in range(len(runs))]
    began = time.perf_counter()
    with ThreadPoolExecutor(len(runs)) as threads:
        list(threads.map(lambda run, share: [run(number) for number in share], runs, shares))
    return (time.perf_counter() - began) * 1000


def spread(values: Sequence[float]) -> tuple[float, float, float]:
    """Return the median and the quartiles around it.

    :raises ValueError: where there are none.
    """
    if len(values) == 1:
        return values[0], values[0], values[0]
    lower, middle, upper = statistics.quantiles(values, n=4, method="inclusive")
    return middle, lower, upper
