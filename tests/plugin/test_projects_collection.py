"""Faults that keep a test file from being collected, and one that keeps pytest from starting."""

from __future__ import annotations

import pytest
from mending import TOTAL, Project, checks_of, mend, quick_first

GOOD = TOTAL.replace("+", "*")
LEFT_OUT = """

@pytest.mark.skipif(True, reason="not here")
def test_elsewhere():
    raise ValueError


@pytest.mark.xfail(reason="a wish", strict=True)
def test_wish():
    assert total("3", "5") == 15


class Cases(unittest.TestCase):
    @unittest.expectedFailure
    def test_another_wish(self):
        self.assertEqual(total("3", "5"), 15)
"""
STARTLESS = {
    "a-syntax-error": Project(
        {
            "shop.py": GOOD.replace("count):", "count)"),
            "test_shop.py": "import unittest\nimport pytest\n" + checks_of("shop") + LEFT_OUT,
            "test_b.py": "def test_b(): pass\n",
        },
        "shop.py",
        "count)\n",
        "count):\n",
    ),
    "a-wrong-name-at-import": Project(
        {"shop.py": "RATE = 2\nDOUBLE = RATES * 2\n" + GOOD, "test_shop.py": checks_of("shop")},
        "shop.py",
        "RATES * 2",
        "RATE * 2",
    ),
    "a-module-of-conftest": Project(
        {
            "shop.py": GOOD.replace("count):", "count)"),
            "conftest.py": "import pytest\nimport shop\n\n\n@pytest.fixture\ndef total():\n    return shop.total\n",
            "test_shop.py": "def test_total(total):\n    assert total(3, 5) == 15\n",
        },
        "shop.py",
        "count)\n",
        "count):\n",
    ),
    "a-module-of-a-conftest-below": Project(
        {
            "pytest.ini": "[pytest]\npythonpath = .\n",
            "shop.py": "RATE = 2\nDOUBLE = RATES * 2\n" + GOOD,
            "tests/conftest.py": "import shop\n",
            "tests/test_shop.py": checks_of("shop"),
            "other/test_other.py": "def test_other():\n    pass\n",
        },
        "shop.py",
        "RATES * 2",
        "RATE * 2",
        args=("tests/test_shop.py",),
    ),
}


@pytest.mark.parametrize("project", quick_first(STARTLESS))
def test_what_cannot_be_collected_is_mended(story, project):
    """The file that fails to be collected is the target; it passes when it is collected and its tests pass."""
    mend(story, project)
