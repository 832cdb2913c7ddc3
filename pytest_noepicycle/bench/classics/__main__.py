"""Let the local search mend every classical program and print what came of it, kind by kind."""

from __future__ import annotations

import argparse
import statistics
import sys
from collections.abc import Iterable, Sequence

from pytest_noepicycle.bench.classics.cases import Case, read_cases
from pytest_noepicycle.bench.repair import Mended, mend
from pytest_noepicycle.rungs.search import LocalSearch

_OUTCOMES = ("rightly", "differently", "partly", "not")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the cases whose names hold one of the words given (all, if none) and print the table."""
    parser = argparse.ArgumentParser(prog="python -m pytest_noepicycle.bench.classics", description=__doc__)
    parser.add_argument("words", nargs="*", help="only cases whose name or kind holds one of these")
    parser.add_argument("--seconds", type=float, default=60.0, help="time limit for each case (default 60)")
    parser.add_argument("--list", action="store_true", help="print the cases and run none")
    options = parser.parse_args(arguments)
    cases = [c for c in read_cases() if not options.words or any(w in f"{c.name} {c.kind}" for w in options.words)]
    if options.list or not cases:
        say("\n".join(f"{case.name}: {case.kind}" for case in cases) or "no case has such a name")
        return 0 if cases else 2
    say(table(list(_mended(cases, options.seconds))))
    return 0


def say(text: str) -> None:
    """Print a line at once."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def _mended(cases: Iterable[Case], seconds: float) -> Iterable[Mended]:
    for case in cases:
        mended = mend(case, LocalSearch(), seconds=seconds)
        notes = "; ".join(mended.notes)
        say(f"{case.name:22} {mended.outcome:12} {mended.tried:5} {mended.seconds:6.1f} s  {notes}")
        yield mended


def table(results: Sequence[Mended]) -> str:
    """Return the outcomes by kind of slip, and of all; the median candidates and seconds are of what was mended."""
    kinds = sorted({result.case.kind for result in results})
    rows = [_row(kind, [r for r in results if r.case.kind == kind]) for kind in kinds]
    head = f"{'kind':24}{'cases':>6}{''.join(f'{o:>13}' for o in _OUTCOMES)}{'median tried':>14}{'seconds':>9}"
    return "\n".join(["", head, *rows, _row("all", results)])


def _row(kind: str, results: Sequence[Mended]) -> str:
    counts = "".join(f"{sum(r.outcome == outcome for r in results):13}" for outcome in _OUTCOMES)
    solved = [r for r in results if r.outcome in ("rightly", "differently")]
    tried = f"{statistics.median(r.tried for r in solved):.0f}" if solved else "-"
    seconds = f"{statistics.median(r.seconds for r in solved):.1f}" if solved else "-"
    return f"{kind:24}{len(results):6}{counts}{tried:>14}{seconds:>9}"


if __name__ == "__main__":
    sys.exit(main())
