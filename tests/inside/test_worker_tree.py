"""The tree of a worker: laid out, patched, put back; and never an import of yesterday's bytes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from pytest_noepicycle.domain.patch import FileChange, Patch
from pytest_noepicycle.domain.trial import End, Limits, Trial

FILES = {
    "src/pkg/__init__.py": "",
    "src/pkg/mod.py": "VALUE = 1\n",
    "tests/test_mod.py": "from pkg.mod import VALUE\n\ndef test_value(): assert VALUE == 2\n",
    "conftest.py": "import sys, os\nsys.path.insert(0, os.path.join(os.path.dirname(__file__), 'src'))\n",
    "data/größe 1.txt": "größe\r\nno newline at the end",
}
TEST = "tests/test_mod.py::test_value"


@pytest.fixture(scope="module")
def rig(make_rig):
    """A project with a package, a test that fails, and a file of data with an odd name."""
    return make_rig(FILES)


def test_a_patch_is_seen_and_put_back_byte_for_byte(rig):
    """A changed, a new and a deleted file are there for one trial and gone after it."""
    fixed = {"src/pkg/mod.py": "from .new import VALUE\n", "src/pkg/new.py": "VALUE = 2\n", "data/größe 1.txt": None}
    assert rig.run(TEST, change=fixed).passing() == {TEST}
    assert rig.tree() == rig.original
    assert rig.run(TEST).passing() == frozenset()


@pytest.mark.parametrize("cold", [False, True])
def test_an_edit_of_the_same_size_in_the_same_second_is_seen(rig, cold):
    """Bytecode is matched by second and size: alternating edits that differ in neither still run as written."""
    for turn in range(6):
        text = f"VALUE = {turn % 2 + 1}\n"
        hostile = "import py_compile\npy_compile.compile(__file__)\n" + text
        report = rig.run(TEST, change={"src/pkg/mod.py": hostile}, cold=cold)
        assert bool(report.passing()) is (turn % 2 == 1)
    assert rig.tree() == rig.original


def test_bytes_are_laid_down_as_they_are(rig):
    """A patch of bytes that are no UTF-8 arrives as these bytes."""
    content = "# größe\r\nVALUE = 2".encode("latin-1")
    latin = b"# -*- coding: latin-1 -*-\r\n" + content
    change = FileChange("src/pkg/mod.py", rig.original["src/pkg/mod.py"], latin)
    report = rig.box.run(Trial(Patch.of([change]), (TEST,), Limits(30.0)))
    assert report.passing() == {TEST}


def test_an_overlay_is_laid_over_the_patch(rig):
    """A file of the overlay wins over the patch's, for that trial only."""
    change = FileChange("src/pkg/mod.py", rig.original["src/pkg/mod.py"], b"VALUE = 2\n")
    trial = Trial(Patch.of([change]), (TEST,), Limits(30.0), overlay={"src/pkg/mod.py": b"VALUE = 3\n"})
    assert rig.box.run(trial).passing() == frozenset()
    assert rig.tree() == rig.original


def test_a_module_of_the_tree_shadows_nothing_of_the_worker(make_rig):
    """Files named like pytest and like a module of the standard library are not imported in their place."""
    trap = "raise SystemExit('shadowed')\n"
    names = ("pytest.py", "json.py", "_pytest/__init__.py", "selectors.py", "pluggy.py", "sitecustomize.py")
    rig = make_rig({**dict.fromkeys(names, trap), "test_a.py": "def test_a(): pass\n"})
    for cold in (False, True):
        assert rig.run("test_a.py::test_a", cold=cold).passing() == {"test_a.py::test_a"}


ENVIRONMENT = """
    import os, pathlib, sys, tempfile
    GIVEN = {"PATH", "LANG", "PYTHONHASHSEED", "X", "PYTHONPATH", "PYTEST_DISABLE_PLUGIN_AUTOLOAD"}
    ADDED = {"HOME", "TMPDIR", "PYTHONDONTWRITEBYTECODE", "PYTEST_CURRENT_TEST", "PYTEST_VERSION"}
    def test_env(tmp_path):
        assert GIVEN <= set(os.environ) <= GIVEN | ADDED
        assert os.environ["X"] == "1" and os.environ["PYTHONPATH"] == "/nowhere"
        assert all("scratch" in str(path) for path in (os.environ["HOME"], tempfile.gettempdir(), tmp_path))
        assert hash("a") == SEEDED and "/nowhere" not in sys.path
"""


def test_the_child_has_the_environment_it_was_given_and_no_other(make_rig):
    """Its variables are those of the set-up; home and temporary files lie in the scratch folder."""
    text = ENVIRONMENT.replace("SEEDED", _hash_of_a())
    rig = make_rig({"test_env.py": text}, env={"X": "1", "PYTHONPATH": "/nowhere"})
    for cold in (False, True):
        report = rig.run("test_env.py::test_env", cold=cold)
        assert report.passing() == {"test_env.py::test_env"}, report.failures()


def _hash_of_a() -> str:
    """Return what ``hash('a')`` is with a hash seed of zero."""
    code = [sys.executable, "-c", "print(hash('a'))"]
    return subprocess.run(code, env={"PYTHONHASHSEED": "0"}, capture_output=True, text=True, check=True).stdout.strip()


def test_two_trials_share_no_scratch(rig):
    """What one trial writes to its home is not there for the next."""
    text = """
        import os, pathlib
        mark = pathlib.Path(os.environ["HOME"], "x")
        VALUE = 3 if mark.exists() else 2
        mark.write_text("")
    """
    for _ in range(2):
        assert rig.run(TEST, change={"src/pkg/mod.py": text}).passing() == {TEST}
    assert not list(Path(rig.folder.parent, "scratch").iterdir())


def test_a_path_that_leaves_the_tree_is_refused(rig):
    """The worker refuses to serve a trial with a path that no guard can have passed: the box is lost instead."""
    report = rig.run(TEST, change={"../out.py": "x = 1\n"})
    assert (report.end, "../out.py" in report.why, Path(rig.folder.parent, "out.py").exists()) == (
        End.LOST,
        True,
        False,
    )
