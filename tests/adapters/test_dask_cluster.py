"""Candidates scored on a Dask cluster: a real scheduler and two worker processes, one of which is lost on the way."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import pytest
from mending import TOTAL, checks_of
from story import QUIET, Story

from pytest_noepicycle import adapters
from pytest_noepicycle.adapters.snapshot import TreeSnapshot, snapshot
from pytest_noepicycle.domain.patch import FileChange, Patch
from pytest_noepicycle.domain.session import Interpreter, Session
from pytest_noepicycle.domain.settings import Settings
from pytest_noepicycle.domain.trial import End, Limits, Report, Trial
from pytest_noepicycle.errors import UsageError
from pytest_noepicycle.ports import Box
from pytest_noepicycle.sandbox.choice import choose
from pytest_noepicycle.scoring import ClusterGround, cluster_of

PRODUCT = "def f():\n    return 0\n"
TESTS = "import time\nfrom m import f\n\n\ndef test_f():\n    time.sleep(0.3)\n    assert f() % 2 == 1\n"
TEST = "test_m.py::test_f"


def started(stack: contextlib.ExitStack, log: Path, module: str, *arguments: str) -> subprocess.Popen[bytes]:
    """Start a program of Dask in a session of its own; it is ended with the stack."""
    with log.open("wb") as output:
        command = [sys.executable, "-m", f"distributed.cli.{module}", *arguments]
        process = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT, start_new_session=True)
    stack.callback(ended, process)
    return process


def ended(process: subprocess.Popen[bytes]) -> None:
    """End a program and what it has started."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait(30)


@pytest.fixture
def dask(tmp_path):
    """The address of a scheduler on loopback, and its two worker processes."""
    file = tmp_path / "scheduler.json"
    with contextlib.ExitStack() as stack:
        where = ("--host", "127.0.0.1", "--port", "0", "--no-dashboard", "--scheduler-file", str(file))
        started(stack, tmp_path / "scheduler.log", "dask_scheduler", *where)
        deadline = time.monotonic() + 60
        while not file.exists():
            assert time.monotonic() < deadline, (tmp_path / "scheduler.log").read_text()
            time.sleep(0.05)
        address = json.loads(file.read_text())["address"]
        own = ("--no-nanny", "--nthreads", "1", "--host", "127.0.0.1", "--no-dashboard", "--local-directory")
        workers = [
            started(stack, tmp_path / f"worker{n}.log", "dask_worker", address, *own, str(tmp_path)) for n in range(2)
        ]
        yield address.removeprefix("tcp://"), workers


@pytest.fixture
def cluster_project(tmp_path):
    """Write a project, as the tests of the sandboxes do."""
    made = []

    def make(files: dict[str, str]) -> Written:
        folder = tmp_path / "project"
        Story.of(folder, files)
        path = tuple(entry for entry in sys.path if entry.startswith((sys.prefix, sys.base_prefix)))
        version = ".".join(map(str, sys.version_info[:3]))
        python = Interpreter(sys.executable, version, sys.prefix, sys.base_prefix, sys.platform, path)
        session = Session(str(folder), str(folder), QUIET, python, pytest.__version__, 1)
        made.append(Written(session, snapshot(str(folder))))
        return made[-1]

    yield make
    for project in made:
        project.tree.close()


@dataclass(frozen=True)
class Written:
    """A project on the disk: its session and its snapshot."""

    session: Session
    tree: TreeSnapshot

    def open(self, kind: str) -> Box:
        """Open a box of that kind."""
        return choose(kind, self.session, Settings()).open(self.tree)


def trial(number: int) -> Trial:
    """Return a trial whose test passes if the number is odd."""
    patch = Patch.of([FileChange("m.py", PRODUCT.encode(), f"def f():\n    return {number}\n".encode())])
    return Trial(patch, (TEST,), Limits(30.0), brief=True)


@pytest.mark.slow
def test_a_worker_is_killed_and_no_trial_is_lost(dask, cluster_project):
    """Every trial ends as it must, whichever process it was in; those of the dead worker are run on the other."""
    address, workers = dask
    project = cluster_project({"m.py": PRODUCT, "test_m.py": TESTS})
    here: list[Trial] = []

    def run_here(one: Trial) -> Report:
        here.append(one)
        box = project.open("process")
        try:
            return box.run(one)
        finally:
            box.close()

    with cluster_of(Settings(executor=f"dask://{address}")) as cluster:
        cluster.client.wait_for_workers(2, timeout=60)
        assert cluster.width == 2
        ground = ClusterGround.of(project.session, Settings(), "process", project.tree)
        scorer = cluster.scorer(ground, run_here, print)
        with ThreadPoolExecutor(2) as threads:
            futures = [threads.submit(scorer.run, trial(number)) for number in range(16)]
            assert futures[1].result(120).end is End.COMPLETE
            ended(workers[0])
            reports = [future.result(120) for future in futures]
        assert [bool(report.passing()) for report in reports] == [number % 2 == 1 for number in range(16)]
        assert {report.end for report in reports} == {End.COMPLETE}
        assert len(here) <= 4
        assert cluster.width == 1
        scorer.close()


@pytest.mark.slow
def test_a_repair_is_scored_on_the_cluster_and_proven_here(dask, story):
    """The whole way: the option, the search on the cluster, the proof in this machine's own boxes."""
    address, _ = dask
    place = story({"bread.py": TOTAL, "test_bread.py": checks_of("bread")})
    told = place.fix("--noepi-ladder", "offline", "--noepi-executor", f"dask://{address}")
    assert told.result["stop_reason"] == "solved", told.text
    assert "scored here" not in told.text


@pytest.mark.slow
def test_a_scheduler_that_is_not_there_is_wrong_use(story):
    """It is said within a bounded time, before anything is spent or written."""
    place = story({"bread.py": TOTAL, "test_bread.py": checks_of("bread")})
    told = place.fix("--noepi-executor", "dask://127.0.0.1:1", seconds=60)
    assert told.status == 4
    assert "No Dask scheduler answers at 127.0.0.1:1" in told.text
    assert list((place.project / ".noepi/runs").iterdir()) == []


def test_without_distributed_the_extra_is_named(monkeypatch):
    """The message says what to install."""
    monkeypatch.setitem(sys.modules, "distributed", None)
    monkeypatch.delitem(sys.modules, "pytest_noepicycle.adapters.dask_cluster", raising=False)
    monkeypatch.delattr(adapters, "dask_cluster", raising=False)
    asked = cluster_of(Settings(executor="dask://localhost:8786"))
    with pytest.raises(UsageError, match="needs distributed") as caught, asked:
        pass
    assert "pytest-noepicycle[cluster]" in caught.value.sentence()


def test_nothing_of_dask_is_loaded_unless_asked_for():
    """The default needs no cluster and imports none."""
    code = (
        "import sys, pytest_noepicycle.wiring as w; from pytest_noepicycle.domain.settings import Settings;"
        "assert w.cluster_of(Settings()).__enter__() is None; assert 'distributed' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)
