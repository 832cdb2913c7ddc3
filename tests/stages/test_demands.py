"""What targets demand: literal inputs and answers, wherever a test writes them down."""

from __future__ import annotations

import textwrap

import pytest

from pytest_noepicycle.stages.demands import demands


def asked(source: str, test: str = "test_m.py::test_it", **more: str) -> set[tuple[frozenset[str], str]]:
    """The inputs and answers that a test demands."""
    files = {"test_m.py": source, "src/m.py": source, **{f"{name}.py": text for name, text in more.items()}}
    read = {name: textwrap.dedent(text).encode() for name, text in files.items()}.get
    return {(demand.inputs, demand.expected) for demand in demands((test,), read)}


def pair(inputs: str, expected: str) -> tuple[frozenset[str], str]:
    """One demand, its inputs separated by blanks."""
    return frozenset(inputs.split()), expected


@pytest.mark.parametrize(
    ("body", "demand"),
    [
        ("assert f(5, 'x') == [1, 'a']", pair("5 'x'", "(1, 'a')")),
        ("assert 7 == f(x=5)", pair("5", "7")),
        ("assert f([5, (6,)]) == approx(2.5)", pair("5 6", "2.5")),
        ("text = 'abc'\n    assert f(text) == 7", pair("'abc'", "7")),
        ("assert f('abc')", pair("'abc'", "True")),
        ("assert not f('abc')", pair("'abc'", "False")),
        ("assert f('abc') is None", pair("'abc'", "None")),
        ("self.assertEqual(f('abc'), 7)", pair("'abc'", "7")),
        ("with pytest.raises(KeyError):\n        f('abc')", pair("'abc'", "raises:KeyError")),
        ("for a, b in [('abc', 7)]:\n        assert f(a) == b", pair("'abc'", "7")),
    ],
)
def test_a_demand_is_read_from_each_form_of_expectation(body: str, demand: tuple[frozenset[str], str]):
    """Inputs are what a call is given, the answer is what it is compared with."""
    assert demand in asked(f"def test_it(self):\n    {body}\n")


@pytest.mark.parametrize("body", ["assert f(0) == 3", "assert f(x) == 3", "assert f(5) == g(5)", "f(5)"])
def test_what_cannot_be_copied_demands_nothing(body: str):
    """Ordinary base cases, computed inputs and computed answers."""
    assert asked(f"def test_it():\n    {body}\n") == set()


def test_parameters_demand_row_by_row_also_from_a_helper_file():
    """Each row is an input and its answer."""
    source = """
        from rows import ROWS
        @pytest.mark.parametrize("raw, expected", ROWS)
        def test_it(raw, expected):
            assert f(raw) == expected
    """
    rows = "ROWS = [('abc', 7), pytest.param('de', 8, id='x')]\n"
    assert asked(source, "test_m.py::test_it[abc-7]", rows=rows) == {pair("'abc'", "7"), pair("'de'", "8")}


def test_a_doctest_demands_what_its_examples_show():
    """The id of a doctest carries the dotted name of its module."""
    source = 'def f(x):\n    """Doc.\n\n    >>> f("abc")\n    7\n    """\n'
    assert asked(source, "src/m.py::m.f") == {pair("'abc'", "7")}
