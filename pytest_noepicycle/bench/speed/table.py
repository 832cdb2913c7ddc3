"""The measurement as a table for people, and as JSON."""

from __future__ import annotations

from typing import Any

from pytest_noepicycle.bench.speed.measure import Row, Table, spread
from pytest_noepicycle.bench.speed.ways import DOCKER_RUN


def as_text(table: Table) -> str:
    """Return the table: ratios first, then milliseconds, each as the median with its quartiles."""
    head = [
        f"One failing test with a body of 20 ms; {table.rounds} rounds, interleaved; {table.cores} cores.",
        "Ratios are to the first row of the same round; medians, and quartiles in brackets.",
        "",
        f"{'ratio':>6} {'':<15} {'ms':>7} {'':<17} way",
    ]
    return "\n".join([*head, *map(_line, table.rows), "", *_against_docker_run(table), _gain(table.two)])


def as_json(table: Table) -> dict[str, Any]:
    """Return the same for programs; times are in milliseconds."""
    return {
        "rounds": table.rounds,
        "cores": table.cores,
        "rows": [_row(row) for row in table.rows],
        "two_workers": _row(table.two),
    }


def _against_docker_run(table: Table) -> list[str]:
    """Say how many candidates each level gets through while `docker run` tries one, round by round."""
    slow = next((row for row in table.rows if row.name == DOCKER_RUN), None)
    if slow is None or slow.missing:
        return []
    ours = [row for row in table.rows if row.name.startswith("worker, docker") and not row.missing]
    return [_times(row, tuple(a / b for a, b in zip(slow.times, row.times, strict=True))) for row in ours]


def _times(row: Row, gains: tuple[float, ...]) -> str:
    gain, low, high = spread(gains)
    return f"{row.name}: {gain:.1f} candidates to one of docker run ({low:.1f}-{high:.1f})"


def _line(row: Row) -> str:
    if row.missing:
        return f"{'-':>6} {'':<15} {'-':>7} {'':<17} {row.name}: {' '.join(row.missing.split())}"
    ratio, low, high = spread(row.ratios)
    time, fast, slow = spread(row.times)
    quartiles, around = f"({low:.3f}-{high:.3f})", f"({fast:.1f}-{slow:.1f})"
    return f"{ratio:6.3f} {quartiles:<15} {time:7.1f} {around:<17} {row.name}"


def _gain(row: Row) -> str:
    if row.missing:
        return f"{row.name}: {row.missing}"
    ratio, low, high = spread(row.ratios)
    return f"{row.name}: {ratio:.2f} times as many candidates ({low:.2f}-{high:.2f})"


def _row(row: Row) -> dict[str, Any]:
    if row.missing:
        return {"way": row.name, "missing": row.missing}
    return {"way": row.name, "ratio": spread(row.ratios), "milliseconds": spread(row.times), "samples": len(row.times)}
