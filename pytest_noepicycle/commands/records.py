"""``noepi apply``, ``undo`` and ``report``: what can be done with a run's record."""

from __future__ import annotations

import argparse
import contextlib
import os
import webbrowser
from pathlib import Path

from pytest_noepicycle.adapters import tree
from pytest_noepicycle.adapters.records import Record, Records
from pytest_noepicycle.commands.command import DONE, print_json
from pytest_noepicycle.errors import NoepiError, UsageError
from pytest_noepicycle.report import markdown, overview, reading, retelling
from pytest_noepicycle.report.history import History
from pytest_noepicycle.report.terminal import PlainPaper


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument(
        "run_id", nargs="?", metavar="RUN", help="a run's name or folder (default: the newest that fits)"
    )
    parser.add_argument("--dir", default=".noepi", metavar="DIR", help="where runs are recorded")


def apply(given: argparse.Namespace) -> int:
    """Change the work tree as a run's patch says."""
    return _change(given, forward=True)


def undo(given: argparse.Namespace) -> int:
    """Take a run's patch back out of the work tree."""
    return _change(given, forward=False)


def _change(given: argparse.Namespace, *, forward: bool) -> int:
    """Change the work tree as a run's patch says, or back; refused where a file has changed since."""
    record, records = found(given, with_patch=True)
    root, patch = record.patch()
    with tree.locked(records.home), records.staging() as staging:
        paths = tree.write(root, patch, staging, forward=forward)
        with contextlib.suppress(NoepiError):  # a run that died has no result to note it in
            record.note(applied=forward)
    done = "applied" if forward else "undone"
    if given.json:
        print_json({"run_id": record.run_id, done: list(paths)})
    else:
        print(f"{done}: {', '.join(paths) if paths else f'it was already ({record.run_id})'}")
    return DONE


def report_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``report``."""
    arguments(parser)
    parser.add_argument("--format", choices=("md", "html", "text"), help="the form of the report (default: md)")
    parser.add_argument("--open", action="store_true", help="write the HTML page and open it in a browser")
    parser.add_argument("--all", action="store_true", help="a table over all runs that are recorded")


def report(given: argparse.Namespace) -> int:
    """Print a run's report, also of a run that goes on or has died; a page is written beside its record."""
    if given.all:
        return _report_all(given)
    record, _ = found(given)
    past = reading.read(record.folder)
    if given.json:
        print_json(past.result or overview.entry(overview.told(past)))
    elif given.open or given.format == "html":
        _page(past, record, shown=given.open)
    elif given.format == "text":
        retelling.render(past, PlainPaper())
    else:
        PlainPaper().write(markdown.render(past))
    return DONE


def _page(past: History, record: Record, *, shown: bool) -> None:
    from pytest_noepicycle.report.html import page

    record.write("report.html", page.render(past))
    path = record.folder / "report.html"
    print(path)
    if shown and not webbrowser.open(path.as_uri()):
        raise NoepiError("no browser could be opened", hint=f"Open {path} yourself.")


def _report_all(given: argparse.Namespace) -> int:
    """Print the table over all runs, the newest last; a damaged record has a row that says so."""
    if given.run_id or given.open or given.format == "html":
        raise UsageError("--all prints a table over all runs", hint="Leave out RUN, --open and --format html.")
    runs = [_told(folder) for folder in _folders(given)]
    if given.json:
        print_json(overview.as_json(runs))
    elif given.format == "md":
        PlainPaper().write(markdown.overview(runs))
    else:
        overview.render(runs, PlainPaper())
    return DONE


def _folders(given: argparse.Namespace) -> list[Path]:
    _, records = found(given)
    return records.folders()


def _told(folder: Path) -> overview.Told:
    try:
        return overview.told(reading.read(folder))
    except NoepiError as error:
        return overview.unreadable(folder.name, str(error).replace(f"{folder}{os.sep}", ""))


def found(given: argparse.Namespace, *, with_patch: bool = False) -> tuple[Record, Records]:
    """Return the run that was asked for, by its name or folder, else the newest, and all that lie beside it.

    :raises UsageError: where no runs are recorded here.
    """
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
