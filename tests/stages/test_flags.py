"""Flags: each smell is shown with its line, and only where the patch brings it."""

from __future__ import annotations

import pytest

from pytest_noepicycle.domain.patch import FileChange, Patch
from pytest_noepicycle.domain.special_case import Demand, leaves, plain
from pytest_noepicycle.domain.territory import Territory
from pytest_noepicycle.stages.flags import flags

LAND = Territory(
    frozenset({"m.py", "tests/test_m.py"}),
    demands=(Demand("tests/test_m.py::t", leaves("an odd title"), plain("odd")),),
)


def flagged(after: bytes, before: bytes = b"x = 1\n", path: str = "m.py") -> list[tuple[int, str]]:
    """The line and name of each flag of a change."""
    return [(flag.line, flag.flag) for flag in flags(Patch.of([FileChange(path, before, after)]), LAND)]


@pytest.mark.parametrize(
    ("line", "flag"),
    [
        (b"time.sleep(1)", "sleep"),
        (b"for attempt in range(3): pass", "retry"),
        (b"except Exception:", "broad-except"),
        (b"except:", "broad-except"),
        (b"os.environ.get('PYTEST_CURRENT_TEST')", "test-sniffing"),
        (b"sys._getframe(1)", "frame-sniffing"),
        (b"os.environ['HOME']", "environment"),
        (b"sys.modules['x']", "interpreter"),
        (b"gc.get_objects()", "interpreter"),
        (b"open('/proc/self/maps')", "interpreter"),
        (b"if zlib.crc32(text) == 3557735814: pass", "digest"),
        (b"os._exit(0)", "exit"),
        (b"raise unittest.SkipTest", "skip-mark"),
        (b"eval(text)", "evaluation"),
        (b"open(path)", "files"),
        (b"def __eq__(self, other): return True", "equality"),
        (b"y = 'an odd title'", "test-literal"),
    ],
)
def test_a_smell_is_named_with_its_line(line: bytes, flag: str):
    """The second line of the file is the one that was added."""
    assert (2, flag) in flagged(b"x = 1\n" + line + b"\n")


def test_ordinary_code_has_no_flags():
    """Nothing is said where there is nothing to see."""
    assert flagged(b"x = 1\n\n\ndef f(n):\n    return [n % 7, 'text']\n") == []


def test_what_stood_there_before_is_not_flagged_nor_are_tests():
    """A flag is about the patch; changed tests are reported in another place."""
    assert flagged(b"time.sleep(1)\nx = 2\n", b"time.sleep(1)\nx = 1\n") == []
    assert flagged(b"time.sleep(1)\n", b"x = 1\n", path="tests/test_m.py") == []


def test_a_large_rewrite_is_flagged_as_one():
    """Most lines of a file of some length are replaced."""
    old = b"".join(b"a%d = 1\n" % n for n in range(40))
    assert flagged(old.replace(b"= 1", b"= 2"), old) == [(0, "large-rewrite")]


def test_a_branch_that_knows_a_test_is_flagged():
    """What the guard refuses, and what it lets pass as the project's own way, is shown."""
    found = flagged(b"x = 1\nif t == 'an odd title':\n    y = 'odd'\n")
    assert (2, "special-case") in found
