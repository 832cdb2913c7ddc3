"""Layouts by how pytest is configured, and by which plugins have a say."""

from __future__ import annotations

from collections.abc import Mapping

from pytest_noepicycle.bench.layouts.layout import SHOP, Layout, tests_of

_FILES = {"shop.py": SHOP, "tests/test_shop.py": tests_of("shop")}
_PATH = "pythonpath = .\n"


def _ini(
    name: str, lines: str, *plugins: str, more: Mapping[str, str] | None = None, plain: tuple[str, ...] = ()
) -> Layout:
    """Return the shop with a pytest.ini of these lines."""
    files = {"pytest.ini": f"[pytest]\n{_PATH}{lines}\n", **_FILES, **(more or {})}
    return Layout(name, files, "shop.py", plain=plain, plugins=plugins)


_MANY = """
    import pytest
    from shop import label


    @pytest.mark.parametrize("name", "abcdefghij")
    def test_label(name):
        assert label(name) == name.upper()
"""

SETTINGS = (
    Layout(
        "pyproject.toml",
        {"pyproject.toml": "[tool.pytest.ini_options]\npythonpath = ['.']\naddopts = ['-ra', '-q']\n", **_FILES},
        "shop.py",
    ),
    Layout(
        "pyproject.toml, native tables",
        {"pyproject.toml": "[tool.pytest]\npythonpath = ['.']\nstrict = true\naddopts = ['-ra']\n", **_FILES},
        "shop.py",
        least=9,
    ),
    Layout("tox.ini", {"tox.ini": f"[tox]\nenvlist = py\n\n[pytest]\n{_PATH}", **_FILES}, "shop.py"),
    Layout("setup.cfg", {"setup.cfg": f"[metadata]\nname = shop\n\n[tool:pytest]\n{_PATH}", **_FILES}, "shop.py"),
    _ini("pytest.ini", "addopts = -v --tb=short --durations=3\nlog_cli = true\nlog_level = INFO"),
    _ini(
        "testpaths",
        "testpaths = tests",
        more={
            "other/test_broken.py": "import nothing_of_that_name\n",
            "setup.py": "raise SystemExit('not to be run')\n",
        },
    ),
    _ini("xdist in addopts", "addopts = -n 2", "xdist", more={"tests/test_many.py": _MANY}),
    _ini(
        "xdist by group",
        "addopts = -n 2 --dist loadgroup",
        "xdist",
        more={
            "tests/test_shop.py": tests_of("shop").replace(
                "def test_total", "@pytest.mark.xdist_group('one')\ndef test_total"
            ),
            "tests/test_many.py": _MANY.replace("@pytest", "@pytest.mark.xdist_group('a@b')\n    @pytest", 1),
        },
    ),
    _ini(
        "strict markers",
        "addopts = --strict-markers\nmarkers = slow: takes long",
        more={"tests/test_slow.py": "import pytest\n\n\n@pytest.mark.slow\ndef test_slow():\n    pass\n"},
    ),
    _ini("strict config", "addopts = --strict-config -p no:cacheprovider\nxfail_strict = true"),
    _ini(
        "coverage gate", "addopts = --cov=shop --cov-branch --cov-report=term-missing --cov-fail-under=95", "pytest_cov"
    ),
    _ini("stops at the first failure", "addopts = -x", plain=("--maxfail=0",)),
    _ini("stops after failures, by xdist", "addopts = --maxfail=1 -n 1", "xdist", plain=("--maxfail=0",)),
    _ini("pytest-randomly", "", "randomly", more={"tests/test_many.py": _MANY}),
    _ini("pytest-random-order", "addopts = --random-order", "random_order", more={"tests/test_many.py": _MANY}),
    _ini(
        "collect_ignore",
        "testpaths = .",
        more={
            "conftest.py": "collect_ignore = ['tests/test_old.py']\ncollect_ignore_glob = ['*_draft.py']\n",
            "tests/test_old.py": "import nothing_of_that_name\n",
            "tests/test_draft.py": "import nothing_of_that_name\n",
        },
    ),
    _ini(
        "plugin by -p in addopts",
        "addopts = -p house.rules",
        more={
            "house/__init__.py": "",
            "house/rules.py": "import pytest\n\n\n@pytest.fixture\ndef price():\n    return 4\n",
            "tests/test_price.py": """
                from shop import total


                def test_price(price):
                    assert total(price, 5) == 20
            """,
        },
    ),
    _ini("pytest-timeout", "timeout = 60\ntimeout_method = thread", "timeout"),
    _ini(
        "a choice in addopts",
        "addopts = -m 'not slow' --ignore=tests/old --deselect tests/test_shop.py::test_label\nmarkers = slow",
        more={
            "tests/test_slow.py": "import pytest\n\n\n@pytest.mark.slow\ndef test_slow():\n    assert 0\n",
            "tests/old/test_old.py": "def test_old():\n    assert 0\n",
        },
    ),
    _ini("warnings are errors", "filterwarnings =\n    error\n    ignore::UserWarning"),
    _ini(
        "other names",
        "python_files = *_spec.py\npython_classes = Describe*\npython_functions = it_*",
        more={
            "tests/shop_spec.py": """
            from shop import label, total


            class DescribeShop:
                def it_sums(self):
                    assert total(3, 5) == 15
                    assert total(7, 2) == 14

                def it_labels(self):
                    assert label("a") == "A"


            def it_loads():
                assert label
        """,
        },
    ),
    _ini("reports to files", "addopts = --junitxml=out/report.xml --basetemp=out/tmp\njunit_family = xunit2"),
    _ini("required plugins", "required_plugins = pytest-mock\nminversion = 7", "pytest_mock"),
)
