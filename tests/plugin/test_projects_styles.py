"""Suites of every style: classes, parameters, coroutines, doctests, fixtures, programs."""

from __future__ import annotations

import pytest
from mending import RIGHT, TOTAL, WRONG, Project, checks_of, mend, quick_first

STYLES = {
    "unittest": Project(
        {
            "shop.py": TOTAL,
            "test_shop.py": """
                import unittest
                import shop


                class Totals(unittest.TestCase):
                    @classmethod
                    def setUpClass(cls):
                        cls.price = 3

                    def test_total(self):
                        self.assertEqual(shop.total(self.price, 5), 15)

                    def test_many(self):
                        for count in (2, 3, 7):
                            with self.subTest(count=count):
                                self.assertEqual(shop.total(4, count), 4 * count)

                    @unittest.expectedFailure
                    def test_wish(self):
                        self.assertEqual(shop.total("3", "5"), 15)
            """,
        },
        "shop.py",
    ),
    "parameters": Project(
        {
            "shop.py": TOTAL,
            "test_shop.py": """
                import pytest
                from shop import total

                IDS = ["two words", "a::b", "[x]", "größe-商店", "a/b.py::c", "%d", "", "tab\\there", "100%", "-k"]


                @pytest.mark.parametrize("count", range(3, 13), ids=IDS)
                @pytest.mark.parametrize("price", [pytest.param(4, id="[a] :: b")])
                class TestTotal:
                    def test_total(self, price, count):
                        assert total(price, count) == price * count
            """,
        },
        "shop.py",
    ),
    "doctests": Project(
        {
            "pytest.ini": "[pytest]\naddopts = --doctest-modules\n",
            "shop.py": '''
                def total(price, count):
                    """Return the sum.

                    >>> total(3, 5)
                    15
                    >>> total(7, 2)
                    14
                    """
                    return price + count
            ''',
        },
        "shop.py",
    ),
    "fixtures-of-all-scopes": Project(
        {
            "pytest.ini": "[pytest]\npythonpath = .\n",
            "shop.py": """
                import os


                def total(price, count):
                    print(os.environ["CURRENCY"])
                    return price + count
            """,
            "conftest.py": """
                import pytest


                @pytest.fixture(scope="session")
                def price(tmp_path_factory):
                    (tmp_path_factory.mktemp("prices") / "p").write_text("3")
                    yield 3
            """,
            "tests/conftest.py": """
                import pytest


                @pytest.fixture(scope="module", autouse=True)
                def count():
                    return 5


                @pytest.fixture
                def price(price):
                    return price + 1
            """,
            "tests/deep/conftest.py": "import pytest\n\n\n@pytest.fixture\ndef price(price):\n    return price + 1\n",
            "tests/deep/test_deep.py": """
                from shop import total


                def test_total(price, count, tmp_path, monkeypatch, capsys):
                    monkeypatch.setenv("CURRENCY", "£")
                    (tmp_path / "sum").write_text(str(total(price, count)))
                    assert capsys.readouterr().out == "£\\n"
                    assert (tmp_path / "sum").read_text() == "25"
            """,
            "tests/test_top.py": """
                from shop import total


                def test_total(price, count, monkeypatch):
                    monkeypatch.setenv("CURRENCY", "$")
                    assert total(price, count) == 20
            """,
        },
        "shop.py",
    ),
    "programs": Project(
        {
            "shop.py": TOTAL + "\n\nif __name__ == '__main__':\n    print(total(3, 5), total(7, 2))\n",
            "test_shop.py": """
                import subprocess
                import sys
                import shop


                def test_program():
                    assert shop.total(3, 5) == 15
                    told = subprocess.run([sys.executable, shop.__file__], capture_output=True, text=True, check=True)
                    assert told.stdout.split() == ["15", "14"]
            """,
        },
        "shop.py",
    ),
    "huge-output": Project(
        {
            "shop.py": TOTAL,
            "test_shop.py": """
                import sys
                from shop import total


                def test_total():
                    print("x" * 5_000_000)
                    sys.stderr.write("ö\\n" * 300_000)
                    assert total(3, 5) == 15, "y" * 3_000_000
                    assert total(7, 2) == 14
            """,
        },
        "shop.py",
        args=("--show-capture=no", "--tb=line", "-rN"),
    ),
    "a-loop-without-end": Project(
        {
            "pytest.ini": "[pytest]\nnoepi_test_timeout = 1\nnoepi_reruns = 2\nnoepi_env = SHELL\n",
            # As pytest-timeout does when its limit stands in the environment: outside the test fails, inside it hangs.
            "conftest.py": """
                import os
                import signal
                import pytest


                @pytest.fixture(autouse=True)
                def limit():
                    signal.alarm(int(os.environ.get("LIMIT", 0)))
                    yield
                    signal.alarm(0)


                def pytest_configure():
                    signal.signal(signal.SIGALRM, lambda *_: pytest.fail("too long"))
            """,
            "shop.py": """
                def total(price, count):
                    found = 0
                    while count > 0:
                        found += price
                        count += 1
                    return found
            """,
            "test_shop.py": checks_of("shop"),
        },
        "shop.py",
        "count += 1",
        "count -= 1",
        more={"env": {"LIMIT": "1"}},
    ),
    "what-tests-leave-behind": Project(
        {
            "shop.py": TOTAL,
            "test_shop.py": checks_of("shop")
            + """

def test_that_spoils_the_process(tmp_path):
    import os
    import sys
    import time

    place = tmp_path / "gone"
    place.mkdir()
    os.chdir(place)
    place.rmdir()
    os.environ.clear()
    sys.setrecursionlimit(150)
    time.time = time.monotonic = lambda: 5.0
    time.sleep = lambda seconds: None
    sys.stdout = None
""",
        },
        "shop.py",
    ),
}


@pytest.mark.parametrize("project", quick_first(STYLES))
def test_a_style_is_mended(story, project):
    """However the tests are written, what fails is run again by its id and mended."""
    mend(story, project)


@pytest.mark.parametrize("mode", [pytest.param("strict", marks=pytest.mark.slow), "auto"])
def test_coroutines_are_mended(story, mode):
    """Tests of pytest-asyncio run in the sandbox as they do outside, in either of its modes."""
    pytest.importorskip("pytest_asyncio", reason="pytest-asyncio is not installed")
    marked = "@pytest.mark.asyncio\n" if mode == "strict" else ""
    files = {
        "pytest.ini": f"[pytest]\nasyncio_mode = {mode}\nasyncio_default_fixture_loop_scope = function\n",
        "shop.py": "import asyncio\n\n\nasync def total(price, count):\n"
        f"    await asyncio.sleep(0)\n    return {WRONG}\n",
        "test_shop.py": "import pytest\nfrom shop import total\n\n\n"
        f"{marked}async def test_total():\n    assert await total(3, 5) == 15\n    assert await total(7, 2) == 14\n",
    }
    mend(story, Project(files, "shop.py", WRONG, RIGHT, args=("-p", "asyncio")))
