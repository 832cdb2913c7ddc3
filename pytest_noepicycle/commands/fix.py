"""``noepi fix``: run a project's tests in its own interpreter, and repair what fails."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

import pytest

from pytest_noepicycle.commands.command import DONE, NOT_DONE, add_options, print_json, values
from pytest_noepicycle.errors import UsageError
from pytest_noepicycle.inside.options import check_resume
from pytest_noepicycle.report.summary import as_json
from pytest_noepicycle.report.terminal import PlainPaper


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.usage = "noepi fix [--python PYTHON] [options] [pytest arguments]"
    parser.add_argument("--python", default=sys.executable, metavar="PYTHON", help="the project's interpreter")
    parser.add_argument("--dry-run", action="store_true", help="triage and localise, change nothing")
    parser.add_argument(
        "--resume",
        nargs="?",
        const="",
        metavar="RUN",
        help="go on with a run that was broken off (default: the newest)",
    )
    add_options(parser)


def run(given: argparse.Namespace) -> int:
    """Run the project's tests in its own interpreter, then repair what failed."""
    from pytest_noepicycle import wiring

    try:
        check_resume("--resume", given.resume, Path.cwd())
    except pytest.UsageError as error:
        raise UsageError(str(error)) from None
    values = _settings(given)
    shown = sys.stderr if given.json else sys.stdout
    facts = wiring.run_tests(given.python, given.rest, shown)
    if not facts["failures"]:
        return _nothing_failed(given, int(facts["exit_status"]))
    done = wiring.repair_outside(facts, values, PlainPaper(shown))
    if given.json:
        print_json(as_json(done))
    green = done.result.solved and done.result.applied and not done.result.findings
    return DONE if green else NOT_DONE


def _nothing_failed(given: argparse.Namespace, status: int) -> int:
    reasons = {0: "every test passes: there is nothing to fix", 5: "no tests were run"}
    why = reasons.get(status, f"pytest ended with status {status} and reported no failing test")
    if given.json:
        print_json({"stop_reason": "nothing_to_fix", "solved": False, "applied": False, "why": why})
    print(f"noepi: {why}", file=sys.stderr)
    return DONE if status == 0 else NOT_DONE


def _settings(given: argparse.Namespace) -> dict[str, Any]:
    """Return what was set on the command line; the rest comes from the project's ini file."""
    own: dict[str, Any] = {"dry_run": True} if given.dry_run else {}
    if given.resume is not None:
        own["resume"] = given.resume
    return {**values(given), **own}
