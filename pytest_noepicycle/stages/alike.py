"""Names for tests of our own that a project's configuration collects as it collects the project's."""

from __future__ import annotations

import re
from collections.abc import Iterable

_ENDINGS = ("test", "tests", "spec", "check", "should")


def function_alike(name: str, word: str) -> str:
    """Return a function's name with ``word`` in it that ``python_functions`` takes where it takes ``name``.

    A pattern names the beginning of a test's name (``test``, ``it_*``), or its end (``*_test``).
    """
    if name.startswith("test"):
        return f"test_{word}"
    first, bar, rest = name.partition("_")
    last = rest.rpartition("_")[2]
    return f"{first}_{word}" + (f"_{last}" if last in _ENDINGS else "") if bar else f"{name}_{word}"


def class_alike(name: str, word: str) -> str:
    """Return a class's name with ``word`` in it that ``python_classes`` takes where it takes ``name``."""
    first = re.match(r"[A-Z]?[a-z0-9]+|[A-Z]+", name)
    last = re.search(r"[A-Z][a-z]+$", name)
    ending = last[0] if last and last[0].lower() in _ENDINGS and not name.startswith("Test") else ""
    return f"{first[0] if first else 'Test'}{word}{ending}"


def function_of(tests: Iterable[str]) -> str:
    """Return the name of the first of these tests that is a function; ``test`` where none is."""
    for test in tests:
        name = test.partition("::")[2].partition("[")[0].rpartition("::")[2]
        if name.isidentifier():
            return name
    return "test"
