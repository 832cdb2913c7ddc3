"""Both kinds of box show a project its own environment: outcomes, paths and imports are those of a plain run."""

from __future__ import annotations

import os
import subprocess
import sys
import venv
from pathlib import Path

import pytest

from pytest_noepicycle.domain.session import Interpreter
from pytest_noepicycle.domain.trial import End

TESTS = """
import pytest, tempfile, multiprocessing, threading, socket, getpass, pathlib, zoneinfo, subprocess, sys
from pack.größe import f

def test_passes(): assert f() == 1
def test_fails(): assert f() == 2
@pytest.mark.skip
def test_skipped(): pass
@pytest.mark.xfail
def test_xfails(): assert 0
@pytest.mark.parametrize("text", ["a b", "ü::[x]"])
def test_odd(text): assert text
def test_data(): assert pathlib.Path("my data/Zahlen für alle.txt").read_text(encoding="utf-8") == "1"
def test_scratch(tmp_path): (tmp_path / "x").write_text("x")
def test_lock(): assert multiprocessing.Lock().acquire()
def test_user(): assert getpass.getuser() and pathlib.Path.home().is_dir()
def test_zone(): assert zoneinfo.ZoneInfo("Europe/Paris")
def test_program(): assert subprocess.run([sys.executable, "-c", "import pytest"], cwd="/").returncode == 0
"""
FILES = {"pack/__init__.py": "", "pack/größe.py": "def f():\n    return 1\n", "test_it.py": TESTS}
FINDER = """
import importlib.util, sys
MAPPING = {mapping!r}
class Finder:
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        if name in MAPPING:
            places = [MAPPING[name]]
            file = places[0] + "/__init__.py"
            return importlib.util.spec_from_file_location(name, file, submodule_search_locations=places)
sys.meta_path.append(Finder)
"""


def plain(folder: Path) -> dict[str, str]:
    """What pytest itself says of each test."""
    command = [sys.executable, "-m", "pytest", "-q", "-rA", "-p", "no:cacheprovider", "-p", "no:langsmith_plugin", "."]
    said = subprocess.run(command, cwd=folder, capture_output=True, encoding="utf-8", timeout=120).stdout
    words = {"PASSED": "passed", "FAILED": "failed", "XFAIL": "xfailed"}
    lines = [line.split(" - ")[0].partition(" ") for line in said.splitlines()]
    return {name: words[word] for word, _, name in lines if word in words and "::" in name}


def test_outcomes_are_those_of_a_plain_run(kind, make_project, trial):
    """Names with spaces and umlauts, locks, the user's name, time zones and programs work as outside."""
    project = make_project({**FILES, "my data/Zahlen für alle.txt": "1"}, name="mein Projekt ü")
    box = project.open(kind)
    try:
        reports = [trial(box, cold=cold) for cold in (False, True)]
    finally:
        box.close()
    expected = {**plain(Path(project.session.rootdir)), "test_it.py::test_skipped": "skipped"}
    for report in reports:
        assert report.end is End.COMPLETE, report.why
        assert {name: outcome.status.value for name, outcome in report.outcomes.items()} == expected, report.output


@pytest.mark.parametrize("inside", [False, True], ids=["beside", "inside"])
def test_an_editable_install_is_tested_in_the_box(kind, make_project, trial, tmp_path, inside):
    """A finder with absolute paths finds the box's tree, also where the environment lies in the project itself."""
    folder = tmp_path / "project"
    place = folder / ".venv" if inside else tmp_path / "venv"
    venv.create(place, symlinks=True)
    packages = next(place.glob("lib/python*/site-packages"))
    (packages / "_finder.py").write_text(FINDER.format(mapping={"pack": str(folder / "src/pack")}))
    outer = [path for path in sys.path if path.endswith("site-packages")]
    (packages / "links.pth").write_text("\n".join([*outer, "import _finder"]))
    version = ".".join(map(str, sys.version_info[:3]))
    standard = [path for path in sys.path if path.startswith(sys.base_prefix) and not path.endswith("site-packages")]
    python = Interpreter(
        str(place / "bin/python"),
        version,
        str(place),
        sys.base_prefix,
        sys.platform,
        (*standard, str(packages), *outer),
        (str(folder / "src/pack"),),
    )
    tests = f"import pack, sys\ndef test_it(): assert (pack.VALUE, sys.prefix) == (2, {str(place)!r})\n"
    files = {"src/pack/__init__.py": "VALUE = 1\n", "tests/test_it.py": tests}
    box = make_project(files, at=folder, interpreter=python).open(kind)
    try:
        before = trial(box)
        mended = trial(box, overlay={"src/pack/__init__.py": "VALUE = 2\n"})
        proved = trial(box, overlay={"src/pack/__init__.py": "VALUE = 2\n"}, cold=True)
    finally:
        box.close()
    assert before.passing() == frozenset(), before.output
    assert mended.passing() == proved.passing() == {"tests/test_it.py::test_it"}, mended.output


def test_a_tree_below_the_interpreter_is_replaced(kind, make_project, trial):
    """A project in a folder that is shown read-only appears as the box's own, as in /usr/src/app."""
    if not os.access(sys.prefix, os.W_OK):
        pytest.skip("this environment cannot be written")
    folder = Path(sys.prefix) / "noepi-test-project"
    try:
        box = make_project(
            {"m.py": "A = 1\n", "test_m.py": "def test_m():\n    import m\n    assert m.A == 2\n"}, at=folder
        ).open(kind)
        try:
            report = trial(box, overlay={"m.py": "A = 2\n"})
        finally:
            box.close()
    finally:
        for path in (folder / "m.py", folder / "test_m.py"):
            path.unlink(missing_ok=True)
        folder.rmdir()
    assert report.passing() == {"test_m.py::test_m"}, report.output
