"""``noepi``: one table of commands; each reads its arguments, calls one function, and ends with a status."""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NoReturn

import pytest

from pytest_noepicycle import commands_verify
from pytest_noepicycle.adapters import ladder_files, tree
from pytest_noepicycle.adapters.records import Record, Records
from pytest_noepicycle.domain.settings import Settings
from pytest_noepicycle.errors import NoepiError, UsageError
from pytest_noepicycle.inside.options import OPTIONS, parsed
from pytest_noepicycle.report.summary import as_json
from pytest_noepicycle.report.terminal import PlainPaper

DONE, NOT_DONE, WRONG_USE = 0, 1, 2
_LOCK_WAIT = 10.0


@dataclass(frozen=True, slots=True)
class Command:
    """One word of ``noepi``: what it does, its arguments, and the function behind it."""

    name: str
    help: str
    arguments: Callable[[argparse.ArgumentParser], None]
    run: Callable[[argparse.Namespace], int]


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
        return int(known.run(known))
    except NoepiError as error:
        return _fail(known, error)
    except KeyboardInterrupt:
        print("noepi: interrupted", file=sys.stderr)
        return NOT_DONE


def _fail(known: argparse.Namespace, error: NoepiError) -> int:
    if getattr(known, "json", False):
        _print_json({"error": str(error), "hint": error.hint})
    print(f"noepi: {error.sentence()}", file=sys.stderr)
    return error.exit_status


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="noepi", description="Mends failing tests, proves it, and stops in time.")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for command in COMMANDS:
        sub = commands.add_parser(command.name, help=command.help, description=command.help, allow_abbrev=False)
        sub.set_defaults(run=command.run, takes_rest=command.name in ("fix", "verify"))
        command.arguments(sub)
        sub.add_argument("--json", action="store_true", help="print one JSON document and nothing else")
    return parser


def _fix_arguments(parser: argparse.ArgumentParser) -> None:
    parser.usage = "noepi fix [--python PYTHON] [options] [pytest arguments]"
    parser.add_argument("--python", default=sys.executable, metavar="PYTHON", help="the project's interpreter")
    parser.add_argument("--dry-run", action="store_true", help="triage and localise, change nothing")
    for option in OPTIONS:
        if not option.ini_only:
            shown = "" if option.default in (None, (), 0) else f" (default: {option.default})"
            parser.add_argument(f"--{option.name}", metavar=option.metavar, help=option.help + shown)


def _fix(given: argparse.Namespace) -> int:
    """Run the project's tests in its own interpreter, then repair what failed."""
    from pytest_noepicycle import wiring

    values = _values(given)
    shown = sys.stderr if given.json else sys.stdout
    facts = wiring.run_tests(given.python, given.rest, shown)
    if not facts["failures"]:
        return _nothing_failed(given, int(facts["exit_status"]))
    done = wiring.repair_outside(facts, values, PlainPaper(shown))
    if given.json:
        _print_json(as_json(done))
    green = done.result.solved and done.result.applied and not done.result.findings
    return DONE if green else NOT_DONE


def _nothing_failed(given: argparse.Namespace, status: int) -> int:
    reasons = {0: "every test passes: there is nothing to fix", 5: "no tests were run"}
    why = reasons.get(status, f"pytest ended with status {status} and reported no failing test")
    if given.json:
        _print_json({"stop_reason": "nothing_to_fix", "solved": False, "applied": False, "why": why})
    print(f"noepi: {why}", file=sys.stderr)
    return DONE if status == 0 else NOT_DONE


def _values(given: argparse.Namespace) -> dict[str, Any]:
    """Return what was set on the command line; the rest comes from the project's ini file."""
    values: dict[str, Any] = {"dry_run": True} if given.dry_run else {}
    for option in OPTIONS:
        text = getattr(given, option.key, None)
        if text is not None:
            try:
                values[option.key] = parsed(option, text, f"--{option.name}")
            except pytest.UsageError as error:
                raise UsageError(str(error)) from None
    return values


def _run_argument(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "run_id", nargs="?", metavar="RUN", help="a run's name or folder (default: the newest that fits)"
    )
    parser.add_argument("--dir", default=".noepi", metavar="DIR", help="where runs are recorded")


def _apply(given: argparse.Namespace) -> int:
    return _change(given, forward=True)


def _undo(given: argparse.Namespace) -> int:
    return _change(given, forward=False)


def _change(given: argparse.Namespace, *, forward: bool) -> int:
    """Change the work tree as a run's patch says, or back; refused where a file has changed since."""
    record, records = _found(given, with_patch=True)
    root, patch = record.patch()
    with tree.locked(records.home, wait=_LOCK_WAIT):
        paths = tree.write(root, patch, records.staging(), forward=forward)
        with contextlib.suppress(NoepiError):  # a run that died has no result to note it in
            record.note(applied=forward)
    done = "applied" if forward else "undone"
    if given.json:
        _print_json({"run_id": record.run_id, done: list(paths)})
    else:
        print(f"{done}: {', '.join(paths) if paths else f'it was already ({record.run_id})'}")
    return DONE


def _report(given: argparse.Namespace) -> int:
    """Print a run's report."""
    record, _ = _found(given)
    if given.json:
        _print_json(record.result())
        return DONE
    page = record.folder / "report.md"
    if not page.exists():
        raise NoepiError(f"{record.run_id} did not come to its end", hint=f"See {record.folder / 'decisions.jsonl'}")
    print(page.read_text("utf-8"), end="")
    return DONE


def _found(given: argparse.Namespace, *, with_patch: bool = False) -> tuple[Record, Records]:
    if given.run_id and (Path(given.run_id) / "decisions.jsonl").is_file():  # the folder that a run has named
        folder = Path(given.run_id).resolve()
        return Record(folder), Records(folder.parents[1])
    for folder in (Path.cwd(), *Path.cwd().parents):
        if (folder / given.dir / "runs").is_dir():
            records = Records(folder / given.dir)
            if with_patch and given.run_id is None:
                return records.newest_with_patch(), records
            return records.find(given.run_id), records
    raise UsageError(f"no runs are recorded here: there is no {given.dir} in this folder or above it")


def _ladder_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("verb", choices=("list", "show", "validate"))
    parser.add_argument("name", nargs="?", metavar="NAME|FILE")


def _ladder(given: argparse.Namespace) -> int:
    """List the shipped ladders, or read one and show how its rungs are joined."""
    if given.verb == "list":
        ladders = [ladder_files.load(name) for name in ladder_files.shipped()]
        if given.json:
            _print_json([{"name": ladder.name, "description": ladder.description} for ladder in ladders])
        else:
            for ladder in ladders:
                print(f"{ladder.name:<12} {ladder.description}")
        return DONE
    if not given.name:
        raise UsageError(f"noepi ladder {given.verb} needs a name or a file")
    ladder = ladder_files.load(given.name)
    edges = {rung.name: {"kind": rung.kind, **dict(rung.edges)} for rung in ladder.rungs.values()}
    if given.json:
        _print_json({"name": ladder.name, "start": ladder.start, "rungs": edges})
    elif given.verb == "validate":
        print(f"{given.name}: a ladder of {len(ladder.rungs)} rungs, in order")
    else:
        print(_drawn(ladder.start, edges))
    return DONE


def _drawn(start: str, rungs: dict[str, dict[str, str]]) -> str:
    text = io.StringIO()
    for name, edges in rungs.items():
        text.write(f"{name} ({edges['kind']}){' ← start' if name == start else ''}\n")
        for edge, target in edges.items():
            if edge != "kind":
                text.write(f"    {edge:<14} → {target}\n")
    return text.getvalue().rstrip()


def _check_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--python", default=sys.executable, metavar="PYTHON", help="the project's interpreter")
    parser.add_argument("--ladder", default="default", metavar="NAME|FILE", help="the ladder to look at")
    parser.add_argument("--sandbox", default="auto", choices=("auto", "docker", "process"), help="the sandbox to try")


def _check(given: argparse.Namespace) -> int:
    """Try each part for real; broken parts make the status 1."""
    from pytest_noepicycle import checking

    settings = Settings(ladder=given.ladder, sandbox=given.sandbox)
    findings = []
    for finding in checking.check(given.python, Path.cwd(), settings):
        findings.append(finding)
        if not given.json:
            print(f"{finding.state:<7} {finding.part:<8} {finding.text}", flush=True)
            if finding.advice:
                print(f"{'':<16} {finding.advice}")
    if given.json:
        _print_json([asdict(finding) for finding in findings])
    return NOT_DONE if any(finding.state == checking.BROKEN for finding in findings) else DONE


def _print_json(document: Any) -> None:
    print(json.dumps(document, indent=2, ensure_ascii=False))


COMMANDS = (
    Command("fix", "run a project's tests and repair what fails", _fix_arguments, _fix),
    Command("verify", "prove or refute a patch that anyone wrote", commands_verify.arguments, commands_verify.run),
    Command("apply", "change the work tree as a run's patch says", _run_argument, _apply),
    Command("undo", "take a run's patch back out of the work tree", _run_argument, _undo),
    Command("report", "print a run's report", _run_argument, _report),
    Command("check", "tell what works on this machine", _check_arguments, _check),
    Command("ladder", "list, show or check ladders", _ladder_arguments, _ladder),
)


def run() -> NoReturn:
    """Run as a program."""
    sys.exit(main())


if __name__ == "__main__":
    run()
