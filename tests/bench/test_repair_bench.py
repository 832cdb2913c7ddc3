"""One case through the search: judged by behaviour, with a child process that a bad candidate cannot outlive."""

import os

import pytest

from pytest_noepicycle.bench.classics.cases import Case, read_cases
from pytest_noepicycle.bench.classics.children import in_child
from pytest_noepicycle.bench.repair import alike, mend
from pytest_noepicycle.rungs.search import LocalSearch

CASES = {case.name: case for case in read_cases()}
CODE = "def double(x):\n    return x * 2\n"
TESTS = "def test_three():\n    assert double(3) == 6\n\ndef test_zero():\n    assert double(0) == 0\n"
OBSERVE = "def observe(rng):\n    return double(rng.randint(0, 99))\n"


def case(slipped, tests=TESTS):
    """Return a small case with that slip."""
    return Case("double", "slip", CODE, slipped, tests, OBSERVE)


def test_a_slip_is_mended_rightly():
    """The comparison of a sort is turned back within a few candidates, and behaves as it should."""
    mended = mend(CASES["quick_sort"], LocalSearch())
    assert mended.outcome == "rightly"
    assert mended.tried <= 5


def test_what_passes_and_behaves_otherwise_is_called_different():
    """With a test that sees too little, a mend that passes is not yet a right one."""
    weak = "def test_two():\n    assert double(2) == 4\n"
    assert mend(case("def double(x):\n    return x - 2\n", weak), LocalSearch()).outcome in ("differently", "rightly")
    assert not alike(case(CODE), "def double(x):\n    return x + 2\n")
    assert alike(case(CODE), "def double(y):\n    return y + y\n")


def test_what_no_edit_mends_is_not_mended():
    """With no candidate there is no mend."""
    mended = mend(case("def double(x):\n    return x ** 2\n"), LocalSearch(max_candidates=0))
    assert (mended.outcome, mended.tried) == ("not", 0)


def test_a_slip_that_no_test_notices_is_an_error():
    """A case whose tests pass with its slip is named."""
    with pytest.raises(ValueError, match="double: no test notices"):
        mend(case(CODE), LocalSearch())


@pytest.mark.parametrize(
    "function",
    [lambda: os.kill(os.getpid(), 9), lambda: [0] * 10**10, lambda: os._exit(3)],
    ids=["killed", "out of memory", "left"],
)
def test_a_child_that_dies_gives_nothing(function):
    """Whatever ends the child, the parent goes on without an answer."""
    assert in_child(function, 20.0) is None


def test_a_child_that_hangs_is_ended():
    """A loop without an end is stopped when its time is over."""

    def endless():
        while True:
            pass

    assert in_child(endless, 0.2) is None


def test_a_child_answers():
    """What a function returns comes back as a value."""
    assert in_child(lambda: {"a": [1, 2]}, 20.0) == {"a": [1, 2]}
