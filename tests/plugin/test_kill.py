"""A run that is broken off, by force or by Ctrl-C, leaves the tree whole, nothing running, and a readable record."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from pathlib import Path

import pytest
from breaking import PATIENCE, events, started, wait_until
from mending import TOTAL, checks_of, contents
from story import Story, Told

pytestmark = pytest.mark.skipif(not Path("/proc").is_dir(), reason="processes are looked up in /proc")
OFFLINE = ("--noepi-ladder", "offline")

# The first module is mended at once; no edit can satisfy the test of the second, and each try takes its time.
FILES = {
    "pytest.ini": "[pytest]\nnoepi_reruns = 1\n",
    "bread.py": TOTAL,
    "test_bread.py": checks_of("bread"),
    "milk.py": """
        def price(a, b, c):
            if a > b:
                return a + b * 2 - c
            return [a, b, c, a + 1, b - 1, c * 3]
    """,
    "test_milk.py": """
        import time
        from milk import price


        def test_price():
            time.sleep(0.3)
            assert price(3, 2, 1) == price(1, 2, 3) == "never"
    """,
}


def mended_one(place: Story) -> bool:
    """Whether the search has found the mend that there is."""
    return any(event["event"] == "candidate" and event["fixed"] for event in events(place))


def descendants(root: int) -> set[tuple[int, str]]:
    """Return the processes below one, each as its number and the moment of its start."""
    parents, starts = {}, {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            words = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue  # it has just ended
        parents[int(stat.parent.name)], starts[int(stat.parent.name)] = int(words[1]), words[19]
    found, new = set(), {root}
    while new:
        new = {pid for pid, parent in parents.items() if parent in new} - found
        found |= new
    return {(pid, starts[pid]) for pid in found}


def alive(processes: set[tuple[int, str]]) -> set[int]:
    """Return those of the processes that still run."""
    left = set()
    for pid, start in processes:
        try:
            words = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if words[19] == start and words[0] != "Z":
            left.add(pid)
    return left


def containers(owner: int) -> list[str]:
    """Return the containers that a process has started."""
    words = ["docker", "ps", "-q", "--filter", f"label=pytest-noepicycle={owner}"]
    return subprocess.run(words, capture_output=True, text=True, check=True, timeout=30).stdout.split()


def engine_answers() -> bool:
    """Whether there is a container engine, and its own program to ask it."""
    return (
        bool(shutil.which("docker"))
        and not subprocess.run(["docker", "version"], capture_output=True, timeout=30).returncode
    )


def test_kill_leaves_nothing(story, tmp_path):
    """SIGKILL in the middle of the search: the tree is as it was, no process stays, and the next run begins at once."""
    place = story(FILES)
    before = contents(place.project)
    with started(place, *OFFLINE, "--noepi-sandbox", "process", temporary=tmp_path / "tmp") as process:
        wait_until(lambda: mended_one(place), "the search has not begun")
        below = descendants(process.pid)
        assert below, "the trials run in processes of their own"
        process.kill()
        process.wait(PATIENCE)
    wait_until(lambda: not alive(below), "processes were left")
    assert contents(place.project) == before
    assert [event["event"] for event in events(place)][:2] == ["run_started", "triaged"]
    assert not list((tmp_path / "tmp").glob("noepi-*")), "files were left"
    told = place.fix("--noepi-dry-run")
    assert told.result["stop_reason"] == "dry_run", told.text
    assert contents(place.project) == before


@pytest.mark.slow
@pytest.mark.docker
@pytest.mark.skipif(not engine_answers(), reason="no container engine answers")
def test_kill_leaves_no_container(story, tmp_path):
    """SIGKILL in the middle of the search: the containers of the run go with it."""
    place = story(FILES)
    before = contents(place.project)
    with started(place, *OFFLINE, "--noepi-sandbox", "docker", temporary=tmp_path / "tmp") as process:
        wait_until(lambda: mended_one(place), "the search has not begun")
        assert containers(process.pid)
        process.kill()
        process.wait(PATIENCE)
    wait_until(lambda: not containers(process.pid), "containers were left")
    assert contents(place.project) == before


@pytest.mark.parametrize(
    "number", [signal.SIGINT, pytest.param(signal.SIGTERM, marks=pytest.mark.slow)], ids=["Ctrl-C", "a cancelled job"]
)
def test_ctrl_c_keeps_the_best(story, tmp_path, number):
    """Ctrl-C in the middle of the search: the mend that was found is proven, and the run tells of the interrupt."""
    place = story(FILES)
    with started(
        place, *OFFLINE, "--noepi-sandbox", "process", "--noepi-apply", "best", temporary=tmp_path / "tmp"
    ) as process:
        wait_until(lambda: mended_one(place), "the search has not begun")
        below = descendants(process.pid)
        (os.killpg if number == signal.SIGINT else os.kill)(process.pid, number)
        process.wait(PATIENCE)
    told = Told(process.returncode, (tmp_path / "output").read_text(), place.project)
    assert told.result["stop_reason"] == "interrupted", told.text
    assert told.result["tests"]["fixed"] == ["test_bread.py::test_total"], told.text
    assert told.result["verified"]
    assert told.result["applied"]
    assert place.read("bread.py") == TOTAL.replace("+", "*")
    assert told.result["tests"]["still_failing"] == ["test_milk.py::test_price"]
    wait_until(lambda: not alive(below), "processes were left")
    assert not list((tmp_path / "tmp").glob("noepi-*")), "files were left"


@pytest.mark.parametrize("moment", ["noepi: sandbox", "noepi: triage"])
def test_ctrl_c_before_anything_was_found(story, tmp_path, moment):
    """Ctrl-C before the search: nothing is changed, and there is a sentence and no traceback."""
    place = story(FILES)
    before = contents(place.project)
    with started(place, *OFFLINE, "--noepi-sandbox", "process", temporary=tmp_path / "tmp") as process:
        wait_until(lambda: moment in (tmp_path / "output").read_text(), "the run has not begun")
        below = descendants(process.pid)
        os.killpg(process.pid, signal.SIGINT)
        process.wait(PATIENCE)
    told = Told(process.returncode, (tmp_path / "output").read_text(), place.project)
    assert "Traceback" not in told.text
    assert "interrupted" in told.text
    assert contents(place.project) == before
    wait_until(lambda: not alive(below), "processes were left")
