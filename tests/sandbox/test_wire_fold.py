"""From records to a report: what each sequence of records means, and which of them are refused."""

from __future__ import annotations

import pytest

from pytest_noepicycle.domain.failure import Frame
from pytest_noepicycle.domain.trial import End, Status
from pytest_noepicycle.sandbox.fold import Closing, Untrusted, fold, read_closing

DONE = Closing(End.COMPLETE)
T = "t.py::test_a"


def start(test=T):
    """Return the record of a test's beginning."""
    return {"k": "start", "id": test}


def phase(when, outcome="passed", test=T, **fields):
    """Return the record of a phase."""
    return {"k": "phase", "id": test, "when": when, "outcome": outcome, "xfail": False, "seconds": 0.5, **fields}


def ran(setup="passed", call="passed", teardown="passed", test=T, xfail=False):
    """Return the records of a test; a phase that is None did not come."""
    found = [("setup", setup), ("call", call), ("teardown", teardown)]
    return [start(test), *(phase(w, o, test, xfail=xfail and w == "call") for w, o in found if o is not None)]


def end(count):
    """Return the end record."""
    return {"k": "end", "status": 0, "count": count, "stopped": False}


FAILURE = {"exception": "E", "message": "m", "frames": [["a.py", 3, "f"]], "text": "t"}


@pytest.mark.parametrize(
    ("records", "status"),
    [
        (ran(), Status.PASSED),
        (ran(call="failed"), Status.FAILED),
        (ran(call="skipped"), Status.SKIPPED),
        (ran(setup="skipped", call=None), Status.SKIPPED),
        (ran(call="skipped", xfail=True), Status.XFAILED),
        (ran(call="passed", xfail=True), Status.XPASSED),
        (ran(setup="failed", call=None), Status.ERROR),
        (ran(teardown="failed"), Status.ERROR),
        (ran(call="failed", teardown="failed"), Status.FAILED),
        (ran(call="skipped", teardown="failed"), Status.ERROR),
    ],
)
def test_phases_make_a_status(records, status):
    """Only setup, call and teardown that passed, without a mark, make a pass."""
    assert fold([*records, end(1)], [T], DONE).outcomes[T].status is status


@pytest.mark.parametrize("records", [[], [start()], ran(teardown=None), ran(call=None, teardown=None)])
def test_a_test_that_broke_off_is_missing(records):
    """Without its teardown a test was not reported, even if its call passed."""
    report = fold(records, [T], Closing(End.DIED))
    assert (report.end, report.outcomes[T].status) == (End.DIED, Status.MISSING)


BAD = {
    "no end": ran(),
    "wrong count": [*ran(), end(2)],
    "after the end": [*ran(), end(1), start("t.py::test_b")],
    "second end": [*ran(), end(1), end(1)],
    "twice": [*ran(), *ran(), end(1)],
    "phase twice": [start(), phase("setup"), phase("setup"), phase("teardown"), end(1)],
    "call twice": [*ran(teardown=None), phase("call"), phase("teardown"), end(1)],
    "no start": [phase("setup"), phase("call"), phase("teardown"), end(1)],
    "no setup": [start(), phase("call"), phase("teardown"), end(1)],
    "call after a failed setup": [start(), phase("setup", "failed"), phase("call"), phase("teardown"), end(1)],
    "no call": [start(), phase("setup"), phase("teardown"), end(1)],
    "another test's phase": [start(), phase("setup", test="t.py::test_b"), end(0)],
    "two at once": [start(), start("t.py::test_b"), end(0)],
    "after its teardown": [*ran(), phase("call"), end(1)],
    "no outcome": [start(), phase("setup", "great"), end(0)],
    "no phase": [start(), phase("prologue"), end(0)],
    "no id": [{"k": "start", "id": 3}, end(0)],
    "no record": [7, end(0)],
    "no kind": [{"k": "verdict"}, end(0)],
    "no kind at all": [{"id": T}, end(0)],
    "negative time": [start(), phase("setup", seconds=-1), end(0)],
    "no time": [start(), phase("setup", seconds=float("nan")), end(0)],
    "true as a time": [start(), phase("setup", seconds=True), end(0)],
    "xfail as a text": [start(), phase("setup", xfail="no"), end(0)],
    "ids that are none": [{"k": "collected", "ids": [1]}, end(0)],
    "coverage of nothing": [{"k": "coverage", "id": T, "files": {}}, end(0)],
    "coverage of texts": [{"k": "coverage", "id": "", "files": {"a": ["1"]}}, end(0)],
    "frames that are none": [
        start(),
        phase("setup", "failed", failure={"exception": "", "message": "", "text": "", "frames": [[1, 2, 3]]}),
        end(0),
    ],
    "collected after it ran": [*ran(test="t.py"), {"k": "collect", "id": "t.py", "failure": FAILURE}, end(1)],
    "true as a count": [*ran(), {"k": "end", "status": 0, "count": True, "stopped": False}],
}


@pytest.mark.parametrize("name", BAD)
def test_records_that_no_honest_trial_writes_void_it(name):
    """One bad record makes all of them worthless."""
    report = fold(BAD[name], [T], DONE)
    assert (report.end, report.passing(), report.outcomes[T].status) == (End.VOID, frozenset(), Status.MISSING)
    assert "cannot be trusted" in report.why


def test_ids_that_nobody_asked_for_are_named_and_do_not_score():
    """A strange id is no outcome."""
    report = fold([*ran(), *ran(test="t.py::test_new"), end(2)], [T, "t.py::test_gone"], DONE)
    assert list(report.outcomes) == [T, "t.py::test_gone"]
    assert (report.passing(), report.unknown) == ({T}, ("t.py::test_new",))


def test_without_ids_all_that_was_collected_is_asked_for():
    """A collected test that never ran is missing."""
    collected = {"k": "collected", "ids": [T, "t.py::test_b"]}
    report = fold([collected, *ran(), end(1)], None, DONE)
    assert [outcome.status for outcome in report.outcomes.values()] == [Status.PASSED, Status.MISSING]
    assert (report.collected, report.unknown) == ((T, "t.py::test_b"), ())


def test_a_file_that_failed_to_collect_is_an_error():
    """It has an outcome of its own, whether it was asked for or not, and its tests are missing."""
    record = {"k": "collect", "id": "t.py", "failure": FAILURE}
    for ids in (None, [T], ["t.py"]):
        report = fold([record, end(0)], ids, DONE)
        assert (report.outcomes["t.py"].status, report.outcomes["t.py"].failure.phase) == (Status.ERROR, "collect")
        assert report.unknown == ()


@pytest.mark.parametrize(
    ("records", "status"),
    [
        ([*ran(), *ran(test="t.py::test_b"), end(2)], Status.PASSED),
        ([*ran(), *ran(test="t.py::test_b", call="failed"), end(2)], Status.FAILED),
        ([*ran(call="skipped"), end(1)], Status.SKIPPED),
        ([*ran(test="t.pyx::test_b"), end(1)], Status.MISSING),
        ([end(0)], Status.MISSING),
    ],
)
def test_a_file_passes_with_all_its_tests(records, status):
    """A file as a target is as good as the worst of its tests, and missing without any."""
    assert fold(records, ["t.py"], DONE).outcomes["t.py"].status is status


def test_a_hung_test_timed_out():
    """The test that hung is a timeout in the phase that did not end; those before it keep their status."""
    records = [*ran(test="t.py::test_b"), start(), phase("setup")]
    report = fold(records, [T, "t.py::test_b", "t.py::test_c"], Closing(End.TIMEOUT, hung=T))
    assert [o.status for o in report.outcomes.values()] == [Status.TIMEOUT, Status.PASSED, Status.MISSING]
    assert report.outcomes[T].failure.phase == "call"


def test_a_failure_is_read_bounded_and_printable():
    """Frames, texts and messages are cut, and hold nothing that steers a terminal or breaks an encoding."""
    failure = dict(FAILURE, message="\x1b[2Jm\ud800" + "x" * 9999, frames=[["a.py", 3, "f"]] * 99)
    record = phase("call", "failed", failure=failure)
    found = fold([start(), phase("setup"), record, phase("teardown"), end(1)], [T], DONE).outcomes[T]
    assert found.failure.message.startswith("\ufffd[2Jm?x")
    assert (len(found.failure.message), len(found.failure.frames)) == (4096, 40)
    assert (found.failure.frames[0], found.duration) == (Frame("a.py", 3, "f"), 1.5)


def test_coverage_is_gathered_from_several_records():
    """A test's lines may come in parts; imports have the empty id."""
    parts = [
        {"k": "coverage", "id": "", "files": {"a.py": [1]}},
        *ran(),
        {"k": "coverage", "id": T, "files": {"a.py": [2]}},
        {"k": "coverage", "id": T, "files": {"a.py": [3], "b.py": [1]}},
    ]
    report = fold([*parts, end(1)], [T], DONE)
    assert report.coverage == {"": {"a.py": {1}}, T: {"a.py": {2, 3}, "b.py": {1}}}


@pytest.mark.parametrize(
    "change",
    [{"end": "solved"}, {"end": "lost"}, {"hung": 3}, {"why": None}, {"output": 3}, {"seconds": "1"}, {"seconds": -1}],
)
def test_a_closing_that_is_none_is_refused(change):
    """The worker's last word is judged like every other."""
    good = {"end": "complete", "hung": None, "why": "", "output": "", "seconds": 1}
    assert read_closing(good) == Closing(End.COMPLETE, seconds=1.0)
    with pytest.raises(Untrusted):
        read_closing({**good, **change})
