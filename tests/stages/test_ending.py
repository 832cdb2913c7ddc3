"""Why a run ends that has nothing to mend: the weightiest finding says it, and nothing is said that is untrue."""

from __future__ import annotations

import pytest

from pytest_noepicycle.domain.failure import Failure
from pytest_noepicycle.domain.run import Finding, StopReason
from pytest_noepicycle.domain.trial import End, Outcome, Report, Status, Trial
from pytest_noepicycle.stages.ending import ending
from pytest_noepicycle.stages.triage import triage


def finding(kind: str, **more) -> Finding:
    """Return a finding about some test."""
    return Finding("t.py::a", kind, "", **more)


@pytest.mark.parametrize(
    ("findings", "stop"),
    [
        ((), StopReason.FLAKY),
        ((finding("flaky"),), StopReason.FLAKY),
        ((finding("order-dependent"),), StopReason.FLAKY),
        ((finding("flaky"), finding("environment", cause="module")), StopReason.ENVIRONMENT),
        ((finding("environment"), finding("contradiction")), StopReason.TEST_SUSPECT),
        ((finding("unreproduced"),), StopReason.ENVIRONMENT),
        ((finding("unreproduced", cause="time"), finding("environment")), StopReason.TIME_LIMIT),
    ],
)
def test_the_weightiest_finding_names_the_reason(findings, stop):
    """What did not come to run at all may be anything, so the time has the first word."""
    assert ending(findings)[0] is stop


def test_the_company_that_decides_is_named():
    """A test that fails alone is not said to pass when it is run again."""
    names = tuple(f"t.py::{letter}" for letter in "bcdef")
    stop, why = ending((finding("order-dependent", others=names), finding("flaky")))
    assert stop is StopReason.FLAKY
    assert "decided by which tests run before (t.py::b, t.py::c, t.py::d and 2 more)" in why
    assert ending((finding("order-dependent"),))[1].startswith("whether 1 test fails is decided")
    assert ending((finding("order-dependent"),) * 2)[1].startswith("whether 2 tests fail is decided")
    assert ending((finding("flaky"),)) == (StopReason.FLAKY, "")


@pytest.mark.parametrize(
    ("outcomes", "end", "why", "stop"),
    [
        ({}, End.TIMEOUT, "the time was over", StopReason.TIME_LIMIT),
        ({"t.py::a": Status.MISSING}, End.TIMEOUT, "the time was over", StopReason.TIME_LIMIT),
        ({"t.py::a": Status.MISSING}, End.DIED, "it was killed", StopReason.ENVIRONMENT),
        ({}, End.DIED, "it was killed", StopReason.ENVIRONMENT),
        ({"t.py::a": Status.SKIPPED}, End.TIMEOUT, "", StopReason.ENVIRONMENT),
    ],
)
def test_what_did_not_run_for_want_of_time_is_no_matter_of_the_surroundings(outcomes, end, why, stop):
    """A trial that its time cut off says nothing of the tests that it did not reach."""
    ended = {test: Outcome(test, status) for test, status in outcomes.items()}

    def run(trial: Trial) -> Report:
        return Report(ended, end, collected=("t.py::a",), why=why)

    done = triage(("t.py::a",), run, fresh=run, reruns=2, seconds=9.0, known=frozenset())
    assert ending(done.findings)[0] is stop
    assert ("killed" in done.findings[0].hint) is (end is End.DIED)


def test_what_failed_before_the_time_was_over_stays_real():
    """Seen to fail is seen to fail, whatever the trial came to."""
    failure = Failure("t.py::a", "call", "AssertionError", "no")
    ended = {"t.py::a": Outcome("t.py::a", Status.FAILED, failure=failure)}

    def run(trial: Trial) -> Report:
        return Report(ended, End.TIMEOUT, collected=("t.py::a",))

    assert triage(("t.py::a",), run, fresh=run, reruns=2, seconds=9.0, known=frozenset()).real == (failure,)
