"""The evidence as people and programs read it: nothing of a hostile patch comes through as more than text."""

from __future__ import annotations

import io
import json

from pytest_noepicycle.domain.evidence import Evidence, Flag, Ruling
from pytest_noepicycle.domain.territory import Refusal
from pytest_noepicycle.report.evidence import as_json, render
from pytest_noepicycle.report.terminal import PlainPaper

PROMISED = {
    *("schema_version", "verdict", "eligible", "solved", "score", "baseline_score", "refused", "tests", "checks"),
    *("flags", "duration_s"),
}
PROVED = Evidence(
    Ruling.PROVED,
    eligible=True,
    score=1.0,
    fixed=("t.py::a",),
    guards=3,
    unsteady=("t.py::u",),
    left_out={"t.py::f": "flaky: by chance"},
    unperturbed=("t.py::a",),
    checks={"cold": "passed", "perturbed": "impossible"},
    changed_tests=("tests/test_new.py",),
    flags=(Flag("m.py", 7, "sleep", "waits"),),
    sandbox="docker",
    seconds=1.5,
)


def shown(evidence: Evidence) -> str:
    """The table as text."""
    stream = io.StringIO()
    render(evidence, PlainPaper(stream))
    return stream.getvalue()


def test_the_document_has_every_field_that_is_promised():
    """More may come, none may go."""
    document = as_json(PROVED)
    assert document.keys() >= PROMISED
    assert {"fixed", "still_failing", "broken"} <= document["tests"].keys()
    assert document["flags"] == [{"path": "m.py", "line": 7, "flag": "sleep", "why": "waits"}]
    assert json.loads(json.dumps(document)) == document


def test_the_table_says_what_was_checked_and_what_could_not_be():
    """A reviewer sees impossible checks, unsteady and left out tests, changed tests and the lines to look at."""
    text = shown(PROVED)
    for words in (
        *(
            "proved:",
            "perturbed  impossible",
            "mended        t.py::a",
            "not perturbed t.py::a",
            "unsteady      t.py::u",
        ),
        *("2 of 3 tests", "t.py::f (flaky: by chance)", "changed test  tests/test_new.py", "m.py:7: waits [sleep]"),
    ):
        assert words in text, text


def test_names_that_steer_a_terminal_or_a_runner_are_only_text():
    """Paths come from the patch: escapes, commands and secrets lose their force in both forms."""
    path = "a\x1b[2J\n::error::b sk-ant-" + "a1B2" * 8
    hostile = Evidence(Ruling.REFUTED, False, 0.0, refused=(Refusal(path, "leaves-tree", "no"),), why=path)
    for text in (shown(hostile), json.dumps(as_json(hostile), ensure_ascii=False)):
        assert "\x1b" not in text
        assert "\n::error::" not in text
        assert "a1B2" not in text


def test_a_long_list_is_cut_on_the_screen_and_whole_in_the_document():
    """A thousand broken tests do not hide the ruling."""
    many = tuple(f"t.py::test_{n}" for n in range(1000))
    evidence = Evidence(Ruling.REFUTED, False, 0.0, broken=many, guards=1000)
    assert len(shown(evidence).splitlines()) < 30
    assert "… and 988 more" in shown(evidence)
    assert as_json(evidence)["tests"]["broken"] == list(many)
