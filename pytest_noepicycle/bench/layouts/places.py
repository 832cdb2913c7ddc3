"""Layouts by where product and tests lie."""

from __future__ import annotations

from pytest_noepicycle.bench.layouts.layout import SHOP, Layout, tests_of

_SETUPTOOLS = """
    [build-system]
    requires = ["setuptools"]
    build-backend = "setuptools.build_meta"

    [project]
    name = "{name}"
    version = "1.0"

    [tool.setuptools.packages.find]
    where = ["{where}"]
    include = ["{name}*"]
"""

PLACES = (
    Layout(
        "flat",
        {"shop/__init__.py": "", "shop/sums.py": SHOP, "tests/test_sums.py": tests_of("shop.sums")},
        "shop/sums.py",
    ),
    Layout("one module, no configuration", {"shop.py": SHOP, "test_shop.py": tests_of("shop")}, "shop.py"),
    Layout(
        "src",
        {
            "pyproject.toml": "[tool.pytest.ini_options]\npythonpath = ['src']\n",
            "src/shop/__init__.py": "from shop.sums import label as label, total as total\n",
            "src/shop/sums.py": SHOP,
            "tests/unit/test_sums.py": tests_of("shop"),
        },
        "src/shop/sums.py",
    ),
    Layout(
        "src, editable install",
        {
            "pyproject.toml": _SETUPTOOLS.format(name="layout_editable", where="src"),
            "src/layout_editable/__init__.py": "",
            "src/layout_editable/sums.py": SHOP,
            "tests/test_sums.py": tests_of("layout_editable.sums"),
        },
        "src/layout_editable/sums.py",
        install="editable",
    ),
    Layout(
        "flat, editable install",
        {
            "pyproject.toml": _SETUPTOOLS.format(name="layout_flat", where="."),
            "layout_flat/__init__.py": "",
            "layout_flat/sums.py": SHOP,
            "tests/test_sums.py": tests_of("layout_flat.sums"),
        },
        "layout_flat/sums.py",
        install="editable",
    ),
    Layout(
        "wheel, the tree comes first",
        {
            "pyproject.toml": _SETUPTOOLS.format(name="layout_wheel", where="."),
            "layout_wheel/__init__.py": "",
            "layout_wheel/sums.py": SHOP,
            "tests/test_sums.py": tests_of("layout_wheel.sums"),
        },
        "layout_wheel/sums.py",
        install="wheel",
    ),
    Layout(
        "wheel, tests see the installed copy",
        {
            "pyproject.toml": _SETUPTOOLS.format(name="layout_installed", where="src"),
            "src/layout_installed/__init__.py": "",
            "src/layout_installed/sums.py": SHOP,
            "tests/test_sums.py": tests_of("layout_installed.sums"),
        },
        "src/layout_installed/sums.py",
        install="wheel",
        ends="environment",
        says="installed copy",
    ),
    Layout(
        "namespace package",
        {
            "tox.ini": "[pytest]\npythonpath = lib\n",
            "lib/space/shop/sums.py": SHOP,
            "lib/space/other/more.py": """
                from space.shop.sums import total


                def twice(price):
                    return total(price, 2)
            """,
            "tests/test_sums.py": tests_of("space.shop.sums"),
            "tests/test_more.py": """
                from space.other.more import twice


                def test_twice():
                    assert twice(7) == 14
            """,
        },
        "lib/space/shop/sums.py",
    ),
    Layout(
        "several packages",
        {
            "pytest.ini": "[pytest]\npythonpath = one/src two/src\naddopts = --import-mode=importlib\n",
            "one/src/bread/__init__.py": "",
            "one/src/bread/sums.py": SHOP,
            "one/tests/test_sums.py": tests_of("bread.sums"),
            "two/src/milk/__init__.py": """
                from bread.sums import label


                def loud(name):
                    return label(name).upper()
            """,
            "two/tests/test_sums.py": "from milk import loud\n\n\ndef test_loud():\n    assert loud(' a') == 'A'\n",
        },
        "one/src/bread/sums.py",
    ),
    Layout(
        "symlinked checkout",
        {
            "pyproject.toml": "[tool.pytest.ini_options]\npythonpath = ['src']\n",
            "src/shop/sums.py": SHOP,
            "tests/test_sums.py": tests_of("shop.sums"),
        },
        "src/shop/sums.py",
        args=("{link}/tests", "-c", "{link}/pyproject.toml"),
    ),
    Layout(
        "conftest at several levels",
        {
            "pytest.ini": "[pytest]\npythonpath = .\n",
            "shop.py": SHOP,
            "conftest.py": "import pytest\n\n\n@pytest.fixture(scope='session')\ndef price():\n    return 3\n",
            "tests/conftest.py": "import pytest\n\n\n@pytest.fixture\ndef price(price):\n    return price + 1\n",
            "tests/deep/conftest.py": "import pytest\n\n\n@pytest.fixture\ndef price(price):\n    return price + 2\n",
            "tests/deep/test_deep.py": """
                from shop import total


                def test_deep(price):
                    assert total(price, 4) == 24
            """,
            "tests/test_top.py": """
                from shop import label, total


                def test_top(price):
                    assert total(price, 5) == 20


                def test_label(price):
                    assert label("x") == "X"
            """,
        },
        "shop.py",
    ),
    Layout(
        "tests inside the package",
        {
            "pytest.ini": "[pytest]\naddopts = --pyargs shop\n",
            "shop/__init__.py": "",
            "shop/sums.py": SHOP,
            "shop/tests/__init__.py": "",
            "shop/tests/test_sums.py": tests_of("shop.sums").replace("from shop.sums", "from ..sums"),
        },
        "shop/sums.py",
    ),
    Layout(
        "one name for two test files",
        {
            "pyproject.toml": "[tool.pytest.ini_options]\naddopts = '--import-mode=importlib'\npythonpath = ['.']\n",
            "shop.py": SHOP,
            "tests/a/test_shop.py": tests_of("shop"),
            "tests/b/test_shop.py": "from shop import label\n\n\ndef test_label():\n    assert label('b') == 'B'\n",
        },
        "shop.py",
    ),
    Layout(
        "names with spaces and umlauts",
        {
            "pyproject.toml": "[tool.pytest.ini_options]\npythonpath = ['das src']\n",
            "das src/käse/__init__.py": SHOP,
            "the tests/test_käse.py": tests_of("käse"),
            "the tests/test more.py": "def test_more():\n    assert 1\n",
        },
        "das src/käse/__init__.py",
    ),
    Layout(
        "configuration elsewhere",
        {
            "conf/other.ini": "[pytest]\npythonpath = ../code\npython_files = check_*.py\npython_functions = check_*\n",
            "code/sums.py": SHOP,
            "checks/check_sums.py": tests_of("sums").replace("def test_", "def check_"),
        },
        "code/sums.py",
        args=("-c", "conf/other.ini", "--rootdir=.", "checks"),
    ),
    Layout(
        "called from a folder below",
        {
            "setup.cfg": "[tool:pytest]\npythonpath = .\n",
            "shop/__init__.py": "",
            "shop/sums.py": SHOP,
            "tests/test_sums.py": tests_of("shop.sums"),
            "elsewhere/test_nothing.py": "def test_nothing():\n    pass\n",
        },
        "shop/sums.py",
        args=("../tests", "../elsewhere"),
        cwd="shop",
    ),
)
