"""The bench of large trees, with small ones."""

from __future__ import annotations

import pytest

from pytest_noepicycle.bench.large import Cost, as_json, as_text, measure


@pytest.mark.slow
def test_each_size_is_measured():
    """A box is opened for every tree, and its candidates are run."""
    told: list[str] = []
    costs = measure(2, "process", told.append, sizes=(3, 150))
    assert [cost.files for cost in costs] == [3, 150]
    assert told == ["3 files", "150 files"]
    assert all(min(cost.snapshot, cost.open, cost.first, cost.candidate) > 0 for cost in costs)


def test_the_table_has_a_line_for_each_size():
    """Seconds for what is done once, milliseconds for a candidate."""
    cost = Cost(200, 0.071, 1.2, 0.194, 56.24)
    assert as_text([cost]).splitlines()[1].split() == ["200", "0.07", "s", "1.20", "s", "0.19", "s", "56.2", "ms"]
    assert as_json([cost]) == [{"files": 200, "snapshot": 0.071, "open": 1.2, "first": 0.194, "candidate": 56.24}]
