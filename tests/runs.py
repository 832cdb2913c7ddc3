"""Finished runs to render and to validate."""

from __future__ import annotations

from dataclasses import replace

from pytest_noepicycle.domain.budget import Entry, Ledger, Usage
from pytest_noepicycle.domain.patch import FileChange, Patch
from pytest_noepicycle.domain.run import Attempt, Finding, RunResult, Skipped, StopReason
from pytest_noepicycle.domain.score import Baseline
from pytest_noepicycle.report.summary import Summary

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
