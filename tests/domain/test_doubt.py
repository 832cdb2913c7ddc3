"""A model's word against a test: which tests it means, and whose word counts."""

from __future__ import annotations

import pytest

from pytest_noepicycle.domain.doubt import doubts
from pytest_noepicycle.domain.run import Attempt

AREA, EDGE, SUM = "t.py::test_area", "t.py::TestEdges::test_area_of_none[0-0]", "t.py::test_sum"


def said(*words: str) -> list[Attempt]:
    """Return attempts of rungs r1, r2, ... that said these words against a test."""
    return [Attempt(n, f"r{n}", 0.0, 0.0, "nothing", doubt=text) for n, text in enumerate(words, start=1)]


@pytest.mark.parametrize(
    ("words", "failing", "meant"),
    [
        ([], [AREA], []),
        ([""], [AREA], []),
        (["10 contradicts the docs"], [AREA], [AREA]),
        (["test_area wants the perimeter"], [AREA, EDGE, SUM], [AREA]),
        (["TestEdges::test_area_of_none[0-0] divides by nothing"], [AREA, EDGE], [EDGE]),
        (["test_area and test_sum disagree"], [AREA, EDGE, SUM], [AREA, SUM]),
        (["they disagree"], [AREA, SUM], [AREA, SUM]),
        (["test_mended is wrong", "test_sum is"], [AREA, SUM], [AREA, SUM]),
    ],
    ids=["nothing", "no doubt", "the only one", "by name", "in a class", "two", "none named", "one not failing"],
)
def test_which_tests_are_meant(words, failing, meant):
    """Those that the reason names, in the order in which they fail; where it names none, any of them."""
    assert [finding.test for finding in doubts(said(*words), failing)] == meant


def test_the_newest_word_counts_and_says_whose_it_is():
    """A reason that names no test says so, and names the others that may be meant."""
    (first,) = doubts(said("test_area asks for 7", "test_area asks for 8"), [AREA])
    assert first.hint == "r2 says that this test is wrong: test_area asks for 8"
    vague = doubts(said("they disagree"), [AREA, SUM])
    assert vague[0].others == (SUM,)
    assert vague[0].hint == "r1 says that one of the tests is wrong: they disagree"
