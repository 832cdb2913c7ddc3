"""The terminal: progress where it can be redrawn, plain lines where not, and one section at the end."""

from __future__ import annotations

import io
from dataclasses import replace

import pytest
from runs import LEDGER, SOLVED, failed, summary

from pytest_noepicycle.domain.budget import Ledger
from pytest_noepicycle.domain.patch import FileChange, Patch
from pytest_noepicycle.domain.run import RunResult, Skipped, StopReason
from pytest_noepicycle.domain.score import Baseline
from pytest_noepicycle.report.terminal import PlainPaper, Progress, next_steps, render


class Tty(io.StringIO):
    """A stream that says that it is a terminal."""

    def isatty(self) -> bool:
        """Say so."""
        return True


def shown(result, ledger: Ledger = LEDGER, stream: io.StringIO | None = None) -> str:
    """Return the section as text."""
    stream = stream or io.StringIO()
    render(summary(result, ledger), PlainPaper(stream), commands="noepi")
    return stream.getvalue()


def test_a_solved_run_shows_what_was_mended_the_diff_the_proof_and_what_to_type():
    """Everything that a person wants to know, in the order in which they want it."""
    text = shown(SOLVED)
    parts = [
        "solved:",
        "mended       t.py::a",
        "-x = 1",
        "+x = 2",
        "proof:  passed: cold",
        "cost:   126 of 1000",
        "record:",
        "undo",
    ]
    places = [text.index(part) for part in parts]
    assert places == sorted(places)
    assert "\x1b" not in text


def test_colour_appears_only_on_a_terminal():
    """A pipe gets plain text; a terminal gets colours that are closed again."""
    text = shown(SOLVED, stream=Tty())
    assert text.count("\x1b[0m") == text.count("\x1b[") / 2 > 0


@pytest.mark.parametrize("stop", [s for s in StopReason if s not in (StopReason.SOLVED, StopReason.NOTHING_TO_FIX)])
def test_every_other_end_says_why(stop: StopReason):
    """The reason, its sentence, the tests that still fail."""
    text = shown(replace(failed(stop), why="because of this"))
    assert f"{stop}: {stop.sentence}" in text
    assert "because of this" in text
    assert "still fails  t.py::a" in text


def test_a_proven_partial_gain_says_how_to_take_it():
    """Not applied, but proven: the command is named, and what would let the run go on."""
    partial = replace(SOLVED, stop_reason=StopReason.EXHAUSTED, score=0.5, applied=False, fixed=("t.py::a",))
    assert next_steps(partial, "noepi") == ("noepi apply",)
    short = next_steps(replace(partial, stop_reason=StopReason.BUDGET), "noepi")
    assert short[0] == "noepi apply"
    assert "raise --noepi-budget" in short[1]


def test_rungs_that_could_not_be_used_are_named_once_with_what_to_set():
    """Where it made a difference; a solved run does not speak of them."""
    assert "not used: claude-haiku-4-5 (no API key)" in shown(failed(StopReason.EXHAUSTED))
    assert "not used" not in shown(SOLVED)


def test_a_long_diff_is_cut_and_says_where_the_rest_is():
    """A hundred lines are enough on a screen."""
    big = Patch.of([FileChange("a.py", b"x\n" * 300, b"y\n" * 300)])
    assert "lines more in best.patch" in shown(replace(SOLVED, patch=big))


def test_hostile_names_cannot_steer_the_terminal():
    """Escape sequences and workflow commands of a test's name are shown, not obeyed."""
    evil = replace(SOLVED.baseline, targets=("t.py::a\x1b[2J\n::error::x",))
    text = shown(replace(failed(StopReason.EXHAUSTED), baseline=evil))
    assert "\x1b" not in text
    assert "\n::error" not in text


def test_what_an_encoding_cannot_say_is_replaced():
    """A Windows console with an old code page shows a question mark and no traceback."""
    stream = io.TextIOWrapper(io.BytesIO(), encoding="cp1252")
    PlainPaper(stream).line("a → b ✓")
    stream.flush()
    assert stream.buffer.getvalue() == b"a ? b ?\n"


def test_progress_is_one_line_redrawn_on_a_terminal():
    """Each candidate redraws the line; the end takes it away."""
    stream, now = Tty(), iter([0.0, *[n / 5 for n in range(1, 40)]]).__next__
    progress = Progress(PlainPaper(stream), 1000, clock=now)
    for n in range(1, 4):
        progress.progress("local-search", n, 0.5, 0)
    progress.finish()
    text = stream.getvalue()
    assert "local-search: 3 candidates, score 0.50, 0 of 1000 tokens" in text
    assert "\n" not in text
    assert text.endswith("\r")


def test_progress_without_a_terminal_is_a_plain_line_now_and_then():
    """No carriage returns in a log, and not a line for each candidate."""
    stream, now = io.StringIO(), iter([0.0, *range(1, 100)]).__next__
    progress = Progress(PlainPaper(stream), 1000, clock=now)
    for n in range(1, 31):
        progress.progress("local-search", n, 0.0, 0)
    assert "\r" not in stream.getvalue()
    assert len(stream.getvalue().splitlines()) == 3


def test_a_ladder_that_is_used_up_says_what_would_open_the_rungs_that_were_left_out():
    """For want of a key, the key; for want of an engine, the engine: each reason once."""
    used_up = replace(failed(StopReason.EXHAUSTED), skipped=(Skipped("a", "set KEY"), Skipped("b", "set KEY")))
    assert next_steps(used_up, "noepi")[0] == "set KEY"
    assert len(next_steps(used_up, "noepi")) == 2


@pytest.mark.parametrize("stop", list(StopReason))
def test_each_ending_says_what_to_do_next(stop):
    """No run ends with nothing but a reason."""
    result = RunResult("run", stop, Baseline(("test_m.py::a",), ()))
    assert all(next_steps(result, "noepi")), stop
    assert next_steps(result, "noepi"), stop
