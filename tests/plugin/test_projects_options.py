"""pytest called as people call it: the choice of tests, plugins and stops mean what they always mean."""

from __future__ import annotations

import pytest
from mending import RIGHT, TOTAL, WRONG, Project, checks_of, contents, mend, quick_first

SHOP = {"shop.py": TOTAL, "test_shop.py": checks_of("shop")}


def configured(addopts: str, **files: str) -> dict[str, str | bytes]:
    """Return the shop with options in its ini file."""
    return {**SHOP, "pytest.ini": f"[pytest]\naddopts = {addopts}\nmarkers = slow\n", **files}


CALLS = {
    "two-workers": Project(SHOP, "shop.py", args=("-n2",)),
    "two-workers-in-addopts": Project(configured("-n 2 --dist loadfile"), "shop.py"),
    "coverage-in-addopts": Project(
        configured("--cov=shop --cov-branch --cov-report=term-missing --cov-fail-under=99"), "shop.py"
    ),
    "strange-addopts": Project(
        configured("-x --maxfail=1 --lf --sw --tb=no -q -p no:cacheprovider --durations=3", **{"test_b.py": ""}),
        "shop.py",
        args=("-o", "cache_dir=.cache", "-W", "error", "--strict-markers"),
    ),
    "options-in-the-environment": Project(SHOP, "shop.py", more={"env": {"PYTEST_ADDOPTS": "-v -x -k total -n 1"}}),
}


@pytest.mark.parametrize("project", quick_first(CALLS))
def test_a_way_to_call_is_mended(story, project):
    """Options that only steer the user's own session neither reach the sandbox nor keep the mend from being found."""
    told = mend(story, project)
    assert told.status in (1, 2), "as without the option: xdist ends with 2 where -x stops it"
    assert told.text.count(" noepi =") == 1, "the repair happens once, in the controller"


TWO = {
    "pytest.ini": "[pytest]\nmarkers = slow\n",
    "bread.py": TOTAL,
    "milk.py": TOTAL,
    "test_bread.py": "import pytest\n"
    + checks_of("bread").replace("def test_total", "@pytest.mark.slow\ndef test_total"),
    "test_milk.py": checks_of("milk").replace("test_total", "test_milk"),
}


@pytest.mark.parametrize(
    "choice",
    [
        pytest.param(("-k", "milk"), id="-k milk"),
        pytest.param(("-m", "not slow"), id="-m not slow", marks=pytest.mark.slow),
        pytest.param(("test_milk.py::test_milk",), id="test_milk.py::test_milk", marks=pytest.mark.slow),
    ],
)
def test_only_what_was_chosen_is_mended(story, choice):
    """A failure outside the user's choice is none of this run's business; its file is left as it is."""
    mend(story, Project(TWO, "milk.py", args=choice))


@pytest.mark.slow
def test_the_first_failure_is_mended_where_pytest_stops_at_it(story):
    """With -x the session knows one failure, and that one is the target."""
    told = mend(story, Project(TWO, "bread.py", args=("-x",)))
    assert told.result["tests"]["targets"] == ["test_bread.py::test_total"]


@pytest.mark.slow
def test_the_last_failures_are_mended(story):
    """--lf runs what failed last, and that is mended; afterwards the project is green."""
    place = story({**TWO, "bread.py": TOTAL.replace(WRONG, RIGHT)})
    assert place.pytest().status == 1
    told = place.fix("--lf")
    assert told.result["stop_reason"] == "solved", told.text
    assert place.pytest().status == 0


@pytest.mark.slow
def test_an_order_by_chance_is_no_obstacle(story):
    """A plugin that shuffles the tests, as pytest-randomly does, changes which runs first and nothing else."""
    shuffle = "import random\n\n\ndef pytest_collection_modifyitems(items):\n    random.SystemRandom().shuffle(items)\n"
    others = "import pytest\n\n\n@pytest.mark.parametrize('n', range(20))\ndef test_other(n):\n    pass\n"
    mend(story, Project({**SHOP, "conftest.py": shuffle, "test_others.py": others}, "shop.py"))


@pytest.mark.slow
def test_tests_may_fail_to_write_beside_themselves(story):
    """A sandbox keeps the tree as it is: tests that write into it are no guards there, and are named as unchecked."""
    writer = "from pathlib import Path\n\n\ndef test_writes():\n    Path(__file__).with_name('out').write_text('x')\n"
    told = mend(story, Project({**SHOP, "test_writer.py": writer}, "shop.py"))
    assert told.result["tests"]["unchecked"] == ["test_writer.py::test_writes"]
    assert "out" in contents(told.project)
