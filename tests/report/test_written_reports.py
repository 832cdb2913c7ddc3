"""The report as Markdown and on a terminal: what it shows of a run with several attempts, and at every width."""

from __future__ import annotations

import io
import re
from dataclasses import replace

import pytest
from journals import Pretended
from loops import Loop, first_number
from runs import PATCH, SOLVED, failed, summary

from pytest_noepicycle import Supervisor
from pytest_noepicycle.domain.failure import Failure, Frame
from pytest_noepicycle.domain.run import Attempt, Finding, StopReason
from pytest_noepicycle.domain.score import Baseline
from pytest_noepicycle.domain.settings import Thresholds
from pytest_noepicycle.report import markdown, reading, retelling, terminal, wording
from pytest_noepicycle.report.history import History, Proof
from pytest_noepicycle.report.html import page
from pytest_noepicycle.report.terminal import PlainPaper

SEVERAL = tuple(Attempt(n, "small" if n < 3 else "large", n / 4, 0.25, "e", tokens=5) for n in range(1, 5))
LONG_SENTENCE = "what stands in the way is told in a sentence that has more words than a narrow screen has columns " * 2


class Narrow(PlainPaper):
    """A terminal of so many columns."""

    def __init__(self, columns: int) -> None:
        self.stream = io.StringIO()
        self._columns = columns
        super().__init__(self.stream)

    @property
    def fullwidth(self) -> int:
        """Return the columns."""
        return self._columns


def test_several_attempts_are_drawn_as_a_chart_and_one_is_not():
    """Scores as bars, the best so far as a line, within the axes; GitHub draws it."""
    page = markdown.render(reading.of_events(Pretended(gains={2: 2}).run(3), "r"))
    chart = page[page.index("```mermaid") : page.index("## Attempts")]
    assert 'x-axis "Attempt" 1 --> 3' in chart
    assert "bar [0.00, 0.50, 0.50]" in chart
    assert "line [0.00, 0.50, 0.50]" in chart
    assert "mermaid" not in markdown.render(summary(SOLVED))


def test_a_pull_request_has_room_for_the_report_of_the_longest_run():
    """Two hundred tests, hundreds of attempts, a huge patch: what is left out is counted."""
    past = reading.of_events(
        Pretended(tests=250, gains=dict.fromkeys(range(1, 200), 1), thresholds=Thresholds(delta_threshold=0.001)).run(
            300
        ),
        "r",
    )
    page = markdown.render(past)
    assert len(page) < 65_536
    assert "… and 150 more" in page
    left = len(past.steps) - page.count("| `claude-") - page.count("| `local-search` |")
    assert f"The first {left} are in decisions.jsonl" in page


def test_sentences_of_others_have_no_markup_of_their_own():
    """A warning, a reason or an explanation cannot mention, link, close or open anything."""
    evil = "@octocat **bold** [a](http://evil) <b> closes #1 | `x`\n# Head"
    page = markdown.render(summary(replace(failed(StopReason.BUDGET), why=evil, warnings=(evil,))))
    for bad in ("@octocat", "**bold**", "[a](", "http:/" + "/evil", "<b>", " #1", "\n# Head", " | `x"):
        assert bad in evil
        assert bad not in page


@pytest.mark.parametrize("columns", [50, 80, 200])
def test_sentences_keep_to_the_width_and_ids_are_not_broken(columns: int):
    """What is read is folded; what is copied stays on its line."""
    paper = Narrow(columns)
    result = replace(
        failed(StopReason.EXHAUSTED),
        why=LONG_SENTENCE,
        warnings=(LONG_SENTENCE,),
        findings=(Finding("t.py::f", "flaky", LONG_SENTENCE),),
        attempts=SEVERAL,
    )
    terminal.render(summary(result), paper, commands="noepi")
    text = paper.stream.getvalue()
    sentences = [line for line in text.splitlines() if "told in a sentence" in line or "narrow screen" in line]
    assert sentences
    assert max(len(line) for line in sentences) < columns
    assert "  still fails  t.py::a" in text.splitlines()


def test_the_way_of_the_score_is_one_line():
    """Rung by rung, where there was more than one attempt."""
    paper = Narrow(100)
    terminal.render(summary(replace(SOLVED, attempts=SEVERAL)), paper, commands="noepi")
    assert "score:  small 0.25 0.50 → large 0.75 1.00" in paper.stream.getvalue()
    alone = Narrow(100)
    terminal.render(summary(SOLVED), alone, commands="noepi")
    assert "score:" not in alone.stream.getvalue()


def test_a_long_run_is_told_again_within_the_width():
    """The last attempts, a line each, and the number of those before."""
    paper = Narrow(70)
    retelling.render(reading.of_events(Pretended(gains=dict.fromkeys(range(1, 4), 1), tests=60).run(45), "r"), paper)
    lines = paper.stream.getvalue().splitlines()
    assert max(map(len, lines)) < 71
    assert any("… and 20 more" in line for line in lines)


def test_a_run_over_texts_says_what_was_asked_and_that_the_scorer_judged(tmp_path, monkeypatch):
    """No tests, no patch, no proof: each report says whose word it is, and the page holds the texts."""
    monkeypatch.chdir(tmp_path)
    Supervisor(score_fn=first_number, dir="records").run("write a | number", inner_loop=Loop([0.25, 0.5, 1.0]))
    (record,) = (tmp_path / "records/runs").iterdir()
    past = reading.read(record)
    assert (past.solved, past.course) == (True, (0.25, 0.5, 1.0))
    texts = {"md": markdown.render(past), "html": page.render(past)}
    paper = Narrow(100)
    retelling.render(past, paper)
    for text in (*texts.values(), paper.stream.getvalue()):
        assert "A text that scores 1.00" in text
        assert "The scorer judged the text" in text
    assert "write a | number" in texts["md"]
    assert "0.5 number 2" in texts["html"]
    assert "What was asked for" in texts["html"]


def _proof(**fields: object) -> Proof:
    return replace(Proof("p", True, {"cold": "passed"}), **fields)


@pytest.mark.parametrize(
    ("change", "point"),
    [
        ({"proofs": (_proof(checks={"perturbed": "impossible"}, reasons={"perturbed": "no literal"}),)}, "no literal"),
        ({"proofs": (_proof(unperturbed=("t.py::a",)),)}, "could not be asked for another value"),
        ({"proofs": (_proof(unsteady=("t.py::g",)),)}, "passes and fails by turns"),
        ({"baseline": Baseline(("t.py::a",), ())}, "No other test guards this code"),
        ({"baseline": Baseline(("t.py::a",), ("g",), (), ("t.py::a",))}, "held out"),
        ({"baseline": Baseline(("t.py::a",), ("g",), ("u",))}, "passed outside the sandbox and not in it"),
        ({"findings": (Finding("t.py::f", "flaky"),)}, "1 test failed and was set aside"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_everything_that_is_not_proven_is_a_point(change: dict[str, object], point: str):
    """What a reviewer must know before they merge, each in a sentence of its own; a clean run has none."""
    clean = replace(reading.of(summary(SOLVED)), findings=(), baseline=Baseline(("t.py::a",), ("t.py::g",)))
    assert wording.open_points(clean) == ()
    assert any(point in told for told in wording.open_points(replace(clean, **change)))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("def f():\n>   x()\nE   assert 1 == 2\nE    +  where", "AssertionError: assert 1 == 2  (m.py:3, in f)"),
        ("E   AssertionError: no", "AssertionError: no  (m.py:3, in f)"),
        ("", "AssertionError: the message  (m.py:3, in f)"),
    ],
)
def test_a_failure_is_told_in_pytests_own_words_with_its_place(text: str, said: str):
    """The line that pytest marks, else the message; the last place that lies in the project."""
    frames = (Frame("t.py", 1, "test_f"), Frame("m.py", 3, "f"), Frame("/usr/lib/python/re.py", 9, "g"))
    failure = Failure("t.py::f", "call", "AssertionError", "the message\nmore", frames, text)
    assert wording.what_failed(failure) == said


def mended_run() -> History:
    """A run whose first attempt mended all of four tests by one edit, and whose patch is proven."""
    past = reading.of_events(Pretended(gains={1: 4}).run(1), "r")
    ended = {"verified": True, "why": "the 1th idea", "tests": {"fixed": list(past.baseline.targets), "broken": []}}
    facts = {**past.facts, "base_commit": "c0ffee"}
    return replace(past, facts=facts, patch=PATCH, result=ended, stop=StopReason.SOLVED)


@pytest.mark.parametrize("render", [markdown.render, page.render])
def test_a_reviewer_reads_of_each_edit_which_tests_it_mends_and_how_to_see_it(render):
    """The edit with its tests, once; the commit; and commands in an order in which each of them works."""
    text = render(mended_run()).replace("\\", "")
    assert text[: text.index(" mends tests/")].count("the 1th idea") == 1  # not in the headline too
    assert re.search(r"the 1th idea[`</code>]* mends tests/test_part_0.py::test_case\[0\]", text)
    assert "c0ffee" in text
    lines = ["pytest &#39;tests", "noepi verify best.patch", "git apply best.patch", "noepi replay r"]
    places = [text.replace("pytest 'tests", lines[0]).index(line) for line in lines]
    assert places == sorted(places)  # the proof applies the patch itself: it must come before


def test_of_many_failing_tests_a_command_names_some_and_says_so():
    """A shell line stays one that can be read."""
    past = reading.of_events(Pretended(tests=30).run(1), "r")
    first = wording.commands(past)[0]
    assert first.count("::") == 5
    assert first.endswith("# 5 of 30, which fail")
