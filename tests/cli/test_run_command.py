"""``noepi run``: a task and a test file in, the solution on standard output, everything else beside it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import model_server
import pytest
from story import Story, Told

from pytest_noepicycle.domain.stubs import stubs

TESTS = "from solution import f\n\n\ndef test_basic():\n    assert f([1, 2, 3]) == [3, 2, 1]\n"
SOLUTION = "def f(items):\n    return items[::-1]\n"
TASK = "Write a Python function f that reverses a list"


@pytest.fixture
def place(story, server) -> Story:
    """A folder with the tests and a ladder that asks the server."""
    ladder = f"""
        name: served here
        rungs:
          model: {{kind: model, model: claude-haiku-4-5, base_url: "{server.url}", max_output: 600, on_plateau: stop}}
    """
    return story({"tests.py": TESTS, "ladder.yaml": ladder})


def noepi_run(place: Story, *arguments: str) -> Told:
    """Run ``noepi run`` with its messages kept apart, and return what stood on standard output."""
    words = [sys.executable, "-m", "pytest_noepicycle.cli", "run", TASK, "--tests", "tests.py", *arguments]
    done = subprocess.run(
        [*words, "--ladder", "ladder.yaml", "--sandbox", "process", "--budget", "30000"],
        cwd=place.project,
        env={**os.environ, "ANTHROPIC_API_KEY": model_server.KEY},
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert done.stdout, done.stderr
    return Told(done.returncode, done.stdout, place.project)


def answers(server: model_server.ModelServer) -> None:
    """Let the server turn the stub, which the model is shown, into the solution."""
    server.edits(("solution.py", stubs(TESTS, "solution"), SOLUTION), usage={"input_tokens": 500, "output_tokens": 60})


def test_the_solution_is_printed_and_the_status_is_0(place, server):
    """What a pipe gets is the code alone."""
    answers(server)
    told = noepi_run(place)
    assert told.text == SOLUTION
    assert told.status == 0


@pytest.mark.slow
def test_json_holds_the_solution_and_what_it_cost(place, server):
    """One document, and the file that was asked for beside it."""
    answers(server)
    told = noepi_run(place, "--json", "--output", "made.py")
    document = json.loads(told.text)
    assert document["stop_reason"] == "solved"
    assert document["solution"] == place.read("made.py") == SOLUTION
    assert document["tokens_spent"] == 560


def test_a_dry_run_asks_nothing(place, server):
    """Nothing is sent, nothing is spent, and the status says that it was done."""
    told = noepi_run(place, "--dry-run", "--json")
    document = json.loads(told.text)
    assert document["stop_reason"] == "dry_run"
    assert (told.status, len(server.requests)) == (0, 0)
    assert [quote["rung"] for quote in document["estimate"]["quotes"]] == ["model"]
    shown = noepi_run(place, "--dry-run")
    assert "the first question, to model, would say:" in shown.text
    assert TESTS.splitlines()[-1].strip() in shown.text
    assert f"{document['estimate']['quotes'][0]['tokens']} tokens" in shown.text


def test_a_place_that_cannot_be_written_is_told_before_anything_is_paid_for(place, server):
    """A folder that is not there, or stands where the file should be, is wrong use."""
    for output in ("missing/made.py", "."):
        words = ("run", TASK, "--tests", "tests.py", "--ladder", "ladder.yaml", "--output", output)
        told = place.noepi(*words, env={"ANTHROPIC_API_KEY": model_server.KEY})
        assert told.status == 2
        assert f"--output: {output} cannot be written" in told.text
    assert not server.requests


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full; CI has it")
@pytest.mark.slow
def test_a_solution_that_cannot_be_written_is_printed(place, server):
    """It was paid for: when the place for it went away meanwhile, standard output has it, and the status is 1."""
    (place.project / "full").symlink_to("/dev/full")
    answers(server)
    told = noepi_run(place, "--output", "full")
    assert (told.status, told.text) == (1, SOLUTION)


def test_a_test_file_that_is_not_there_is_named(story):
    """Wrong use is 2, with the name of the file."""
    told = story({}).noepi("run", TASK, "--tests", "nowhere.py")
    assert told.status == 2
    assert "nowhere.py cannot be read" in told.text
