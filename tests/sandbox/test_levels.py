"""Levels of a worker: whatever a trial starts from, it ends as in a fresh interpreter, and nothing survives it."""

from __future__ import annotations

import os

import pytest

from pytest_noepicycle.domain.patch import FileChange, Patch
from pytest_noepicycle.domain.trial import End, Limits, Trial
from pytest_noepicycle.inside.levels import COLLECTED, FORK, SESSION

SHOP = """\
RATE = 2


def total(prices):
    result = 0
    for price in prices:
        result = result + price
    return result * RATE
"""
FILES = {
    "shop.py": SHOP,
    "rates.py": "def rate():\n    return 1\n",
    "conftest.py": "import pytest\nimport rates\n\n\n@pytest.fixture\ndef rate():\n    return rates.rate()\n",
    "test_shop.py": (
        "import os\nimport tempfile\n\nimport shop\n\n\ndef test_total():\n    assert shop.total([1, 2]) == 6\n\n\n"
        "def test_rate(rate, tmp_path):\n    (tmp_path / 'x').write_text('x')\n    assert rate == 1\n\n\n"
        "def test_output(capfd):\n    os.system('echo said')\n    assert capfd.readouterr().out == 'said\\n'\n"
    ),
}
IDS = ("test_shop.py::test_total", "test_shop.py::test_rate", "test_shop.py::test_output")


class Bench:
    """A box, and the trials of small changes in it."""

    def __init__(self, box) -> None:
        self.box = box
        for _ in range(14):
            self.run()

    def run(self, path: str = "shop.py", old: str = "", new: str = "", cold: bool = False, seconds: float = 30.0):
        """Run the tests with some text replaced, or added at the end; return the level, the end and the outcomes."""
        before = FILES[path]
        assert old in before
        after = before.replace(old, new) if old else before + new
        patch = Patch.of([FileChange(path, before.encode(), after.encode())] if after != before else [])
        report = self.box.run(Trial(patch, IDS, Limits(seconds), brief=True, cold=cold))
        return self.box.level, report.end, {test[14:]: str(one.status) for test, one in report.outcomes.items()}


@pytest.fixture(scope="module")
def bench(kind, make_project):
    """A box with every level made."""
    if kind == "process" and os.geteuid() != 0:
        pytest.skip("only root can have users of their own for the trials, and levels need them")
    box = make_project(FILES).open(kind)
    yield Bench(box)
    box.close()


@pytest.mark.parametrize(
    ("path", "old", "new", "level"),
    [
        ("shop.py", "result + price", "result - price", COLLECTED),
        ("shop.py", "price in prices", "price in prices[1:]", COLLECTED),
        ("shop.py", "    return result * RATE", "    raise SystemExit(0)", COLLECTED),
        ("shop.py", "RATE = 2", "RATE = 3", SESSION),
        ("shop.py", "def total(prices)", "def total(price_list)", SESSION),
        ("shop.py", "result = 0", "result = (", SESSION),
        ("shop.py", "", "\n\nimport os\nos._exit(0)\n", SESSION),
        ("rates.py", "return 1", "return 2", COLLECTED),
        ("rates.py", "def rate", "def other", FORK),
    ],
)
def test_a_trial_starts_as_late_as_its_patch_allows_and_ends_as_a_cold_one(bench, path, old, new, level):
    """A body is swapped, a module imported anew, and what the session has read already takes a start before it."""
    used, *warm = bench.run(path, old, new)
    assert used == level
    assert bench.run(path, old, new, cold=True)[1:] == tuple(warm)


HOSTILE = {
    "kills": "import os, signal\n    [os.kill(pid, signal.SIGKILL) for pid in range(2, 60) if pid != os.getpid()]",
    "kills all": "import os, signal\n    os.kill(-1, signal.SIGKILL)",
    "stays": "import os, time\n    if os.fork() == 0:\n        os.setsid()\n        time.sleep(60)",
    "hangs": "import time\n    time.sleep(60)",
    "forks": "import os\n    for _ in range(500):\n        if os.fork() == 0:\n            continue",
    "gives a false word": 'import os\n    os.write(3, b\'{"k": "unswappable"}\\n\')\n    os._exit(0)',
    "reads": "import os\n    [open(f'/proc/{pid}/mem', 'rb') for pid in (2, 3, 4) if os.path.isdir(f'/proc/{pid}')]",
    "becomes root": "import os\n    os.setuid(0)",
    "writes": "import os\n    os.chmod(__file__, 0o777)",
}


@pytest.mark.parametrize("attack", HOSTILE)
def test_no_trial_harms_the_stem_from_which_it_grew(bench, attack):
    """Whatever one does, it does not pass, and the next starts from the same level and ends as ever."""
    _, _, ended = bench.run("shop.py", "result = 0", f"{HOSTILE[attack]}\n    result = 1", seconds=3.0)
    assert ended["test_total"] != "passed"
    good = {"test_total": "passed", "test_rate": "passed", "test_output": "passed"}
    assert bench.run("shop.py", "result + price", "price + result") == (COLLECTED, End.COMPLETE, good)


def test_a_stem_that_ends_its_tests_otherwise_is_not_used(kind, make_project):
    """A test that sees whether its module was imported by the process it runs in passes cold, and so it must here."""
    if kind == "process" and os.geteuid() != 0:
        pytest.skip("only root can have users of their own for the trials, and levels need them")
    test = "import os\n\nOWNER = os.getpid()\n\n\ndef test_it():\n    assert os.getpid() == OWNER\n"
    box = make_project({"m.py": "x = 1\n", "test_m.py": test}).open(kind)
    ids = ("test_m.py::test_it",)
    levels = []
    for _ in range(16):
        report = box.run(Trial(Patch(), ids, Limits(30.0), brief=True))
        assert report.passing() == {*ids}
        levels.append(box.level)
    box.close()
    assert levels[-1] == SESSION


def test_a_project_that_starts_threads_or_opens_files_gets_no_stem(kind, make_project):
    """What a fork would tear apart, or trials would share, keeps every trial at the worker itself."""
    shared = "import threading, time\nthreading.Thread(target=time.sleep, args=(60,), daemon=True).start()\n"
    box = make_project({"conftest.py": shared, "test_m.py": "def test_it():\n    pass\n"}).open(kind)
    ids = ("test_m.py::test_it",)
    for _ in range(9):
        assert box.run(Trial(Patch(), ids, Limits(30.0), brief=True)).passing() == {*ids}
    assert box.level == FORK
    box.close()
