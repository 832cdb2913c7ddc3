"""Perturbed expectations: sound changes only, so that an honest fix always fails them."""

from __future__ import annotations

import textwrap

import pytest

from pytest_noepicycle.stages.perturb import perturb

TEST = "test_m.py::test_it"
BACK = """
    @pytest.mark.parametrize('raw, expected', ROWS)
    def test_back(raw, expected):
        assert g(expected) == raw
"""


def perturbed(source: str, *targets: str, **more: str):
    """Perturb a test file; further files by their stem."""
    files = {"test_m.py": source, **{f"{name}.py": text for name, text in more.items()}}
    read = {name: textwrap.dedent(text).encode() for name, text in files.items()}.get
    return perturb(targets or (TEST,), read)


@pytest.mark.parametrize(
    ("body", "becomes"),
    [
        ("assert f(1) == 2", "assert f(1) == 3"),
        ("assert 2 == f(1)", "assert 3 == f(1)"),
        ("assert f(1) == -2.5", "assert f(1) == -2.4609375"),
        ("assert f() == 'ä'", "assert f() == 'Ä~'"),
        ("assert f() == b'x'", "assert f() == b'X~'"),
        ("assert f() == [1]", "assert f() == [2]"),
        ("assert f() == {'a': 1}", "assert f() == {'a': 2}"),
        ("assert f() == None", "assert f() == '~other'"),
        ("assert f() == True", "assert f() == False"),
        ("assert f() == g()", "assert f() == object()"),
        ("assert f() == approx(2.0, abs=9)", "assert f() == approx(77.5)"),
        ("assert f() == []", "assert f() == ['~other']"),
        ("assert f() == (1, 2)", "assert f() == (2, 2)"),
        ("assert f() == {2, 3}", "assert f() == {3}"),
        ("self.assertAlmostEqual(f(), 2, delta=3)", "self.assertAlmostEqual(f(), 77, delta=3)"),
        ("assert f()", "assert not (f())"),
        ("assert f() is None, 'why'", "assert not (f() is None), 'why'"),
        ("assert f() > 2", "assert not (f() > 2)"),
        ("self.assertEqual(f(), 2)", "self.assertEqual(f(), 3)"),
        ("with raises(ValueError):\n        f()", "with raises(type('Unrelated', (Exception,), {})):\n        f()"),
        (
            "with self.assertRaises(E):\n        f()",
            "with self.assertRaises(type('Unrelated', (Exception,), {})):\n        f()",
        ),
        ("with thing():\n        assert f() == 2", "with thing():\n        assert f() == 3"),
    ],
)
def test_each_kind_of_expectation_becomes_another_of_its_kind(body: str, becomes: str):
    """The expected side changes, byte for byte nothing else."""
    plan = perturbed(f"def test_it(self):\n    {body}\n")
    assert plan.overlay["test_m.py"].decode() == f"def test_it(self):\n    {becomes}\n"
    assert plan.targets == (TEST,)


@pytest.mark.parametrize(
    "body",
    [
        "f()",
        "check(f(), 2)",
        "if f():\n        assert f() == 2",
        "for x in f():\n        assert x == 2",
        "try:\n        assert f() == 2\n    finally:\n        pass",
        "if g():\n        return\n    assert f() == 2",
    ],
)
def test_an_expectation_that_a_passing_test_may_not_have_reached_is_left_alone(body: str):
    """Where nothing certain can be changed the check is impossible, and the test is named."""
    plan = perturbed(f"def test_it():\n    {body}\n")
    assert plan.impossible == (TEST,)
    assert plan.overlay == {}


TABLE = """
    import pytest
    from data import ROWS


    @pytest.mark.parametrize("raw, expected", {rows})
    def test_it(raw, expected):
        assert f(raw) == expected
"""


def test_parameters_change_in_their_table_and_are_found_again_by_position():
    """The ids of the cases change with their values; their order does not."""
    plan = perturbed(TABLE.format(rows='[("a", 1), ("b", 2)]'), "test_m.py::test_it[b-2]")
    assert b'[("a", 2), ("b", 3)]' in plan.overlay["test_m.py"]
    assert plan.ids() == ("test_m.py",)
    before = ("test_m.py::test_it[a-1]", "test_m.py::test_it[b-2]", "test_m.py::test_other")
    after = ("test_m.py::test_it[a-2]", "test_m.py::test_it[b-3]", "test_m.py::test_other")
    assert plan.now("test_m.py::test_it[b-2]", before, after) == after[1]
    assert plan.now("test_m.py::test_it[b-2]", before, after[:1]) is None


def test_a_table_in_a_helper_file_changes_there():
    """The rows are followed through the import to the file that holds them."""
    plan = perturbed(TABLE.format(rows="ROWS"), "test_m.py::test_it[a-1]", data='ROWS = [("a", 1)]\n')
    assert plan.overlay == {"data.py": b'ROWS = [("a", 2)]\n'}


def test_a_parameter_that_is_handed_in_as_well_stays():
    """Were it changed, an honest answer could change with it: the comparison changes instead."""
    source = TABLE.format(rows='[("a", "b")]').replace("f(raw)", "f(raw, expected)")
    plan = perturbed(source, "test_m.py::test_it[a-b]")
    assert b"== object()" in plan.overlay["test_m.py"]
    assert plan.renumbered == frozenset()


def test_of_a_table_that_two_tests_read_from_either_side_one_column_changes():
    """A test that goes there and one that goes back must not agree again after the change."""
    there = TABLE.format(rows='[("a", "b")]').replace("test_it", "test_there")
    source = there.replace('[("a", "b")]', "ROWS") + BACK
    plan = perturbed(source, "test_m.py::test_there[a-b]", "test_m.py::test_back[a-b]", data='ROWS = [("a", "b")]\n')
    assert plan.overlay["data.py"] == b"ROWS = [(\"a\", 'B~')]\n"
    assert b"g(expected) == object()" in plan.overlay["test_m.py"]
