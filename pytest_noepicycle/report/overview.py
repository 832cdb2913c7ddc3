"""Several runs side by side: what was mended, at what cost, by which rung, and what failed and why."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from pytest_noepicycle.report import wording
from pytest_noepicycle.report.history import History
from pytest_noepicycle.report.terminal import Paper, folded
from pytest_noepicycle.report.text import harmless


@dataclass(frozen=True, slots=True)
class Told:
    """One run in a row. ``end`` is its stop reason, ``unfinished``, or ``unreadable`` where its record is damaged."""

    run_id: str
    end: str
    why: str
    mended: int = 0
    targets: int = 0
    verified: bool = False
    rungs: tuple[str, ...] = ()
    tokens: int = 0
    usd: float | None = 0.0
    seconds: float = 0.0

    @property
    def cells(self) -> tuple[str, ...]:
        """Return the row for people."""
        mended = f"{self.mended} of {self.targets}"
        costs = f"{self.tokens:,}", wording.money(self.usd), f"{self.seconds:.0f} s"
        return self.run_id, mended, self.end, ", ".join(self.rungs) or "–", *costs


def told(past: History) -> Told:
    """Return a run's row."""
    tokens, _, usd = wording.spent(past)
    return Told(
        past.run_id,
        str(past.stop or "unfinished"),
        wording.what_helped(past) or (past.stop.sentence if past.stop else wording.verdict(past)),
        len(past.fixed),
        len(past.baseline.targets),
        bool(past.result.get("verified")),
        past.helpful if past.result.get("verified") else (),
        tokens,
        usd,
        past.seconds,
    )


def unreadable(run_id: str, why: str) -> Told:
    """Return the row of a run whose record cannot be read."""
    return Told(run_id, "unreadable", why)


def as_json(runs: Iterable[Told]) -> dict[str, Any]:
    """Return the rows and their sums as one JSON document."""
    every = list(runs)
    return {"schema_version": 1, "runs": [entry(one) for one in every], "total": _total(every)}


def entry(one: Told) -> dict[str, Any]:
    """Return one run as JSON; ``stop_reason`` is null where it did not come to its end."""
    over = one.end not in ("unfinished", "unreadable")
    return {
        "run_id": one.run_id,
        "finished": over,
        "stop_reason": one.end if over else None,
        "why": one.why,
        "mended": one.mended,
        "targets": one.targets,
        "verified": one.verified,
        "rungs": list(one.rungs),
        "tokens": one.tokens,
        "cost_usd": one.usd,
        "duration_s": round(one.seconds, 3),
    }


def render(runs: Iterable[Told], paper: Paper) -> None:
    """Write the table and its sums; beneath a run that is not solved stands why."""
    every = list(runs)
    rows = [("run", "mended", "end", "by", "tokens", "money", "time"), *(one.cells for one in every)]
    shown = [tuple(harmless(cell, longest=60).replace("\n", " ") for cell in row) for row in rows]
    widths = [max(len(cell) for cell in column) for column in zip(*shown, strict=True)]
    for one, row in zip((None, *every), shown, strict=True):
        line = "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        paper.line(line, bold=one is None, green=one is not None and one.verified)
        if one is not None and one.end != "solved":
            folded(one.why, paper, indent="    ", hang="")
    total = _total(every)
    paper.line("")
    by = ", ".join(f"{rung} {count}" for rung, count in total["by_rung"].items())
    paper.line(
        f"{len(every)} run{'' if len(every) == 1 else 's'}, {total['mended']} tests mended, "
        f"{total['tokens']:,} tokens, "
        f"{wording.money(total['cost_usd'])}{'; helpful in so many runs: ' + by if by else ''}"
    )


def _total(runs: list[Told]) -> dict[str, Any]:
    """Return the sums; money is null as soon as that of one run is not known."""
    by_rung: dict[str, int] = {}
    by_end: dict[str, int] = {}
    for one in runs:
        by_end[one.end] = by_end.get(one.end, 0) + 1
        for rung in one.rungs:
            by_rung[rung] = by_rung.get(rung, 0) + 1
    known = [one.usd for one in runs if one.usd is not None]
    return {
        "mended": sum(one.mended for one in runs),
        "tokens": sum(one.tokens for one in runs),
        "cost_usd": sum(known) if len(known) == len(runs) else None,
        "by_rung": by_rung,
        "by_end": by_end,
    }
