"""``noepi bench``: what a candidate costs on this machine, measured in a way that anyone can repeat."""

from __future__ import annotations

import argparse
import sys

from pytest_noepicycle.commands.command import DONE, print_json
from pytest_noepicycle.errors import UsageError

_WHAT = "speed: one failing test, run in every way, side by side; large: a tree of 20,000 files beside one of 200"


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("what", choices=("speed", "large"), help=_WHAT)
    parser.add_argument("--rounds", type=int, default=20, metavar="N", help="how often each is run (default: 20)")
    parser.add_argument(
        "--sandbox", default="all", choices=("all", "docker", "process"), help="the sandboxes to measure (default: all)"
    )


def run(given: argparse.Namespace) -> int:
    """Measure and print the table; what goes on is told on standard error.

    :raises UsageError: where there would be nothing to measure.
    """
    if given.rounds < 1:
        raise UsageError("--rounds must be one or more")
    document, text = _large(given) if given.what == "large" else _speed(given)
    if given.json:
        print_json(document)
    else:
        print(text)
    return DONE


def _speed(given: argparse.Namespace) -> tuple[object, str]:
    from pytest_noepicycle.bench.speed.measure import measure
    from pytest_noepicycle.bench.speed.table import as_json, as_text

    table = measure(given.rounds, ("process", "docker") if given.sandbox == "all" else (given.sandbox,), _tell)
    return as_json(table), as_text(table)


def _large(given: argparse.Namespace) -> tuple[object, str]:
    from pytest_noepicycle.bench import large

    costs = large.measure(given.rounds, "auto" if given.sandbox == "all" else given.sandbox, _tell)
    return large.as_json(costs), large.as_text(costs)


def _tell(text: str) -> None:
    print(f"noepi bench: {text}", file=sys.stderr, flush=True)
