"""What became of a planted fault, and the table that says so."""

from __future__ import annotations

import ast
import json
import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

from pytest_noepicycle.report import journal


class Mended(StrEnum):
    """How well a fault was mended."""

    EXACTLY = "exactly"  # the code means again what it meant before
    PLAUSIBLE = "plausible"  # other code, and the package's own suite is green
    NOT = "not"
    DISPROVED = "disproved"  # it was called solved, and the suite is not green
    CRASHED = "crashed"  # it left no readable result


@dataclass(frozen=True, slots=True)
class Outcome:
    """One planted fault and what the repair made of it; ``seconds`` of the whole command, plain run included."""

    package: str
    key: str
    place: str
    family: str
    before: str
    after: str
    failing: int
    stop_reason: str
    mended: Mended
    seconds: float
    candidates: int
    written: str = ""


def judge(solved: bool | None, *, green: bool, same: bool) -> Mended:
    """Return how well it was mended: ``solved`` is its own claim (None: no result), the others were checked."""
    if solved is None:
        return Mended.CRASHED
    if not solved:
        return Mended.NOT
    if not green:
        return Mended.DISPROVED
    return Mended.EXACTLY if same else Mended.PLAUSIBLE


def same_code(one: str, other: str) -> bool:
    """Whether two sources are equal, but for layout and comments."""
    try:
        return one == other or ast.dump(ast.parse(one)) == ast.dump(ast.parse(other))
    except SyntaxError:
        return False


def read_result(tree: Path) -> dict[str, Any]:
    """Return the result of the only run recorded in a tree; empty where there is none that can be read."""
    for file in tree.glob(".noepi/runs/*/result.json"):
        try:
            result: dict[str, Any] = json.loads(file.read_text("utf-8"))
        except ValueError:
            return {}
        return result
    return {}


def candidates_tried(tree: Path) -> int:
    """Return how many candidates the attempts of the recorded run tried."""
    journals = tree.glob(".noepi/runs/*/decisions.jsonl")
    events = (event for file in journals for event in journal.read(file))
    return sum(event["candidates"] for event in events if event["event"] == "attempt")


def append(file: Path, entry: Mapping[str, Any]) -> None:
    """Write an entry as one line of JSON, on a line of its own even where the run before was killed in the middle."""
    cut = file.is_file() and not file.read_bytes().endswith(b"\n")
    with file.open("a", encoding="utf-8") as stream:
        stream.write(("\n" if cut else "") + json.dumps(entry, ensure_ascii=False) + "\n")


def read_results(file: Path) -> tuple[dict[str, Outcome], frozenset[str]]:
    """Return the finished outcomes of a results file by key, and the keys of unfit sites.

    A line that a kill cut short is left out, and so is a crash: it is worth another try.
    """
    outcomes: dict[str, Outcome] = {}
    unfit: set[str] = set()
    for line in file.read_text("utf-8").splitlines() if file.is_file() else ():
        try:
            entry: dict[str, Any] = json.loads(line)
        except ValueError:
            continue  # the last line of a run that was killed
        if "unfit" in entry:
            unfit.add(entry["key"])
        elif entry["mended"] != Mended.CRASHED:
            outcomes[entry["key"]] = Outcome(**{**entry, "mended": Mended(entry["mended"])})
    return outcomes, frozenset(unfit)


def totals(outcomes: Sequence[Outcome]) -> dict[str, int | float]:
    """Return how many there are of each kind, and the median of their seconds and candidates."""
    counts: dict[str, int | float] = {"faults": len(outcomes)}
    counts.update({kind.value: sum(o.mended is kind for o in outcomes) for kind in Mended})
    counts["median_seconds"] = round(statistics.median([o.seconds for o in outcomes] or [0]), 1)
    counts["median_candidates"] = statistics.median([o.candidates for o in outcomes] or [0])
    return counts


def grouped(outcomes: Sequence[Outcome], name: Callable[[Outcome], str]) -> dict[str, dict[str, int | float]]:
    """Return the totals of each group, by its name."""
    names = sorted({name(outcome) for outcome in outcomes})
    return {one: totals([o for o in outcomes if name(o) == one]) for one in names}


def as_text(outcomes: Sequence[Outcome]) -> str:
    """Return every outcome as a table, and below it the totals by package, by family and of all."""
    header = ("package", "place", "fault", "failing", "stop reason", "mended", "seconds", "candidates")
    groups = {**grouped(outcomes, lambda o: o.package), **grouped(outcomes, lambda o: o.family)}
    groups["all"] = totals(outcomes)
    return f"{aligned([header, *map(_row, outcomes)])}\n\n{aligned(_total_rows(groups))}\n"


def _row(outcome: Outcome) -> tuple[str, ...]:
    what = f"{_cut(outcome.before)} → {_cut(outcome.after)}"
    numbers = (f"{outcome.seconds:.1f}", str(outcome.candidates))
    return outcome.package, outcome.place, what, str(outcome.failing), outcome.stop_reason, outcome.mended, *numbers


def _cut(text: str, width: int = 44) -> str:
    return text if len(text) <= width else text[: width - 1] + "…"


def _total_rows(groups: Mapping[str, Mapping[str, int | float]]) -> list[tuple[str, ...]]:
    header = ("", *next(iter(groups.values())))
    return [tuple(header), *((name, *map(str, counts.values())) for name, counts in groups.items())]


def aligned(rows: Iterable[Sequence[str]]) -> str:
    """Return rows as lines of text whose columns begin at the same place."""
    table = [list(row) for row in rows]
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    lines = ("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in table)
    return "\n".join(line.rstrip() for line in lines)
