"""A project's own options cannot change which tests run, nor whether each of them is told."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from pytest_noepicycle.domain.trial import End

TESTS = """
    import pytest
    @pytest.mark.slow
    def test_a(): assert 0
    def test_b(): pass
    def test_c(): assert 0
    def test_d(): pass
"""
LEAN = ("-p", "no:langsmith_plugin", "-p", "no:hypothesispytest", "-p", "no:anyio")
"""Without plugins of this environment that cost more than the trials."""
CHOSEN = [f"test_it.py::test_{letter}" for letter in "dcba"]
STATUSES = ["passed", "failed", "passed", "failed"]
OPTIONS = {
    "xdist": "-n 2",
    "xdist by load": "-n 2 --dist loadfile --maxfail=1",
    "coverage": "--cov=. --cov-report=xml --cov-fail-under=100",
    "first failure": "-x",
    "maxfail": "--maxfail=1",
    "a choice": "-k test_a -m slow",
    "deselected": "--deselect test_it.py::test_b",
    "last failed": "--lf --nf --sw",
    "only collected": "--collect-only",
    "only planned": "--setup-plan",
    "debugger": "--pdb",
    "quiet": "-qq -ra --tb=no --no-header -p no:logging",
    "a report": "--junitxml=out.xml",
    "without a terminal": "-p no:terminal",
    "other tests": "other_folder",
}


def project(ini: str) -> dict[str, str]:
    """Return a project with these lines in its ini file."""
    return {
        "test_it.py": TESTS,
        "other_folder/test_other.py": "def test_other(): pass\n",
        "pytest.ini": f"[pytest]\nmarkers = slow\n{ini}\n",
    }


@pytest.fixture(scope="module")
def rig(make_rig):
    """A project whose options come with each trial, as an overlay of its ini file; xdist and pytest-cov are active."""
    return make_rig(project(""), args=LEAN, plugins=("pytest-xdist", "pytest-cov"))


@pytest.mark.parametrize("name", OPTIONS)
def test_options_of_the_ini_file_do_not_change_a_trial(rig, name):
    """Whatever addopts say, the chosen tests run, in the order asked for, all of them, each with its status."""
    report = rig.run(*CHOSEN, overlay={"pytest.ini": project(f"addopts = {OPTIONS[name]}")["pytest.ini"].encode()})
    assert report.end is End.COMPLETE, report.output
    assert list(report.outcomes) == CHOSEN
    assert [outcome.status.value for outcome in report.outcomes.values()] == STATUSES
    assert rig.tree() == rig.original


def test_options_of_the_environment_do_not_change_a_trial(make_rig):
    """PYTEST_ADDOPTS is no stronger than addopts."""
    options = "-n 2 -x --cov=. --cov-fail-under=100 -k nothing"
    rig = make_rig(
        project(""),
        args=LEAN,
        plugins=("pytest-xdist", "pytest-cov"),
        env={"PYTEST_ADDOPTS": options},
    )
    for cold in (False, True):
        report = rig.run(*CHOSEN, cold=cold)
        assert [outcome.status.value for outcome in report.outcomes.values()] == STATUSES, report.output


def test_warnings_as_errors_are_not_woken_by_what_switches_coverage_off(make_rig):
    """A project that makes errors of warnings, and measures coverage, runs as it does outside."""
    ini = "addopts = --cov=. --strict-config --strict-markers\nfilterwarnings = error"
    rig = make_rig(project(ini), args=(*LEAN, "-p", "no:asyncio"), plugins=("pytest-cov",))
    report = rig.run(*CHOSEN)
    assert [outcome.status.value for outcome in report.outcomes.values()] == STATUSES, report.output


def test_the_whole_suite_keeps_the_choice_that_the_project_has_configured(make_rig):
    """Without ids the suite is the configured one: its testpaths and its markers hold."""
    rig = make_rig(project("addopts = -m 'not slow' -x\ntestpaths = test_it.py"))
    assert rig.statuses() == {"test_b": "passed", "test_c": "failed", "test_d": "passed"}
    assert rig.run().collected == ("test_it.py::test_b", "test_it.py::test_c", "test_it.py::test_d")


@pytest.mark.parametrize(
    ("cwd", "paths", "ran"),
    [
        (".", [], {"test_here", "test_there", "test_other"}),
        ("here", [], {"test_here", "test_there", "test_other"}),
        ("here", ["h*", "there"], {"test_here", "test_there"}),
        ("src", ["gone"], {"test_here", "test_there", "test_other"}),
    ],
)
def test_the_whole_suite_is_the_same_wherever_pytest_is_called_from(make_rig, cwd, paths, ran):
    """From a folder below, where pytest itself would look no further, the suite is still that of the root."""
    files = {f"{place}/test_{place}.py": f"def test_{place}(): pass\n" for place in ("here", "there", "other")}
    where = "import os\ndef test_where(): assert os.path.basename(os.getcwd()) == 'here'\n"
    rig = make_rig({**files, "src/m.py": "", "here/test_where.py": where}, cwd=cwd, testpaths=paths)
    told = rig.statuses()
    assert set(told) == {*ran, "test_where"}
    assert told["test_where"] == ("passed" if cwd == "here" else "failed")


def test_a_test_that_is_found_twice_is_run_once(make_rig):
    """As pytest 8 finds it for ``--pyargs`` in addopts beside the test's own name; the order of a file stays."""
    files = {
        "conftest.py": "def pytest_collection_modifyitems(items): items.extend(list(items))\n",
        "test_it.py": "def test_b(): pass\ndef test_a(): assert False\n",
    }
    rig = make_rig(files)
    report = rig.run("test_it.py")
    assert report.end is End.COMPLETE, report.why
    assert report.collected == ("test_it.py::test_b", "test_it.py::test_a")
    assert rig.statuses("test_it.py::test_a", "test_it.py::test_b") == {"test_a": "failed", "test_b": "passed"}


def test_async_tests_run(make_rig):
    """Tests of pytest-asyncio pass and fail in a warm and in a cold trial."""
    pytest.importorskip("pytest_asyncio")
    text = """
        import asyncio, pytest
        pytestmark = pytest.mark.asyncio
        async def test_good(): await asyncio.sleep(0)
        async def test_bad(): assert await asyncio.sleep(0, 1) == 2
    """
    rig = make_rig({"test_async.py": text}, args=LEAN, plugins=("pytest-asyncio",))
    for cold in (False, True):
        assert rig.statuses(cold=cold) == {"test_good": "passed", "test_bad": "failed"}


def test_a_plugin_of_the_project_cannot_shuffle_the_order(make_rig):
    """Tests run in the order asked for even if a conftest has the last word over all other plugins."""
    conftest = """
        import pytest
        @pytest.hookimpl(trylast=True)
        def pytest_collection_modifyitems(items): items.sort(key=lambda item: item.name)
        @pytest.hookimpl(hookwrapper=True, tryfirst=True)
        def pytest_runtestloop(session):
            open(session.config.getini("cache_dir") + ".order", "w").write(" ".join(i.name for i in session.items))
            yield
    """
    after = """
        import os, pathlib
        def test_z():
            order = pathlib.Path(os.environ["TMPDIR"], "pytest-cache.order").read_text()
            assert order == "test_d test_c test_z test_a"
    """
    rig = make_rig({**project(""), "conftest.py": conftest, "test_z.py": after})
    ids = ["test_it.py::test_d", "test_it.py::test_c", "test_z.py::test_z", "test_it.py::test_a"]
    assert rig.run(*ids).outcomes["test_z.py::test_z"].passed


def test_the_end_of_the_input_ends_the_worker_in_the_middle_of_a_trial(make_rig):
    """An engine that is gone takes its worker, the endless trial and the scratch files with it."""
    rig = make_rig({"test_loop.py": "import time\ndef test_loop():\n    time.sleep(600)\n"})
    scratch = rig.folder.parent / "scratch"
    with ThreadPoolExecutor(1) as pool:
        report = pool.submit(rig.run, seconds=600.0, test_seconds=600.0)
        while not (scratch / "home").exists():
            assert rig.process.poll() is None
        rig.process.stdin.close()
        assert rig.process.wait(timeout=30) == 0
        assert report.result(timeout=30).end is End.LOST
    assert not list(scratch.iterdir())
    assert rig.run().end is End.LOST
