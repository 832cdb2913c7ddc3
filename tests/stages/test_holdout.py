"""Held-out targets: a share that is chosen by names alone, and never from too few."""

from __future__ import annotations

import pytest

from pytest_noepicycle.stages.holdout import hold_out

TEN = tuple(f"test_m.py::test_{n}" for n in range(10))


@pytest.mark.parametrize(
    ("many", "share", "held"),
    [(3, 0.5, 0), (4, 0.0, 0), (4, 0.1, 1), (4, 0.5, 2), (10, 0.2, 2), (10, 1.0, 9)],
)
def test_a_share_is_held_back_and_never_all(many: int, share: float, held: int):
    """One at least, all but one at most, and none of fewer than four."""
    split = hold_out(TEN[:many], share)
    assert len(split.held) == held
    assert sorted(split.shown + split.held) == sorted(TEN[:many])


def test_the_choice_is_the_same_in_every_run_and_order():
    """A killed run that goes on must not show what it held back."""
    assert set(hold_out(TEN, 0.3).held) == set(hold_out(TEN[::-1], 0.3).held)
