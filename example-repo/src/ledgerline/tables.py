"""Tables in plain text: columns that fit their content, numbers to the right."""

from __future__ import annotations

from collections.abc import Sequence

ELLIPSIS = "…"


def shorten(text: str, width: int) -> str:
    """Return ``text`` cut to ``width`` characters, the last of them an ellipsis where something is missing."""
    if len(text) <= width:
        return text
    return text[:width] + ELLIPSIS


def column_widths(rows: Sequence[Sequence[str]], limit: int = 40) -> list[int]:
    """Return the width of each column: its longest cell, but never more than ``limit``."""
    columns = max((len(row) for row in rows), default=0)
    widths = [0] * columns
    for row in rows:
        for index, cell in enumerate(row):
            widths[index] = min(limit, max(widths[index], len(cell)))
    return widths


def render(header: Sequence[str], rows: Sequence[Sequence[str]], right: frozenset[int] = frozenset()) -> str:
    """Return a table with a rule under its header; the columns in ``right`` are aligned to the right."""
    widths = column_widths([header, *rows])
    rule = ["-" * width for width in widths]
    return "\n".join(_line(row, widths, right) for row in [header, rule, *rows])


def _line(cells: Sequence[str], widths: Sequence[int], right: frozenset[int]) -> str:
    parts = []
    for index, (cell, width) in enumerate(zip(cells, widths)):
        text = shorten(cell, width)
        parts.append(text.rjust(width) if index in right else text.ljust(width))
    return "  ".join(parts).rstrip()
