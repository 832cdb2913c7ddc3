"""Names of tests of our own: collected by the patterns that collect the project's."""

from __future__ import annotations

import fnmatch

import pytest

from pytest_noepicycle.stages.alike import class_alike, function_alike, function_of


@pytest.mark.parametrize(
    ("name", "pattern"),
    [
        ("test_sum", "test*"),
        ("testSum", "test*"),
        ("it_sums", "it_*"),
        ("check_total", "check_*"),
        ("check", "check*"),
        ("sum_test", "*_test"),
        ("adds_two_numbers_should", "*_should"),
    ],
)
def test_a_function_is_collected_where_its_model_is(name: str, pattern: str):
    """Whatever of the name the project's pattern asks for is there, and the rest is the word's."""
    assert fnmatch.fnmatch(name, pattern)
    assert fnmatch.fnmatch(function_alike(name, "a1b2c3"), pattern)
    assert "a1b2c3" in function_alike(name, "a1b2c3")
    assert function_alike(name, "a1b2c3").isidentifier()


@pytest.mark.parametrize(
    ("name", "pattern"),
    [("TestBasket", "Test*"), ("DescribeShop", "Describe*"), ("ShopSpec", "*Spec"), ("Test", "Test*")],
)
def test_a_class_is_collected_where_its_model_is(name: str, pattern: str):
    """The first part of the name, or its last where that says what it is."""
    assert fnmatch.fnmatch(class_alike(name, "a1b2c3"), pattern)


@pytest.mark.parametrize(
    ("tests", "name"),
    [
        (("t/test_a.py", "t/test_a.py::DescribeShop::it_sums[a::b]"), "it_sums"),
        (("README.md::README.md", "t.py::check"), "check"),
        ((), "test"),
    ],
)
def test_the_model_is_the_first_test_that_is_a_function(tests, name):
    """A file that failed to collect and a doctest are none."""
    assert function_of(tests) == name
