"""Tests of an installed copy: told apart by what ran."""

from __future__ import annotations

import pytest

from pytest_noepicycle.stages.installed import installed_copies

FILES = frozenset({"src/shop/__init__.py", "src/shop/sums.py", "tests/test_a.py", "data/shop.txt"})
TEST = "tests/test_a.py::test_one"
OWN = {"tests/test_a.py": frozenset({1, 2})}
RAN_IN_TREE = {"": {"src/shop/sums.py": frozenset({1})}, TEST: OWN}
RAN_ELSEWHERE = {"": {"src/shop/sums.py": frozenset[int]()}, TEST: OWN}


@pytest.mark.parametrize(
    ("source", "coverage", "outside", "found"),
    [
        (b"from shop.sums import total\n", RAN_ELSEWHERE, {"shop"}, True),
        (b"def test_one():\n    import shop\n", RAN_ELSEWHERE, {"shop"}, True),
        (b"import shop\n", RAN_IN_TREE, {"shop"}, False),
        (b"import shop\n", RAN_ELSEWHERE, {"os"}, False),
        (b"import os\nfrom . import shop\n", RAN_ELSEWHERE, {"os", "shop"}, False),
        (b"import shop\n", {}, {"shop"}, False),
        (b"import shop(\n", RAN_ELSEWHERE, {"shop"}, False),
        (None, RAN_ELSEWHERE, {"shop"}, False),
    ],
    ids=[
        "elsewhere",
        "in a function",
        "in the tree",
        "only in the tree",
        "others",
        "unmeasured",
        "no Python",
        "no file",
    ],
)
def test_an_installed_copy_is_known_by_what_did_not_run(source, coverage, outside, found):
    """The name can be had outside, the tree has it too, and of the tree's nothing ran."""
    findings = installed_copies([TEST], coverage, FILES, outside, lambda path: source)
    assert [finding.test for finding in findings] == ([TEST] if found else [])
    assert all("pip install -e ." in finding.hint and finding.kind == "environment" for finding in findings)
