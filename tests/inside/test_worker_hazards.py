"""What hostile or broken code can do to a worker: nothing that outlives its trial, and nothing that passes."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from pytest_noepicycle.domain.trial import End, Status

GREEN = "test_t.py::test_one"
TESTS = """
    from product import f
    def test_zero(): assert f(0) >= 0
    def test_one(): assert f(1) == 1
"""
GOOD = "def f(x):\n    return x\n"


@pytest.fixture(scope="module")
def rig(make_rig):
    """A project of two tests and one function."""
    return make_rig({"test_t.py": TESTS, "product.py": GOOD})


@pytest.fixture(autouse=True)
def _unharmed(rig):
    """After each attack the same worker serves an honest trial, and has no process and no descriptor left over."""
    before = descriptors(rig)
    yield
    report = rig.run()
    assert (report.end, len(report.passing())) == (End.COMPLETE, 2)
    assert children(rig) == []
    assert descriptors(rig) == before
    assert rig.tree() == rig.original


def descriptors(rig) -> int | None:
    """Return how many descriptors the worker holds; None where it hides them from an ordinary user, as it should."""
    try:
        return len(list(Path(f"/proc/{rig.process.pid}/fd").iterdir()))
    except PermissionError:
        return None


def children(rig) -> list[str]:
    """Return the worker's living children."""
    return Path(f"/proc/{rig.process.pid}/task/{rig.process.pid}/children").read_text().split()


def wait_until(condition, seconds: float = 10.0) -> bool:
    """Whether something comes to be true in time."""
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.01)
    return True


LOOPS = {
    "plain": "def f(x):\n    while x == 1: pass\n    return x\n",
    "deaf": """
        import signal
        def f(x):
            for number in range(1, 64):
                try: signal.signal(number, signal.SIG_IGN)
                except (OSError, ValueError): pass
            while x == 1:
                try:
                    while True: pass
                except BaseException: pass
            return x
    """,
    "sleeping": "import time\ndef f(x):\n    time.sleep(600 * x)\n    return x\n",
}


@pytest.mark.parametrize("loop", LOOPS)
def test_an_endless_test_is_named_and_killed(rig, loop):
    """A test over its own time ends the trial, as a timeout of that test; what ran before it counts."""
    report = rig.run(change={"product.py": LOOPS[loop]}, test_seconds=0.5)
    assert (report.end, report.hung) == (End.TIMEOUT, GREEN)
    assert report.outcomes[GREEN].status is Status.TIMEOUT
    assert report.outcomes["test_t.py::test_zero"].status is Status.PASSED


def test_an_endless_import_ends_with_the_time_of_the_trial(rig):
    """While tests are collected only the whole trial's time counts, and no test is blamed."""
    report = rig.run(change={"product.py": "while True: pass\n"}, seconds=0.5)
    assert (report.end, report.hung, report.passing()) == (End.TIMEOUT, None, frozenset())


@pytest.mark.parametrize(
    "text",
    [
        "import os\nos._exit(0)\n",
        "import sys\nsys.exit(0)\n",
        "raise KeyboardInterrupt\n",
        "import os\ndef f(x):\n    os._exit(0)\n",
        "import pytest\ndef f(x):\n    pytest.exit('enough', returncode=0)\n",
        "import os, signal\ndef f(x):\n    os.kill(os.getpid(), signal.SIGSEGV)\n",
        "import atexit, os\natexit.register(os._exit, 0)\nraise SystemExit(0)\n",
        "import os, signal\ndef f(x):\n    os.kill(0, signal.SIGKILL)\n",
    ],
)
def test_an_early_exit_passes_nothing(rig, text):
    """However a process ends before its tests do, the trial has died and no test has passed."""
    report = rig.run(change={"product.py": text})
    assert (report.end, report.passing()) == (End.DIED, frozenset())
    assert {outcome.status for outcome in report.outcomes.values()} <= {Status.MISSING, Status.ERROR}


def test_an_exit_while_tests_are_collected_fails_their_file(rig):
    """What asks pytest to exit during an import makes an error of the file, whatever status it asks for."""
    report = rig.run(change={"product.py": "import pytest\npytest.exit('enough', returncode=0)\n"})
    assert (report.outcomes["test_t.py"].status, report.passing()) == (Status.ERROR, frozenset())


def test_a_flood_of_output_is_read_and_forgotten(rig):
    """Two hundred megabytes of print neither block the trial nor stay in the worker's memory."""
    flood = "import os\ndef f(x):\n    for _ in range(1600 * x): os.write(1, b'x' * 65536)\n    return x\n"
    report = rig.run(change={"product.py": flood, "pytest.ini": "[pytest]\naddopts = -s\n"})
    assert report.outcomes[GREEN].passed
    assert len(report.output) < 32 * 1024
    status = Path(f"/proc/{rig.process.pid}/status").read_text()
    assert int(status.split("VmHWM:")[1].split()[0]) < 200 * 1024


FORGED = """
    import json, os, sys
    def tell(**record): os.write(3, (json.dumps(record) + "\\n").encode())
    def f(x):
        if x == 1:
            {forge}
        return -1
"""
ONE = "id='test_t.py::test_one'"
FORGERIES = {
    "a pass": f"tell(k='phase', {ONE}, when='call', outcome='passed', xfail=False, seconds=0)",
    "all of a test": "; ".join(
        f"tell(k='phase', {ONE}, when='{when}', outcome='passed', xfail=False, seconds=0)"
        for when in ("call", "teardown")
    ),
    "no JSON": "os.write(3, b'{]\\n')",
    "a list": "os.write(3, b'[1]\\n')",
    "an endless line": "os.write(3, b'x' * (1 << 21))",
    "a million records": "[tell(k='start', id=str(n) * 1000) for n in range(1000000)]",
    "an early end": "tell(k='end', status=0, count=2)",
    "an unknown kind": "tell(k='verdict', solved=True)",
}


@pytest.mark.parametrize("forgery", FORGERIES)
def test_a_record_that_the_code_on_trial_writes_itself_voids_the_trial(rig, forgery):
    """Duplicates, broken lines, floods and a second end make all records of the trial worthless."""
    report = rig.run(change={"product.py": FORGED.format(forge=FORGERIES[forgery])})
    assert (report.end, report.passing()) == (End.VOID, frozenset())
    assert report.why


def test_a_daemon_does_not_outlive_its_trial(rig, tmp_path):
    """A grandchild in a session of its own, deaf to signals and cut off from its parents, is gone afterwards."""
    alive = tmp_path / "alive"
    daemon = f"""
        import os, signal, time
        def f(x):
            if x == 1 and os.fork() == 0:
                os.setsid()
                if os.fork() == 0:
                    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT): signal.signal(number, signal.SIG_IGN)
                    with open({str(alive)!r}, "w") as file: file.write(str(os.getpid()))
                    time.sleep(600)
                os._exit(0)
            while x and not os.path.exists({str(alive)!r}): time.sleep(0.01)
            return x
    """
    assert GREEN in rig.run(change={"product.py": daemon}).passing()
    assert wait_until(alive.read_text)
    assert not Path("/proc", alive.read_text()).exists()


def test_a_fork_bomb_ends_with_its_trial(rig):
    """A bounded chain of forking processes is killed with the test that started it."""
    bomb = """
        import os, time
        def f(x):
            for _ in range(5 * x): os.fork()
            time.sleep(600 * x)
            return x
    """
    assert rig.run(change={"product.py": bomb}, test_seconds=0.7).end is not End.COMPLETE


def test_the_scratch_folder_is_emptied_however_odd_its_content(rig):
    """Closed folders, long chains of folders and strange names are gone after the trial."""
    litter = """
        import os, tempfile
        def f(x):
            if x:
                os.chdir(tempfile.mkdtemp())
                open("\\udcff\\n", "w").close()
                os.symlink("/", "link")
                os.mkdir("closed", 0)
                for _ in range(1100):
                    os.mkdir("deep"); os.chdir("deep")
                os.chdir("/")
            return x
    """
    assert len(rig.run(change={"product.py": litter}).passing()) == 2
    assert not list(Path(rig.folder.parent, "scratch").iterdir())


def test_a_tree_that_the_code_on_trial_changes_is_put_back(rig):
    """Files edited, removed, added, replaced by links or folders, and closed, are as before (checked after each)."""
    vandal = """
        import os, shutil, pathlib
        here = pathlib.Path(__file__).parent
        def f(x):
            if x:
                (here / "test_t.py").write_text("def test_one(): pass")
                (here / "product.py").unlink(); (here / "product.py").mkdir(mode=0o700)
                (here / "product.py" / "x").write_text("x"); (here / "product.py").chmod(0)
                (here / "conftest.py").write_text("raise SystemExit")
                (here / "new").symlink_to("/")
                here.chmod(0)
            return x
    """
    assert rig.run(change={"product.py": vandal}).outcomes[GREEN].passed


def test_the_worker_is_out_of_reach(rig):
    """Code on trial finds neither the engine's wire nor a worker that obeys its signals."""
    search = """
        import os, signal
        def f(x):
            os.kill(os.getppid(), signal.SIGINT); os.kill(os.getppid(), signal.SIGTERM)
            names = [f"/proc/self/fd/{n}" for n in os.listdir("/proc/self/fd")]
            pipes = {os.readlink(name) for name in names if os.path.lexists(name) and "pipe" in os.readlink(name)}
            return x if len(pipes) == 2 else -1  # its records and its output
    """
    assert GREEN in rig.run(GREEN, change={"product.py": search}).passing()


def test_two_hundred_trials_leave_nothing_behind(rig):
    """A long series of trials gathers neither processes nor descriptors (looked at afterwards)."""
    for turn in range(200):
        wanted = GREEN if turn % 20 == 0 else "nowhere.py::test_x"
        assert rig.run(wanted).end is End.COMPLETE
