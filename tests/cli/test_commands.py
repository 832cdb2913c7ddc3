"""The small commands: ladder and report, and what wrong use of any of them says."""

from __future__ import annotations

import importlib.metadata
import json
import sys

import pytest

SLIP = {
    "calc.py": "def double(n):\n    return n + 3\n",
    "test_calc.py": "from calc import double\n\n\ndef test_double():\n    assert double(4) == 7\n\n\n"
    "def test_wrong():\n    assert double(1) == 2\n",
}


def test_ladders_are_listed_shown_and_checked(story):
    """Each shipped ladder has a line; a rung's edges are shown; a broken file is named with its line."""
    here = story({"bad.yaml": "rungs:\n  a:\n    kind: search\n    on_plateau: b\n"})
    listed = here.noepi("ladder", "list")
    assert listed.status == 0
    assert {line.split()[0] for line in listed.text.splitlines()} >= {"default", "claude-only", "offline", "local"}
    shown = here.noepi("ladder", "show", "default")
    assert "local-search (search) ← start" in shown.text
    assert "on_plateau     → claude-haiku-4-5" in shown.text
    assert here.noepi("ladder", "validate", "default").status == 0
    broken = here.noepi("ladder", "validate", "bad.yaml")
    assert broken.status == 2
    assert "bad.yaml:4" in broken.text


def test_json_is_one_document(story):
    """A program reads one JSON value from standard output."""
    data = json.loads(story({}).noepi("ladder", "show", "offline", "--json").text)
    assert data["rungs"]["local-search"]["kind"] == "search"


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["ladder", "show"], "needs a name or a file"),
        (["ladder", "show", "no-such"], "no-such"),
        (["report"], "no runs are recorded here"),
        (["undo"], "no runs are recorded here"),
        (["apply", "--frobnicate"], "unknown arguments: --frobnicate"),
        (["frobnicate"], "invalid choice"),
        ([], "required"),
        (["fix", "--budget", "-3"], "--budget: '-3' is not a number of tokens"),
        (["fix", "--python", "/nowhere/python"], "/nowhere/python cannot be started"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_wrong_use_is_a_sentence_and_status_two(story, words, sentence):
    """What is wrong is said, and nothing is done."""
    told = story({"test_a.py": "def test_a():\n    pass\n"}).noepi(*words)
    assert told.status == 2, told.text
    assert sentence in told.text
    assert "Traceback" not in told.text


@pytest.mark.slow
def test_a_report_of_a_finished_run_is_printed(story):
    """The newest run's report, as Markdown or as its result."""
    here = story({**SLIP, "noepi.ini": ""})
    ran = here.fix("--noepi-dry-run")
    assert "dry_run" in ran.text
    told = here.noepi("report")
    assert told.status == 0
    assert "dry_run" in told.text
    assert json.loads(here.noepi("report", "--json").text)["stop_reason"] == "dry_run"


def test_a_reader_that_has_read_enough_is_no_error(story):
    """`noepi ladder show | head` ends without a traceback."""
    here = story({})
    words = f"{sys.executable} -m pytest_noepicycle.cli ladder show default | head -n 1"
    told = here.command("bash", "-c", words)
    assert told.text.count("\n") == 1
    assert "Error" not in told.text


def test_the_version_is_told(story):
    """The name of the command and the version of the distribution."""
    assert story({}).noepi("--version").text.split() == ["noepi", importlib.metadata.version("pytest-noepicycle")]
