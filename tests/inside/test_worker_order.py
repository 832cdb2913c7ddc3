"""Trials whose tests stand in another order than usual, through a real worker."""

from __future__ import annotations

import pytest

from pytest_noepicycle.domain.trial import End

FILES = {
    "conftest.py": """
        import pytest
        @pytest.fixture(scope="module", params=["x", "y"])
        def place(request):
            yield request.param
    """,
    "test_a.py": """
        seen = []
        def test_one(): seen.append(1)
        def test_two(): assert seen == [1]
        def test_left_out(): pass
    """,
    "test_b.py": """
        def test_one(place): pass
        def test_two(place): pass
        class TestB:
            def test_one(self): pass
            def test_two(self): pass
    """,
}
B = [f"test_b.py::{name}" for name in ("test_two[y]", "test_one[x]", "test_one[y]", "test_two[x]")]
CLASS = ["test_b.py::TestB::test_two", "test_b.py::TestB::test_one"]


@pytest.fixture(scope="module")
def rig(make_rig):
    """Two files, one whose tests share a parametrised fixture of the module."""
    return make_rig(FILES)


@pytest.mark.parametrize("cold", [False, True], ids=["warm", "cold"])
def test_tests_run_in_the_order_given_and_fixtures_are_set_up_as_seldom_as_ever(rig, cold):
    """The order is the one that was asked for, but for what pytest puts together because it shares a fixture."""
    ids = [*CLASS, *B, "test_a.py::test_two", "test_a.py::test_one"]
    report = rig.run(*ids, shuffled=True, cold=cold)
    assert report.end is End.COMPLETE, report.output
    ran = list(report.collected)
    assert sorted(ran) == sorted(ids)
    assert ran[:2] == CLASS
    assert ran[-2:] == ids[-2:]
    places = [test[-2] for test in ran if test.endswith("]")]
    assert places == ["y", "y", "x", "x"]
    assert not report.outcomes["test_a.py::test_two"].passed


def test_the_same_tests_unshuffled_run_exactly_as_asked_for(rig):
    """Without it no plugin has a say in the order."""
    ids = [*B, "test_a.py::test_one", "test_a.py::test_two"]
    report = rig.run(*ids)
    assert list(report.collected) == ids
    assert report.outcomes["test_a.py::test_two"].passed
