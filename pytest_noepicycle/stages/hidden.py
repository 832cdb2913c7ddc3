"""Hidden tests: which ones cannot run because a file or a folder cannot be collected, read from their source."""

from __future__ import annotations

import fnmatch
import re
from pathlib import PurePosixPath

from pytest_noepicycle.stages.scene import Surroundings
from pytest_noepicycle.stages.test_source import TestModule

_TEST = re.compile(r"^[ \t]*(?:async[ \t]+)?def[ \t]+(test\w*)", re.MULTILINE)
_SHOWN = 3


def hides(place: str, around: Surroundings) -> str:
    """Say how many tests a file or folder keeps from running, and name some; empty where none is seen in it.

    Parameters multiply tests and are not counted.
    """
    if "::" in place:
        return ""
    tests = [test for path in _files(place, around) for test in hidden_tests(path, around)]
    if not tests:
        return ""
    shown = ", ".join(test.partition("::")[2] for test in tests[:_SHOWN])
    more = f" and {len(tests) - _SHOWN} more" if len(tests) > _SHOWN else ""
    return f"until then {len(tests)} test{'s' * (len(tests) > 1)} cannot run: {shown}{more}"


def hidden_tests(path: str, around: Surroundings) -> tuple[str, ...]:
    """Return the ids of the tests that stand in a file, also where it is no Python."""
    module = TestModule.read(path, around.read)
    if module.tree is None:
        return tuple(f"{path}::{name}" for name in _TEST.findall(around.text(path)))
    return tuple(f"{path}::{name}" for name in module.functions if _is_test(name))


def _is_test(name: str) -> bool:
    *classes, function = name.split("::")
    return function.startswith("test") and all("Test" in one for one in classes)


def _files(place: str, around: Surroundings) -> list[str]:
    """Return the files of tests at a place: itself, or those of a folder (that of a conftest)."""
    if place in around.files and PurePosixPath(place).name != "conftest.py":
        return [place]
    folder = str(PurePosixPath(place).parent) if place.endswith("conftest.py") else place
    start = "" if folder in (".", "") else f"{folder}/"
    named = (path for path in sorted(around.files) if path.startswith(start))
    return [p for p in named if fnmatch.fnmatch(p, "*test_*.py") or fnmatch.fnmatch(p, "*_test.py")]
