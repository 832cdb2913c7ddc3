"""The ids that an ordinary run remembers are those that a sandbox will know."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from pytest_noepicycle.inside.session import own_id


@pytest.mark.parametrize(
    ("reported", "own"),
    [
        ("t.py::test_a@one", "t.py::test_a"),
        ("t.py::test_a[x@y]@one_two", "t.py::test_a[x@y]"),
        ("t.py::test_a[x@y]", "t.py::test_a[x@y]"),
        ("t.py::Test::test_a@a@b", "t.py::Test::test_a"),
        ("a@b/t.py::test_a", "a@b/t.py::test_a"),
        ("t.py::test_a", "t.py::test_a"),
    ],
)
def test_a_group_of_xdist_is_no_part_of_an_id(reported: str, own: str):
    """Where tests are distributed by group, workers report them with its name; else an at sign is the test's own."""
    by_group, otherwise = (SimpleNamespace(option=SimpleNamespace(dist=dist)) for dist in ("loadgroup", "load"))
    assert own_id(reported, by_group) == own
    assert own_id(reported, otherwise) == own_id(reported, SimpleNamespace(option=SimpleNamespace())) == reported
