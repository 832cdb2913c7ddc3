"""A file or a folder that could not be collected is one target: when it passes, and when it does not."""

from __future__ import annotations

import pytest

from pytest_noepicycle.domain.trial import End, Status
from pytest_noepicycle.sandbox.fold import Closing, fold

CANARY = "t/test_canary.py::test_must_fail"


def told(test: str, call: str, *, excused: bool = False, setup: str = "passed") -> list[dict[str, object]]:
    """Return what a worker records of one test."""
    phases = [("setup", setup), *([("call", call)] if setup == "passed" else []), ("teardown", "passed")]
    start = {"k": "start", "id": test, "excused": excused}
    return [
        start,
        *(
            {"k": "phase", "id": test, "when": when, "outcome": outcome, "xfail": call == "xfail", "seconds": 0.0}
            for when, outcome in ((w, "skipped" if o == "xfail" else o) for w, o in phases)
        ),
    ]


GREEN = told("t/a.py::test_a", "passed")
TARGETS = {
    "a file": ("t/a.py", GREEN, Status.PASSED),
    "its folder": ("t", GREEN, Status.PASSED),
    "the root's folder": (".", GREEN, Status.PASSED),
    "a folder above it": ("t", told("t/deep/a.py::test_a", "passed"), Status.PASSED),
    "a folder of a like name": ("t", told("tt/a.py::test_a", "passed"), Status.MISSING),
    "another test of the folder fails": ("t", GREEN + told("t/b.py::test_b", "failed"), Status.FAILED),
    "a test asked for by itself fails": ("t", GREEN + told(CANARY, "failed"), Status.PASSED),
    "a test marked to be skipped": (
        "t/a.py",
        GREEN + told("t/a.py::s", "", setup="skipped", excused=True),
        Status.PASSED,
    ),
    "a test marked to fail": ("t/a.py", GREEN + told("t/a.py::x", "xfail", excused=True), Status.PASSED),
    "a test that skips without a mark": ("t/a.py", GREEN + told("t/a.py::s", "skipped"), Status.SKIPPED),
    "a test that fails though it may": ("t/a.py", GREEN + told("t/a.py::f", "failed", excused=True), Status.FAILED),
    "only tests marked to be skipped": ("t/a.py", told("t/a.py::s", "", setup="skipped", excused=True), Status.MISSING),
    "no test at all": ("t/a.py", [], Status.MISSING),
}


@pytest.mark.parametrize(("target", "records", "status"), TARGETS.values(), ids=TARGETS)
def test_a_target_that_is_no_test(target, records, status):
    """It passes when some test in it passed and none failed, but for those that are marked so by their author."""
    count = sum(record["k"] == "start" for record in records)
    end = {"k": "end", "status": 0, "count": count, "stopped": False}
    report = fold([*records, end], [target, CANARY], Closing(End.COMPLETE))
    assert report.end is End.COMPLETE, report.why
    assert report.outcomes[target].status is status
