"""Packages are copied, run and counted without leaving anything behind."""

import sys

import pytest

from pytest_noepicycle.bench import planted, projects
from pytest_noepicycle.bench.projects import Project, failing_tests

PROJECT = Project("sample", "1.0", "sample", leave_out=("tests",), arguments=("-p", "no:xdist"))


@pytest.fixture
def tree(tmp_path):
    """A package with a test that passes and one that fails, in the folder of a bed."""
    tree = tmp_path / "bed" / "pristine"
    (tree / "sample" / "tests").mkdir(parents=True)
    (tree / "sample" / "core.py").write_bytes("def double(x):\r\n    return 2 * x  # größer\r\n".encode())
    tests = "import pytest\n\n@pytest.mark.parametrize('x', [0, 1, 2])\ndef test_x(x):\n    assert x < 2\n"
    (tree / "sample" / "tests" / "test_core.py").write_text(tests)
    return tree


def test_modules_leave_tests_out_and_keep_line_ends(tree):
    """Only product modules get faults, and their text is byte-exact."""
    assert PROJECT.modules(tree) == {"sample/core.py": "def double(x):\r\n    return 2 * x  # größer\r\n"}


def test_copy_is_fresh(tree):
    """A second copy holds nothing of the first, and changed files are as given."""
    target = projects.copy(tree, tree.parent / "copy", {})
    (target / "left-over").touch()
    projects.copy(tree, target, {"sample/core.py": "x = 1\r\n"})
    assert not (target / "left-over").exists()
    assert (target / "sample" / "core.py").read_bytes() == b"x = 1\r\n"
    assert b"double" in (tree / "sample" / "core.py").read_bytes()


def test_run_suite_counts_what_fails(tree):
    """pytest's own status comes back with the number of failing tests."""
    ran = projects.run_suite(PROJECT, sys.executable, tree, seconds=60)
    assert (ran.status, ran.failing) == (1, 1)


def test_a_command_without_end_is_ended(tmp_path):
    """Too long is None, and the command is gone: it could not write what it would have written next."""
    code = "import time, pathlib; time.sleep(60); pathlib.Path('late').touch()"
    assert projects.run([sys.executable, "-c", code], tmp_path, 0.2, tmp_path / "log") is None
    assert [file.name for file in tmp_path.iterdir()] == ["log"]


def test_failing_tests_counts_a_test_once(tmp_path):
    """A test that fails and then breaks at teardown is one; without a report there are none."""
    report = tmp_path / "junit.xml"
    assert failing_tests(report) == 0
    case = '<testcase classname="t" name="{}"><{}/></testcase>'
    cases = [
        case.format("a", "failure"),
        case.format("a", "error"),
        case.format("b", "error"),
        case.format("c", "skipped"),
    ]
    report.write_text(f"<testsuites><testsuite>{''.join(cases)}</testsuite></testsuites>")
    assert failing_tests(report) == 2


def test_engine_version_changes_with_its_source_alone(tmp_path):
    """An edit of the engine is another version, an edit of the measurement is none; a pip name stands for itself."""
    package = tmp_path / "pytest_noepicycle"
    (package / "bench").mkdir(parents=True)
    (package / "ports.py").write_text("x = 1")
    first = projects.engine_version(str(tmp_path))
    (package / "bench" / "planted.py").write_text("y = 1")
    assert projects.engine_version(str(tmp_path)) == first
    (package / "ports.py").write_text("x = 2")
    assert projects.engine_version(str(tmp_path)) != first
    assert projects.engine_version("pytest-noepicycle==0.1") == "pytest-noepicycle==0.1"


@pytest.mark.parametrize(("count", "parts", "expected"), [(36, 3, [12, 12, 12]), (5, 3, [2, 2, 1]), (1, 2, [1, 0])])
def test_shares(count, parts, expected):
    """Faults are shared out evenly."""
    assert planted.shares(count, parts) == expected


def test_unknown_package_is_named(capsys):
    """A package that is not in the list ends the command with a sentence that lists those that are."""
    assert planted.main(["--packages", "toolz,leftpad"]) == 1
    error = capsys.readouterr().err
    assert "'leftpad'" in error
    assert "toolz, semver, cachetools" in error
