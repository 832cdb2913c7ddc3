"""What a sandbox is given to run: the laid-out half and pytest's arguments."""

from __future__ import annotations

import ast
import os
import stat
import subprocess
import sys

import pytest

from pytest_noepicycle.domain.session import Interpreter, Plugin, Session
from pytest_noepicycle.sandbox.layout import lay_out_inside, pytest_arguments, worker_command


@pytest.fixture
def arguments(tmp_path):
    """Return what is left of a call's words, run in a folder that holds ``tests`` and ``data.json``."""
    (tmp_path / "tests").mkdir()
    (tmp_path / "data.json").touch()

    def of(words: str, ini: str | None = None, plugins=()) -> str:
        interpreter = Interpreter("python", "", "", "", "linux")
        called = str(tmp_path)
        session = Session("/r", called, tuple(words.split()), interpreter, "9", 1, inipath=ini, plugins=plugins)
        return " ".join(pytest_arguments(session)).replace("--rootdir=/r", "").strip()

    return of


@pytest.mark.parametrize(
    ("words", "kept"),
    [
        ("", ""),
        ("tests", ""),
        ("tests/test_a.py::test_b other.py::test_c", ""),
        ("-x -v -q -l", ""),
        ("-xvs -qq", "-s"),
        ("-n2 -n 4 -nauto --numprocesses=3 --dist load", ""),
        ("-k expression -m mark -kother", ""),
        ("--maxfail 1 --maxfail=2 --exitfirst", ""),
        ("--lf --ff --nf --sw --pdb --collect-only --co", ""),
        ("--cov --cov=src --cov-report xml --cov-fail-under=90", ""),
        ("--cov src --cov tests", ""),
        ("--junitxml=a.xml --junitxml b.xml --durations 3 --durations=3 -rA --tb short", ""),
        ("--noepi-fix --noepi-ladder default --noepi-budget=3 --noepi-dry-run", ""),
        ("--noepi-fix tests", ""),
        ("-c other.ini --rootdir x --rootdir=x", ""),
        ("-o a=b -oc=d -p plugin -pno:x", "-o a=b -o c=d -p plugin -p no:x"),
        ("-p pytest_noepicycle.plugin -p no:noepicycle", ""),
        ("-W error --import-mode importlib --doctest-modules", "-W error --import-mode importlib --doctest-modules"),
        ("--ignore tests --ignore=x", "--ignore tests --ignore=x"),
        ("--ds settings.test --runslow tests --level 3", "--ds settings.test --runslow --level 3"),
        ("--runslow -xsvp plugin", "--runslow -s -p plugin"),
        ("-s -- tests", "-s"),
    ],
)
def test_only_what_changes_how_tests_run_is_kept(arguments, words, kept):
    """Choices of tests, reports, parallelism and early stops are left out; everything else stays, in order."""
    assert arguments(words) == kept


def test_the_configuration_is_named_and_coverage_switched_off(arguments):
    """The ini file is given outright, and pytest-cov is told to rest where it is there."""
    assert arguments("-c x.ini", ini="/r/tox.ini") == "-c /r/tox.ini"
    assert arguments("", plugins=(Plugin("_cov", "pytest_cov"),)) == "--no-cov"


def test_the_laid_out_half_is_read_only_and_stands_alone(tmp_path):
    """Its modules are Python 3.9 and import nothing but each other, the standard library and pytest."""
    folder = lay_out_inside(tmp_path / "half")
    modules = sorted((folder / "_noepi_inside").iterdir())
    assert {"worker.py", "child.py", "recording.py", "frames.py"} <= {path.name for path in modules}
    for path in modules:
        assert stat.S_IMODE(path.stat().st_mode) == 0o444
        for node in ast.walk(ast.parse(path.read_text("utf-8"), feature_version=(3, 9))):
            if isinstance(node, ast.Import):
                assert all(known(alias.name) for alias in node.names), path.name
            if isinstance(node, ast.ImportFrom) and not node.level:
                assert known(node.module), path.name


def known(name: str) -> bool:
    """Whether a module is of the standard library or of pytest."""
    return name.partition(".")[0] in {*sys.stdlib_module_names, "pytest", "_pytest", "pluggy"}


def test_a_worker_without_an_engine_leaves_at_once(tmp_path):
    """The command line starts a worker that is gone when its input ends, and sees nothing of its surroundings."""
    (tmp_path / "json.py").write_text("raise SystemExit(9)")
    command = worker_command(sys.executable, lay_out_inside(tmp_path / "half"))
    env = {**os.environ, "PYTHONPATH": str(tmp_path)}
    ended = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, timeout=60, cwd=tmp_path, env=env)
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, b"", b"")
