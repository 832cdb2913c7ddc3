"""``noepi verify``: prove or refute a patch that anyone wrote."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from pytest_noepicycle.commands.command import DONE, NOT_DONE, add_options, print_json, values
from pytest_noepicycle.errors import UsageError
from pytest_noepicycle.report import evidence as page
from pytest_noepicycle.report.terminal import PlainPaper


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.usage = "noepi verify [PATCH] [--edits FILE] [--base REV] [--python PYTHON] [options] [-- pytest arguments]"
    parser.add_argument("patch", nargs="?", metavar="PATCH", help="a unified diff; - reads it from standard input")
    parser.add_argument("--edits", metavar="FILE", help="a JSON list of edits in place of a diff; - for standard input")
    parser.add_argument(
        "--base", metavar="REV", help="prove against this revision; alone, it is compared with the work tree"
    )
    parser.add_argument("--python", default=sys.executable, metavar="PYTHON", help="the project's interpreter")
    add_options(parser, ("sandbox", "image", "time-limit"))


def run(given: argparse.Namespace) -> int:
    """Verify, print the evidence, and return 0 for a patch that a gate should let through, else 1."""
    from pytest_noepicycle import verifying

    if given.patch and given.edits:
        raise UsageError("a PATCH and --edits were both given; name one of them")
    request = verifying.Request(
        diff=_bytes(given.patch),
        edits=_bytes(given.edits),
        base=given.base,
        python=given.python,
        arguments=tuple(given.rest),
        values=values(given),
    )
    found = verifying.verify(request, str(Path.cwd()))
    if given.json:
        print_json(page.as_json(found))
    else:
        page.render(found, PlainPaper())
    return DONE if found.good else NOT_DONE


def _bytes(name: str | None) -> bytes | None:
    if name is None:
        return None
    if name == "-":
        return sys.stdin.buffer.read()
    try:
        return Path(name).read_bytes()
    except OSError as error:
        raise UsageError(f"{name} cannot be read: {error.strerror}") from error
