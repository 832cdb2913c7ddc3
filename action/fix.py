"""The repair, in Docker only. This step alone holds the key, and nothing of the project runs beside it."""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import console
import failing
import pytest

from pytest_noepicycle import wiring
from pytest_noepicycle.adapters import git
from pytest_noepicycle.domain.patch import Patch
from pytest_noepicycle.errors import NoepiError, UsageError
from pytest_noepicycle.inside.options import OPTIONS, parsed
from pytest_noepicycle.inspection import ORIGIN
from pytest_noepicycle.report.summary import Summary
from pytest_noepicycle.report.terminal import PlainPaper

KEPT = ("result.json", "decisions.jsonl", "best.patch", "patch.json", "report.md", "report.html")
"""What of a record becomes an artifact; a checkpoint is of use on this machine only."""
_SETTINGS = ("ladder", "budget", "budget-usd", "time-limit", "image", "record-content")
_MOST_ANNOTATIONS = 10  # a step's notices beyond that the runner drops


def values(home: Path) -> dict[str, Any]:
    """Return the settings of the run: those that were given, Docker, and a record outside of the checkout.

    :raises UsageError: where one is no value of its input.
    """
    given: dict[str, Any] = {"sandbox": "docker", "apply": "never", "dir": str(home / "runs"), "resume": None}
    options = {option.name.replace("_", "-"): option for option in OPTIONS}
    for name in _SETTINGS:
        text = console.setting(name)
        if text:
            try:
                given[options[name].key] = parsed(options[name], text, name)
            except pytest.UsageError as error:
                raise UsageError(str(error)) from None
    return given


def nothing_failed(home: Path, facts: Mapping[str, Any]) -> int:
    """Keep that nothing failed and how many tests passed: a pull request that is no longer needed can be closed."""
    record = home / "record"
    record.mkdir(parents=True, exist_ok=True)
    tree = str(facts["rootdir"])
    result = {
        "schema_version": 1,
        "stop_reason": "nothing_to_fix",
        "base_commit": git.revision(tree).commit,
        "fingerprint": "",
        "tests": {"targets": [], "fixed": [], "guards": 0 if facts["exit_status"] else len(facts["passed"])},
        "patch": None,
        "solved": False,
    }
    (record / "result.json").write_text(json.dumps(result), "utf-8")
    (record / ORIGIN).write_text(json.dumps({"folder": _folder(tree)}), "utf-8")
    console.output(stop_reason="nothing_to_fix", solved=False, record=record)
    return 0


def repair(home: Path, facts: Mapping[str, Any]) -> int:
    """Repair, keep the record, and tell."""
    with console.group("pytest-noepicycle: repair"), console.unheard():
        done = wiring.repair_outside(facts, values(home), PlainPaper(sys.stdout))
    source = Path(str(facts["invocation_dir"]), done.directory).resolve()
    record = _kept(source, home / "record", str(facts["rootdir"]))
    _tell(done, record)
    console.summarise((record / "report.md").read_text("utf-8"))
    for notice in _annotations(done.result.patch, _folder(str(facts["rootdir"]))):
        console.command("notice", "Mended here; the patch is in the artifact.", title="pytest-noepicycle", **notice)
    return 0


def _kept(source: Path, record: Path, tree: str) -> Path:
    record.mkdir(parents=True, exist_ok=True)
    for name in KEPT:
        if (source / name).is_file():
            shutil.copyfile(source / name, record / name)
    (record / ORIGIN).write_text(json.dumps({"folder": _folder(tree)}), "utf-8")
    return record


def _tell(done: Summary, record: Path) -> None:
    result = done.result
    changed = bool(result.patch.changes)
    console.output(
        stop_reason=result.stop_reason,
        solved=result.solved,
        score=round(result.score, 4),
        tokens_spent=done.ledger.spent,
        cost_usd=done.ledger.spent_usd,
        patch=record / "best.patch" if changed else None,
        digest=result.patch.digest if changed else None,
        report=record / "report.md",
        record=record,
    )
    share = f"{len(result.fixed)} of {len(result.baseline.targets)} failing tests mended"
    what = f"{share}. {result.stop_reason}: {result.stop_reason.sentence}."
    console.command("notice", what, title="pytest-noepicycle")


def _annotations(patch: Patch, folder: str) -> Iterator[dict[str, object]]:
    """Yield where the patch changes something, by lines of the file as it is in the checkout."""
    places = [(change.path, hunk) for change in patch.changes for hunk in change.hunks()]
    for path, (start, end, _, _) in places[:_MOST_ANNOTATIONS]:
        yield {"file": folder + path, "line": start + 1, "endLine": max(end, start + 1)}


def _folder(tree: str) -> str:
    place = git.place(tree)
    return place.prefix if place else ""


def main() -> int:
    """Repair what the step before found failing."""
    home = Path(os.environ["RUNNER_TEMP"], "noepi").resolve()
    facts = json.loads((home / "session.json").read_text("utf-8"))
    try:
        os.chdir(console.setting("working-directory") or ".")  # a ladder's file is named from there
        return repair(home, facts) if facts["failures"] else nothing_failed(home, facts)
    except (NoepiError, OSError) as error:
        return failing.report(error)


if __name__ == "__main__":
    sys.exit(main())
