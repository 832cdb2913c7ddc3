"""``noepi``: one table of commands; each reads its arguments, calls one function, and ends with a status."""

from __future__ import annotations

import argparse
import importlib.metadata
import os
import sys
from collections.abc import Sequence
from typing import NoReturn

from pytest_noepicycle.commands import bench, check, fix, ladder, mcp, publish, records, replay, task, verify
from pytest_noepicycle.commands.command import NOT_DONE, Command, print_json
from pytest_noepicycle.errors import NoepiError


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command and return its exit status: 0 done, 1 not done, 2 wrong use."""
    parser = _parser()
    words = list(sys.argv[1:] if argv is None else argv)
    after = words[words.index("--") + 1 :] if "--" in words else []  # pytest's own, whatever they look like
    known, rest = parser.parse_known_args(words[: len(words) - len(after) - 1] if "--" in words else words)
    rest += after
    if rest and not known.takes_rest:
        parser.error(f"unknown arguments: {' '.join(rest)}")
    known.rest = [*getattr(known, "pytest_args", []), *rest]
    try:
        status = int(known.run(known))
        sys.stdout.flush()
        return status
    except BrokenPipeError:  # whoever read it has read enough (`| head`)
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return NOT_DONE
    except NoepiError as error:
        return _fail(known, error)
    except KeyboardInterrupt:
        print("noepi: interrupted", file=sys.stderr)
        return NOT_DONE


def _fail(known: argparse.Namespace, error: NoepiError) -> int:
    if getattr(known, "json", False):
        print_json({"error": str(error), "hint": error.hint})
    print(f"noepi: {error.sentence()}", file=sys.stderr)
    return error.exit_status


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="noepi", description="Mends failing tests, proves it, and stops in time.")
    version = f"noepi {importlib.metadata.version('pytest-noepicycle')}"
    parser.add_argument("--version", action="version", version=version)
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for command in COMMANDS:
        sub = commands.add_parser(command.name, help=command.help, description=command.help, allow_abbrev=False)
        sub.set_defaults(run=command.run, takes_rest=command.takes_rest)
        command.arguments(sub)
        sub.add_argument("--json", action="store_true", help="print one JSON document and nothing else")
    return parser


COMMANDS = (
    Command("fix", "run a project's tests and repair what fails", fix.arguments, fix.run, takes_rest=True),
    Command("run", "write code for a task against a test file", task.arguments, task.run),
    Command("verify", "prove or refute a patch that anyone wrote", verify.arguments, verify.run, takes_rest=True),
    Command("apply", "change the work tree as a run's patch says", records.arguments, records.apply),
    Command("undo", "take a run's patch back out of the work tree", records.arguments, records.undo),
    Command("report", "print a run's report", records.report_arguments, records.report),
    Command("publish", "open, update or close the pull request of a finished run", publish.arguments, publish.run),
    Command("replay", "take every decision of a run again, offline", replay.arguments, replay.run),
    Command("check", "tell what works on this machine", check.arguments, check.run),
    Command("ladder", "list, show or check ladders", ladder.arguments, ladder.run),
    Command("bench", "measure what a candidate costs on this machine", bench.arguments, bench.run),
    Command("mcp", "serve coding assistants over the Model Context Protocol", mcp.arguments, mcp.run),
)


def run() -> NoReturn:
    """Run as a program."""
    sys.exit(main())


if __name__ == "__main__":
    run()
