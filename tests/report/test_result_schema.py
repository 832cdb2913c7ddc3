"""result.json keeps to its schema, for every kind of run, and a result that contradicts itself does not."""

from __future__ import annotations

import json
from dataclasses import replace
from importlib import resources

import jsonschema
import pytest

from pytest_noepicycle.domain.budget import Entry, Ledger, Usage
from pytest_noepicycle.domain.patch import FileChange, Patch
from pytest_noepicycle.domain.run import Attempt, Finding, RunResult, Skipped, StopReason
from pytest_noepicycle.domain.score import Baseline
from pytest_noepicycle.report import markdown
from pytest_noepicycle.report.summary import Summary, as_json

SCHEMA = json.loads(resources.files("pytest_noepicycle").joinpath("schemas/result.schema.json").read_text("utf-8"))
PATCH = Patch.of([FileChange("pkg/a.py", b"x = 1\n", b"x = 2\n")])
SOLVED = RunResult(
    run_id="r",
    stop_reason=StopReason.SOLVED,
    baseline=Baseline(("t.py::a", "t.py::b"), ("t.py::g",), ("t.py::u",)),
    score=1.0,
    verified=True,
    applied=True,
    fixed=("t.py::a", "t.py::b"),
    findings=(Finding("t.py::f", "flaky", "passed in 1 of 3 runs"),),
    patch=PATCH,
    attempts=(Attempt(1, "local-search", 1.0, 1.0, "e", candidates=7, note="pkg/a.py:1: `1` → `2`"),),
    skipped=(Skipped("claude-haiku-4-5", "no API key"),),
    checks={"cold": "passed", "reverted": "passed"},
    seconds=1.25,
)
LEDGER = Ledger(1000).reserve(Entry("c1", "r", "propose", 500, 0.01)).settle("c1", Usage(100, 20, 5, 1), 0.002)


def summary(result: RunResult, ledger: Ledger = LEDGER) -> Summary:
    """Return a summary around a result."""
    return Summary(
        result, ledger, ".noepi/runs/r", "abc", False, "f", {"kind": "docker", "image": None, "network": False}
    )


def failed(stop: StopReason) -> RunResult:
    """Return a run that gained nothing."""
    return replace(SOLVED, stop_reason=stop, score=0.0, verified=False, applied=False, fixed=(), patch=Patch())


@pytest.mark.parametrize("stop", list(StopReason))
def test_every_kind_of_run_keeps_to_the_schema(stop: StopReason):
    """Each stop reason, with and without a gain, validates, and has a sentence for people."""
    result = SOLVED if stop is StopReason.SOLVED else failed(stop)
    jsonschema.validate(as_json(summary(result)), SCHEMA)
    assert stop.sentence


def test_the_numbers_are_those_of_the_run():
    """Tokens by kind, patch in lines, tests by what became of them."""
    data = as_json(summary(SOLVED))
    assert data["tokens"] == {"spent": 126, "cap": 1000, "input": 100, "output": 20, "cache_read": 5, "cache_write": 1}
    assert data["patch"] == {"file": "best.patch", "paths": ["pkg/a.py"], "added": 1, "removed": 1}
    assert data["tests"]["flaky"] == ["t.py::f"]
    assert data["tests"]["unchecked"] == ["t.py::u"]
    assert data["cost_usd"] == 0.002


def test_an_unknown_price_is_an_unknown_cost_and_never_zero():
    """A call without a price makes the cost null."""
    unknown = Ledger(1000).reserve(Entry("c1", "r", "propose", 500, None)).settle("c1", Usage(100, 20), None)
    assert as_json(summary(SOLVED, unknown))["cost_usd"] is None


@pytest.mark.parametrize(
    "change",
    [{"verified": False}, {"score": 0.5}, {"stop_reason": "plateau"}, {"patch": None}, {"stop_reason": "fine"}],
    ids=str,
)
def test_a_result_that_contradicts_itself_breaks_the_schema(change):
    """Solved without proof, applied without a patch, a reason that nobody knows."""
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({**as_json(summary(SOLVED)), **change}, SCHEMA)


HOSTILE = "<script>alert(1)</script> @octocat closes #1 | `x` [a](http://evil) \u202e ::error::boo\x1b[2J"


def test_the_markdown_report_says_what_a_reviewer_needs_and_hostile_text_stays_text():
    """Verdict, tests, patch, evidence, cost; and no markup, mention or command of a foreign text survives."""
    result = replace(SOLVED, findings=(Finding("t.py::f", "flaky", HOSTILE),))
    page = markdown.render(summary(result))
    for part in (
        "2 of 2 failing tests mended",
        "proven by a cold run",
        "```diff",
        "-x = 1",
        "| cold | passed",
        "126 of 1000",
    ):
        assert part in page
    for bad in ("<script", "@octocat", "](http", "\u202e", "\x1b"):
        assert bad not in page
