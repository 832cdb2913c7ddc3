"""What triage found, as a person sees it."""

from __future__ import annotations

import io
from dataclasses import replace

from runs import SOLVED, summary

from pytest_noepicycle.domain.run import Finding
from pytest_noepicycle.report.terminal import PlainPaper, render


def test_many_findings_for_one_reason_are_shown_as_a_few_and_a_number():
    """Forty tests that lack one module are one thing to read; another reason stands by itself."""
    alike = tuple(Finding(f"t.py::test_{number}", "environment", "no module x") for number in range(40))
    stream = io.StringIO()
    found = (*alike, Finding("t.py::other", "flaky", "by chance"))
    render(summary(replace(SOLVED, findings=found)), PlainPaper(stream), commands="noepi")
    lines = stream.getvalue().splitlines()
    assert sum("no module x" in line for line in lines) == 3
    assert any("and 37 more for the same reason" in line for line in lines)
    assert any("t.py::other: by chance" in line for line in lines)
