"""What the failures' texts are read for."""

import pytest

from pytest_noepicycle.domain.failure import Failure, Frame
from pytest_noepicycle.rungs.search.hints import read_hints


def hints(message, exception="builtins.AssertionError", text="", frames=()):
    """Read the hints of one failure."""
    return read_hints([Failure("tests/test_a.py::test_a", "call", exception, message, frames, text)])


@pytest.mark.parametrize(
    ("message", "pairs"),
    [
        ("assert 3 == 4\n +  where 3 = f(1)", ((3, 4),)),
        ("AssertionError: assert 'a b' == 'a-b'", (("a b", "a-b"),)),
        ("3 != 4", ((3, 4),)),
        ("assert [1, 2, 3] == [1, 5, 3]", ((2, 5),)),
        ("assert {'a': 1} == {'a': 2}", ((1, 2),)),
        ("assert {'a,': 1} == {'a': 1}", (("a,", "a"),)),
        ("assert None is 3", ((None, 3),)),
        ("assert f(3) == x", ()),
        ("something else", ()),
        ("", ()),
    ],
)
def test_compared_values(message, pairs):
    """The two sides of a failed comparison are read as values, actual first."""
    assert hints(message).pairs == pairs


def test_differences():
    """Numbers tell by how much they are off, texts in which piece they differ."""
    assert hints("assert 10 == 7").steps == (-3,)
    assert ("_", "-") in hints("assert 'a_b' == 'a-b'").fragments
    assert hints("assert 'Ada' == 'ada'").case_differs
    assert hints("assert ' a' == 'a'").blanks_differ
    assert hints("assert [2, 1] == [1, 2]").reordered
    assert not hints("assert [2, 1] == [1, 3]").reordered


def test_names():
    """Names that do not exist are kept with what the interpreter suggests."""
    found = hints("name 'totl' is not defined. Did you mean: 'total'?", "builtins.NameError")
    assert found.missing == {"totl"}
    assert found.meant == {"totl": "total"}
    assert hints("'list' object has no attribute 'add'", "builtins.AttributeError").missing == {"add"}


def test_exceptions_and_where_they_were_raised():
    """The exception, the one that was waited for, and the places that it came through."""
    found = hints("DID NOT RAISE <class 'shop.errors.SoldOut'>", "Failed")
    assert found.wanted == ("SoldOut",)
    found = hints("'k'", "builtins.KeyError", "with pytest.raises(ValueError):", (Frame("shop.py", 3, "f"),))
    assert found.wanted == ("ValueError",)
    assert found.raised == {"KeyError"}
    assert found.crashes == {("shop.py", 3): "KeyError"}
