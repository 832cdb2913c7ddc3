"""Faults are single lines, chosen the same way each time and spread over modules."""

import pytest

from pytest_noepicycle.bench.faults import Site, compiles, one_line_change, operators, plant, sites, spread

SOURCE = "def add(a, b):\n    if a < 0:\n        return b\n    return a + b\n"


@pytest.mark.parametrize(
    ("before", "after", "change"),
    [
        ("a\nb\n", "a\nc\n", (2, "b", "c")),
        ("a\n  b\nc\n", "a\nc\n", (2, "b", "")),
        ("a\nb\n", "a\nb\n", None),
        ("a\nb\n", "c\nd\n", None),
        ("a\nb\nc\n", "x\nb\nz\n", None),
    ],
)
def test_one_line_change(before, after, change):
    """Only a change of one line, or the loss of one, counts; it names the line and both versions."""
    assert one_line_change(before, after) == change


@pytest.mark.parametrize(("source", "whether"), [("x = 1\n", True), ("x = = 1\n", False), ("x = '\0'\n", False)])
def test_compiles(source, whether):
    """What Python refuses is no fault to mend."""
    assert compiles(source) is whether


def test_family_is_the_operator_without_its_pair():
    """All pairs of one operator are one family."""
    assert Site("m.py", "core/ReplaceComparisonOperator_Lt_LtE", 0).family == "ReplaceComparisonOperator"
    assert Site("m.py", "core/AddNot", 0).family == "AddNot"


def test_spread_goes_round_the_modules_and_families():
    """The first places come from different modules, and a module's next one from another family."""
    places = [Site(m, f"core/{f}_{n}", n) for m in ("a.py", "b.py") for f in ("One", "Two") for n in range(5)]
    order = spread(places, seed=3)
    assert sorted(order, key=lambda site: site.key) == sorted(places, key=lambda site: site.key)
    assert [site.module for site in order[:4]] == ["a.py", "b.py", "a.py", "b.py"]
    assert {site.family for site in order if site.module == "a.py" and order.index(site) < 4} == {"One", "Two"}


def test_spread_depends_on_the_seed_alone():
    """The order of the places given does not matter; another seed gives another order."""
    places = [Site("a.py", "core/One", number) for number in range(30)]
    assert spread(places, seed=3) == spread(reversed(places), seed=3)
    assert spread(places, seed=3) != spread(places, seed=4)


def test_mutation_operators_plant_faults_that_compile():
    """Each fault of the real operators is one changed line, its text holds it, and two sites differ."""
    pytest.importorskip("cosmic_ray", reason="cosmic-ray, of the dev extra, makes the faults")
    names = [name for name in operators() if "Comparison" in name or "BinaryOperator_Add" in name]
    planted = [fault for site in sites("m.py", SOURCE, names) if (fault := plant(site, SOURCE)) is not None]
    assert {fault.line for fault in planted} == {2, 4}
    assert all(fault.source.splitlines()[fault.line - 1].strip() == fault.after for fault in planted)
    assert len({fault.source for fault in planted}) == len(planted) > 10
