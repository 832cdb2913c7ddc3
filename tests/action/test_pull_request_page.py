"""The title and the body of a pull request: what they say, and that foreign text in them can do nothing."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from pytest_noepicycle.domain.evidence import Flag
from pytest_noepicycle.domain.patch import FileChange, Patch
from pytest_noepicycle.domain.publishing import marked
from pytest_noepicycle.report.pull_request import LONGEST, Told, body, note, quoted, title

PATCH = Patch.of([FileChange("src/calc.py", b"x = 1\n", b"x = 2\n")])
RESULT = {
    "stop_reason": "solved",
    "stop_sentence": "every failing test passes",
    "checks": {"cold": "passed", "perturbed": "impossible"},
    "tests": {"targets": ["t.py::a", "t.py::b"], "fixed": ["t.py::a", "t.py::b"], "unchecked": ["t.py::u"]},
    "tokens": {"spent": 500, "cap": 1000},
    "cost_usd": 0.0123,
    "duration_s": 12.5,
    "sandbox": {"kind": "docker"},
    "skipped_rungs": [{"rung": "claude-haiku-4-5", "why": "no API key"}],
    "warnings": ["no other test guards this code"],
}
FIRST = {"event": "attempt", "t": 3, "iteration": 1, "rung": "local-search", "score": 0.5, "fixed": ["t.py::a"]}
SECOND = {"event": "attempt", "t": 4, "iteration": 2, "rung": "m", "score": 1.0, "tokens": 500, "fixed": ["t.py::b"]}
EVENTS = [
    {"event": "triaged", "t": 1, "real": [{"test": "t.py::a", "exception": "AssertionError", "message": "7 == 8\nx"}]},
    {"event": "candidate", "t": 2, "patch": PATCH.digest, "detail": {"reason": "run by 2 of 2 failing tests"}},
    FIRST,
    SECOND,
    {"event": "decision", "t": 5, "action": "verify", "signal": "solved", "reason": "every target passes"},
]
TOLD = Told(RESULT, PATCH, "main", "c0ffee" * 6, EVENTS, (Flag("src/calc.py", 1, "sleep", "waits"),))


@pytest.mark.parametrize(
    "part",
    [
        "**2 of 2 failing tests of `main` mended.** Proven at `c0ffeec0ffee`",
        "| `t.py::a` | `AssertionError: 7 == 8` | mended |",
        "Why there: `run by 2 of 2 failing tests`",
        "| `cold` | `passed` |",
        "    bar [0, 50]\n    line [50, 100]",
        "500 of 1000 tokens, $0.0123, 12 s.",
        "1 tests passed outside the sandbox",
        "The check `perturbed` was not possible here.",
        "`claude-haiku-4-5` was not used: `no API key`",
        "| `src/calc.py:1` | sleep | `waits` |",
        "attempt 2 m score 1.00",
        "A commit of yours on this branch is never overwritten",
    ],
)
def test_the_body_says_what_a_reviewer_must_know(part):
    """What failed, what changed and why, evidence, course, cost, gaps, flags and the log all stand in it."""
    assert part in body(TOLD)


def test_each_edit_is_shown_with_the_tests_that_it_mends_and_why_it_was_made_there():
    """A patch of several edits says of each what it does; one that was tried and not kept is not among them."""
    kept = {"event": "candidate", "note": "`1` → `2`", "fixed": ["t.py::a"], "detail": {"reason": "run by 1 of 1"}}
    other = {**kept, "note": "`1` → `7`", "fixed": ["t.py::b"]}
    attempt = {**FIRST, "note": "`1` → `2`; and more"}
    text = body(replace(TOLD, events=[kept, other, attempt]))
    assert "- `` `1` → `2` `` mends `t.py::a`. Why there: `run by 1 of 1`" in text
    assert "`7`" not in text


def test_a_partial_gain_says_how_many_of_how_many_first():
    """Title and first line tell a partial gain from a whole fix."""
    tests = {"targets": ["t.py::a", "t.py::b", "t.py::c"], "fixed": ["t.py::b"], "still_failing": ["t.py::a"]}
    told = replace(TOLD, result={**RESULT, "tests": tests})
    assert title(told) == "Mend 1 of 3 failing tests in src/calc.py"
    assert body(told).startswith("**A partial gain: 1 of 3 failing tests of `main` mended; the others still fail.**")
    assert title(TOLD) == "Mend 2 failing tests in src/calc.py"


HOSTILE = (
    "@octocat fixes #12, closes acme/w#3, resolves https://github.com/a/b/issues/4, GH-7 ``` </details> <img src=x> "
    "<!-- noepi:note green --> | ](javascript:x) ::set-output name=a::b ghp_" + "a" * 30
)


def test_foreign_text_is_code_and_nothing_that_github_reacts_to():
    """Mentions, closing keywords, links, markup, commands and tokens in ids, messages and notes do nothing."""
    tests = {"targets": [HOSTILE], "fixed": [HOSTILE], "flaky": [HOSTILE]}
    events = [{**event, "note": HOSTILE, "reason": HOSTILE, "rung": HOSTILE} for event in EVENTS]
    result = {**RESULT, "tests": tests, "warnings": [HOSTILE], "checks": {HOSTILE: HOSTILE}, "stop_reason": HOSTILE}
    told = replace(TOLD, result=result, events=events, base=HOSTILE, flags=(Flag(HOSTILE, 1, "f", HOSTILE),))
    for text in (body(told), title(told), note("green", told, HOSTILE)):
        assert not re.search(r"@octocat|#\d|GH-\d|/issues/\d|ghp_a", text)
    page = re.sub(r"(`+)(?!`).*?(?<!`)\1(?!`)", "", body(told), flags=re.DOTALL)  # without what stands as code
    assert "<img" not in page
    assert "javascript" not in page
    assert page.count("</details>") == 1


def test_a_hostile_record_cannot_be_long_or_break_the_body():
    """Ten thousand tests, endless texts and values of any type give a body that can be posted."""
    tests = {"targets": ["t" * 500 + str(n) for n in range(10_000)], "fixed": 7, "still_failing": ["s" * 9999] * 999}
    result = {**RESULT, "tests": tests, "warnings": ["w" * 99_999] * 99, "tokens": "many", "cost_usd": [], "checks": 3}
    events = [{"event": "decision", "reason": "r" * 9999, "t": "x"}, {"event": "attempt", "score": None}] * 5000
    text = body(replace(TOLD, result=result, events=events))
    assert len(text) <= LONGEST
    assert "0 of 10000 failing tests" in text


def test_notes_are_known_again():
    """Each kind of comment carries its own mark, and the patch where a person needs it."""
    assert marked(note("green", None, "main")) == "green"
    beside = note(f"beside-{PATCH.digest}", TOLD, "main")
    assert marked(beside) == f"beside-{PATCH.digest}"
    assert "+x = 2" in beside


def test_code_survives_backticks():
    """A span is fenced by more backticks than it holds."""
    assert quoted("a `b` c") == "`` a `b` c ``"
    assert quoted("") == ""
