"""What the lines held where a test broke: bounded, without the project's own methods, and without secrets."""

from __future__ import annotations

import decimal

import pytest

from pytest_noepicycle.inside.values import values_of

MODULE = """
    class Loud:
        def __init__(self): self.size = 3
        def __repr__(self): raise ValueError("not to be called")

    def deep(word, loud):
        api_key = "HIDDEN_1"
        settings = {"password": "HIDDEN_2", "size": 1}
        return word.index("z")
"""
TEST = """
    from m import Loud, deep

    def test_deep():
        mine = [1, 2]
        deep("abc", Loud())
"""


class Odd:
    """An object whose every way to be shown fails."""

    def __init__(self) -> None:
        self.inner = {"n": 1}

    def __repr__(self) -> str:
        raise KeyboardInterrupt

    def __getattribute__(self, name: str) -> object:
        raise SystemExit(name)


class Bare:
    """An object without attributes of its own."""

    __slots__ = ()


@pytest.mark.parametrize(
    ("value", "form"),
    [
        (1, "1"),
        (True, "True"),
        (None, "None"),
        ("a\n'b", repr("a\n'b")),
        (b"\xff", "b'\\xff'"),
        ((1,), "(1,)"),
        ([1] * 9, "[1, 1, 1, 1, 1, 1, … 9 in all]"),
        ({"a": [{"b": [0]}]}, "{'a': [{'b': …}]}"),
        ({"user": "x", "auth_token": "y"}, "{'user': 'x', 'auth_token': [redacted]}"),
        (frozenset({2}), "{2}"),
        (Bare(), "<Bare>"),
        (decimal.Decimal("1.5"), "<Decimal>"),
    ],
)
def test_a_value_is_told_without_the_projects_methods(value, form):
    """Exact built-in values by their items, anything else by its type and attributes."""
    assert values_of({"x": value}) == [["x", form]]


def test_a_hostile_object_and_an_endless_number_are_told_too():
    """Neither its methods nor the time that it would take to write it out get in the way."""
    assert values_of({"x": Odd(), "y": 1 << 100_000}) == [["x", "Odd(inner={'n': 1})"], ["y", "<int of 100001 bits>"]]


def test_what_tells_nothing_is_left_out_and_the_rest_is_bounded():
    """Modules, functions and classes are known from the source; twelve names, 120 characters each."""
    names = {f"n{i}": "x" * 10_000 for i in range(40)}
    told = values_of({"__x__": 1, "@py_assert1": 2, "pytest": pytest, "f": len, "C": Odd, **names})
    assert [name for name, _ in told] == [f"n{i}" for i in range(12)]
    assert {len(value) for _, value in told} == {120}


def test_a_circle_ends():
    """A list that holds itself is cut off like any deep one."""
    circle: list[object] = []
    circle.append(circle)
    assert values_of({"x": circle}) == [["x", "[[[…]]]"]]


def test_the_values_arrive_with_the_frames_and_only_where_they_are_wanted(make_rig):
    """Through a real worker; a brief trial, one of thousands, leaves them out."""
    worker = make_rig({"m.py": MODULE, "test_m.py": TEST})
    frames = worker.run("test_m.py::test_deep").outcomes["test_m.py::test_deep"].failure.frames
    assert [frame.values for frame in frames] == [
        (("mine", "[1, 2]"),),
        (
            ("word", "'abc'"),
            ("loud", "Loud(size=3)"),
            ("api_key", "[redacted]"),
            ("settings", "{'password': [redacted], 'size': 1}"),
        ),
    ]
    brief = worker.run("test_m.py::test_deep", brief=True).outcomes["test_m.py::test_deep"].failure
    assert [frame.values for frame in brief.frames] == [(), ()]
