"""The score: a fixed denominator, explicit passes, lost guards weigh against mended targets."""

from __future__ import annotations

import pytest

from pytest_noepicycle.domain.score import Baseline, score
from pytest_noepicycle.domain.trial import End, Outcome, Report, Status

BASE = Baseline(("t1", "t2"), ("g1", "g2"))


def report(end: End = End.COMPLETE, **statuses: Status) -> Report:
    """Return a report with these outcomes."""
    return Report({test: Outcome(test, status) for test, status in statuses.items()}, end)


P, F = Status.PASSED, Status.FAILED


@pytest.mark.parametrize(
    ("given", "value", "solved"),
    [
        (report(t1=P, t2=P, g1=P, g2=P), 1.0, True),
        (report(t1=P, t2=F, g1=P, g2=P), 0.5, False),
        (report(t1=P, t2=P, g1=P, g2=F), 0.5, False),
        (report(t1=P, t2=P, g1=P), 0.5, False),
        (report(t1=F, t2=F, g1=F, g2=F), 0.0, False),
        (report(t1=P, t2=P, g1=P, g2=P, other=P), 1.0, True),
        (report(End.TIMEOUT, t1=P, t2=P, g1=P, g2=P), 1.0, False),
        (report(End.DIED, t1=P, t2=P, g1=P, g2=P), 0.0, False),
        (report(End.VOID, t1=P, t2=P, g1=P, g2=P), 0.0, False),
        (Report({}, End.COMPLETE), 0.0, False),
    ],
    ids=["all", "half", "traded", "guard missing", "none", "unknown id", "hang", "died", "void", "empty"],
)
def test_only_explicit_passes_of_known_tests_score(given, value, solved):
    """Missing is not passing, unknown is not counted, an unbelievable trial is worth nothing."""
    assert (score(BASE, given).value, score(BASE, given).solved) == (value, solved)


@pytest.mark.parametrize("status", [s for s in Status if s is not Status.PASSED])
def test_every_other_status_counts_as_not_passing(status):
    """Skipped, expected to fail, errored, timed out: a target is mended by a pass alone."""
    assert score(BASE, report(t1=P, t2=status, g1=P, g2=P)).fixed == {"t1"}
