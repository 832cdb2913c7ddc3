"""Projects of every common layout: where the product lies, how pytest is configured, from where it is called."""

from __future__ import annotations

import pytest
from mending import TOTAL, Project, checks_of, mend, quick_first

LAYOUTS = {
    "modules-at-the-top": Project({"shop.py": TOTAL, "test_shop.py": checks_of("shop")}, "shop.py"),
    "flat-and-setup.cfg": Project(
        {
            "setup.cfg": "[tool:pytest]\npythonpath = .\ntestpaths = tests\n",
            "shop/__init__.py": "",
            "shop/sums.py": TOTAL,
            "tests/test_sums.py": checks_of("shop.sums"),
        },
        "shop/sums.py",
    ),
    "src-and-pyproject": Project(
        {
            "pyproject.toml": """
                [tool.pytest.ini_options]
                pythonpath = ["src"]
                addopts = ["--import-mode=importlib"]
            """,
            "src/shop/__init__.py": "from shop.sums import total as total\n",
            "src/shop/sums.py": TOTAL,
            "tests/unit/test_sums.py": checks_of("shop"),
        },
        "src/shop/sums.py",
    ),
    "namespace-and-tox.ini": Project(
        {
            "tox.ini": "[pytest]\npythonpath = lib\n",
            "lib/space/shop/sums.py": TOTAL,
            "tests/test_sums.py": checks_of("space.shop.sums"),
        },
        "lib/space/shop/sums.py",
    ),
    "tests-in-the-package": Project(
        {
            "pytest.ini": "[pytest]\naddopts = --pyargs shop\npythonpath = .\n",
            "shop/__init__.py": "",
            "shop/sums.py": TOTAL,
            "shop/tests/__init__.py": "",
            "shop/tests/test_sums.py": checks_of("shop.sums"),
        },
        "shop/sums.py",
    ),
    "another-ini-by-name": Project(
        {
            "conf/other.ini": "[pytest]\npythonpath = ../code\npython_files = check_*.py\n",
            "code/sums.py": TOTAL,
            "checks/check_sums.py": checks_of("sums"),
        },
        "code/sums.py",
        args=("-c", "conf/other.ini", "--rootdir=.", "checks"),
    ),
    "data-beside-the-code": Project(
        {
            "shop/__init__.py": "",
            "shop/rates.json": '{"usual": 0.25}\n',
            "shop/rates.py": """
                import json
                from pathlib import Path

                RATES = json.loads(Path(__file__).with_name("rates.json").read_text())


                def with_tax(price):
                    return price * (1 - RATES["usual"])
            """,
            "tests/test_rates.py": """
                from shop.rates import with_tax


                def test_with_tax():
                    assert with_tax(100) == 125
                    assert with_tax(8) == 10
            """,
            "conftest.py": "",
        },
        "shop/rates.py",
        "1 - RATES",
        "1 + RATES",
    ),
}

NAMESAKES = Project(
    {
        "docker.py": "PORT = 80\n",
        "git.py": "import docker\n\nPORT = docker.PORT\n",
        "yaml.py": TOTAL,
        "anthropic.py": "",
        "langgraph.py": "",
        "filelock.py": "raise ImportError('not for you')\n",
        "cattrs.py": "",
        "prices.py": "CURRENCY = 'EUR'\n",
        "conftest.py": """
            import prices


            def pytest_noepi_report(result):
                from prices import CURRENCY

                print("told of", result.stop_reason, CURRENCY)
        """,
        "test_yaml.py": "import anthropic\nimport git\n" + checks_of("yaml"),
    },
    "yaml.py",
)


@pytest.mark.parametrize("project", quick_first(LAYOUTS))
def test_a_layout_is_mended(story, project):
    """Wherever the product lies and whichever file configures pytest, the fault is found and nothing else touched."""
    mend(story, project)


@pytest.mark.slow
def test_modules_named_like_our_libraries(story):
    """The engine imports its libraries and not the project's modules of the same names; the project keeps its own."""
    told = mend(story, NAMESAKES)
    assert "told of solved EUR" in told.text


FROM = {
    "a-folder-below": (("-v", "--tb=short", "-rA"), {"cwd": "tests"}),
    "another-folder-of-the-tree": (("../tests", "--rootdir=.."), {"cwd": "shop"}),
}


@pytest.mark.parametrize(("args", "more"), quick_first(FROM))
def test_called_from_anywhere(story, args, more):
    """Whatever folder pytest is called from, the record lies at the root and the mend reaches the tree."""
    layout = LAYOUTS["flat-and-setup.cfg"]
    mend(story, Project(layout.files, layout.fault, layout.wrong, layout.right, args, more))


@pytest.mark.slow
def test_a_checkout_behind_a_symbolic_link(story, tmp_path):
    """Tests named through a link make the link the root: the files behind it are mended."""
    layout = LAYOUTS["src-and-pyproject"]
    place = story(layout.files)
    (tmp_path / "link").symlink_to(place.project)
    told = place.fix(f"{tmp_path}/link/tests", "-c", f"{tmp_path}/link/pyproject.toml")
    assert told.result["stop_reason"] == "solved", told.text
    assert told.result["applied"]
    assert place.read(layout.fault) == TOTAL.replace("+", "*")


@pytest.mark.slow
def test_two_packages_with_a_fault_each(story):
    """Both are mended in one run, each by its own edit."""
    files = {"conftest.py": ""}
    for name, fault in (("bread", "price + count"), ("milk", "price - count")):
        files |= {f"{name}/__init__.py": "", f"{name}/sums.py": f"def total(price, count):\n    return {fault}\n"}
        files[f"tests/test_{name}.py"] = checks_of(f"{name}.sums")
    place = story(files)
    told = place.fix()
    assert told.result["stop_reason"] == "solved", told.text
    assert told.result["patch"]["paths"] == ["bread/sums.py", "milk/sums.py"]
    assert place.read("bread/sums.py") == place.read("milk/sums.py") == TOTAL.replace("+", "*")
