"""result.json keeps to its schema, for every kind of run, and a result that contradicts itself does not."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from importlib import resources

import jsonschema
import pytest
from runs import SOLVED, failed, summary

from pytest_noepicycle.domain.budget import Entry, Ledger, Usage
from pytest_noepicycle.domain.run import Finding, StopReason
from pytest_noepicycle.report import markdown
from pytest_noepicycle.report.summary import as_json

SCHEMA = json.loads(resources.files("pytest_noepicycle").joinpath("schemas/result.schema.json").read_text("utf-8"))


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
        "a cold run of the suite agrees",
        "```diff",
        "-x = 1",
        "| cold | passed",
        "126 of 1000",
    ):
        assert part in page
    outside = re.sub(r"(`+)(?!`).*?(?<!`)\1(?!`)", "", page)
    for bad in ("<script", "@octocat", "](http", "closes #1"):
        assert bad in page
        assert bad not in outside
    assert not {"\u202e", "\x1b"} & set(page)
