"""The engine in one environment, the project in another that holds pytest and nothing of ours."""

from __future__ import annotations

import json
import subprocess
import sys
import textwrap
import venv
from pathlib import Path

import pytest
from mending import RIGHT, TOTAL, WRONG, Project, check_mended, checks_of, contents
from story import Story

SHOP = Project({"shop.py": TOTAL, "test_shop.py": checks_of("shop")}, "shop.py")
GREEN = {**SHOP.files, "shop.py": TOTAL.replace(WRONG, RIGHT)}
FIX = ("fix", "--sandbox", "process")


def test_fix_undo_and_apply(story, bare_python):
    """The whole way from the command line: mended, put back, and put in again, each time byte by byte."""
    place = story(SHOP.files)
    before = contents(place.project)
    told = place.noepi(*FIX, "--python", bare_python)
    assert told.status == 0, told.text
    check_mended(told, SHOP, before)
    assert "pytest_noepicycle" not in told.text
    assert place.noepi("undo").status == 0
    assert contents(place.project) == before
    assert place.noepi("apply").status == 0
    check_mended(told, SHOP, before)


def _json(place: Story, *arguments: str) -> tuple[int, object]:
    """Run ``noepi`` and read its standard output, all of it, as one JSON document."""
    words = [sys.executable, "-m", "pytest_noepicycle.cli", *arguments]
    done = subprocess.run(words, cwd=place.project, capture_output=True, timeout=240, check=False)
    return done.returncode, json.loads(done.stdout)


def test_json_is_one_document(story, bare_python):
    """With --json standard output holds one document and nothing else: of a repair, of its undoing, of a mistake."""
    place = story({**SHOP.files, "conftest.py": "print('a conftest that prints')\n"})
    status, document = _json(place, *FIX, "--json", "--python", bare_python, "-s", "--apply", "never")
    assert (status, document["stop_reason"], document["applied"]) == (1, "solved", False)
    status, document = _json(place, "apply", "--json")
    assert (status, document["applied"]) == (0, ["shop.py"])
    status, document = _json(place, *FIX, "--json", "--python", bare_python)
    assert (status, document["stop_reason"]) == (0, "nothing_to_fix")
    status, document = _json(place, *FIX, "--json", "--python", "/nonexistent/python")
    assert (status, "cannot be started" in document["error"]) == (2, True)


STATUS = {
    "green": (GREEN, (), 0, "every test passes"),
    "no-tests": ({"shop.py": TOTAL}, (), 1, "no tests were run"),
    "no-such-test": (GREEN, ("test_nothing.py",), 2, "called in a way it does not understand"),
    "no-such-option": (GREEN, ("--no-such-option",), 2, "could not run the tests"),
    "bad-value": (GREEN, ("--budget", "many"), 2, "--budget: 'many' is not a number of tokens"),
}


@pytest.mark.parametrize(("files", "arguments", "status", "sentence"), STATUS.values(), ids=STATUS)
def test_exit_status(story, bare_python, files, arguments, status, sentence):
    """0 the tree is green, 1 it is not, 2 wrong use; each with a sentence."""
    told = story(files).noepi(*FIX, "--python", bare_python, *arguments)
    assert told.status == status, told.text
    assert sentence in told.text


@pytest.mark.slow
def test_what_is_not_mended_is_status_one(story, bare_python):
    """A test that nothing can satisfy ends with 1, and the hooks that could not be called are named once."""
    hooks = "def pytest_noepi_report(result):\n    raise SystemExit('not here')\n"
    files = {
        "shop.py": "def total():\n    return 1\n",
        "conftest.py": hooks,
        "pytest.ini": "[pytest]\nnoepi_reruns = 1\n",
    }
    files["test_shop.py"] = "import shop\n\n\ndef test_total():\n    assert shop.total() == object()\n"
    told = story(files).noepi(*FIX, "--python", bare_python)
    assert told.status == 1, told.text
    assert told.result["stop_reason"] == "exhausted"
    assert told.text.count("hooks of the project are not called from another environment: pytest_noepi_report") == 1


def test_a_conftest_that_cannot_be_imported(story, bare_python):
    """The thin half meets it as well: what conftest imports is mended."""
    files = {**GREEN, "shop.py": GREEN["shop.py"].replace("):", ")"), "conftest.py": "import shop\n"}
    project = Project(files, "shop.py", "count)\n", "count):\n")
    place = story(project.files)
    before = contents(place.project)
    check_mended(place.noepi(*FIX, "--python", bare_python), project, before)


def _environment(folder: Path, bare_python: str) -> tuple[str, Path]:
    """Make an environment that finds pytest in the bare one; return its interpreter and its site-packages."""
    venv.create(folder, with_pip=False, symlinks=True)
    python, asked = str(folder / "bin/python"), "import sysconfig; print(sysconfig.get_path('purelib'))"
    site, bare = (
        subprocess.run([p, "-c", asked], capture_output=True, text=True, check=True).stdout.strip()
        for p in (python, bare_python)
    )
    Path(site, "bare.pth").write_text(bare + "\n")
    return python, Path(site)


FINDER = """
    import sys
    from importlib.machinery import PathFinder
    from importlib.util import spec_from_file_location

    MAPPING = {"shop": %r}


    class Finder:
        @classmethod
        def find_spec(cls, name, path=None, target=None):
            if name in MAPPING:
                place = MAPPING[name]
                return spec_from_file_location(name, place + "/__init__.py", submodule_search_locations=[place])


    def install():
        sys.meta_path.append(Finder)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="environments are linked together here")
@pytest.mark.slow
@pytest.mark.parametrize("way", ["pth", "finder"])
def test_an_editable_install(story, tmp_path, bare_python, way):
    """pip install -e points at the work tree by a .pth file or by a finder: the sandbox tests its own copy of it."""
    project = Project(
        {"src/shop/__init__.py": "", "src/shop/sums.py": TOTAL, "tests/test_sums.py": checks_of("shop.sums")},
        "src/shop/sums.py",
    )
    place = story(project.files)
    python, site = _environment(tmp_path / "env", bare_python)
    if way == "pth":
        (site / "__editable__.shop-1.0.pth").write_text(f"{place.project / 'src'}\n")
    else:
        (site / "__editable___shop_1_0_finder.py").write_text(textwrap.dedent(FINDER % str(place.project / "src/shop")))
        (site / "__editable__.shop-1.0.pth").write_text("import __editable___shop_1_0_finder as f; f.install()\n")
    before = contents(place.project)
    check_mended(place.noepi(*FIX, "--python", python), project, before)


@pytest.mark.skipif(sys.platform == "win32", reason="environments are linked together here")
def test_pytest_eight(story, tmp_path, bare_python):
    """The oldest pytest that is supported runs the thin half, and the trials, as the newest does."""
    folder = tmp_path / "eight"
    words = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--target", str(folder), "pytest==8.0.*"]
    if subprocess.run(words, capture_output=True, timeout=120, check=False).returncode:
        pytest.skip("pytest 8 cannot be fetched here")
    python, site = _environment(tmp_path / "env", bare_python)
    (site / "a.pth").write_text(f"{folder}\n")
    files = {
        "shop/__init__.py": TOTAL,
        "conftest.py": "",
        "tests/conftest.py": "import shop\n",
        "tests/test_a.py": checks_of("shop"),
    }
    place = story(files)
    before = contents(place.project)
    told = place.noepi(*FIX, "--python", python)
    check_mended(told, Project(files, "shop/__init__.py"), before)
    assert "pytest-8.0" in told.text
