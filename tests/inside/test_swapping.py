"""Which changes of a loaded module may be swapped in: those that do the same as to import it anew."""

from __future__ import annotations

import importlib
import os
import sys

import pytest

from pytest_noepicycle.inside.swapping import Bodies, Calls

SOURCE = """\
import functools

LIMIT = 3


def early():
    return 1


TABLE = [early()]


def plain(a, b=2):
    "What it does."
    return a + b


def outer(n):
    def inner(m):
        return m + n
    return inner


@functools.lru_cache
def kept(x):
    return x


class Shop:
    rate = 2

    def price(self, x):
        return x * self.rate

    @staticmethod
    def tax(x):
        return x + 1
"""


@pytest.fixture
def loaded(tmp_path, monkeypatch):
    """The module as it was imported, with its calls watched, and what swaps its bodies."""
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    (tmp_path / "swapped_shop.py").write_text(SOURCE)
    calls = Calls()
    before = sys.getprofile()
    calls.start()
    module = importlib.import_module("swapped_shop")
    alone = calls.stop()
    sys.setprofile(before)
    assert alone
    yield module, Bodies(os.path.realpath(tmp_path), {"swapped_shop.py": 1}, calls)
    del sys.modules["swapped_shop"]


@pytest.mark.parametrize(
    ("old", "new", "ask", "answer"),
    [
        ("a + b", "a * b + LIMIT", lambda m: m.plain(5), 13),
        ("return m + n", "return m - n", lambda m: m.outer(1)(5), 4),
        ("x * self.rate", "x * self.rate * 10", lambda m: m.Shop().price(1), 20),
        ("x + 1", "x + 2\n\n    # and a line more", lambda m: m.Shop.tax(1), 3),
    ],
    ids=["function", "nested", "method", "static method"],
)
def test_a_body_is_swapped(loaded, old, new, ask, answer):
    """The function that everybody holds already does what the new source says."""
    module, bodies = loaded
    held = module.plain
    assert bodies.swap("swapped_shop.py", SOURCE.replace(old, new).encode())
    assert ask(module) == answer
    assert module.plain is held


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("LIMIT = 3", "LIMIT = 4"),
        ("return 1", "return 2"),
        ("b=2", "b=3"),
        ("def plain(a, b=2)", "def plain(a, c=2)"),
        ("What it does.", "What it did."),
        ("return x\n", "return x + 1\n"),
        ("rate = 2", "rate = 3"),
        ("    @staticmethod\n", ""),
        (
            "def inner(m):\n        return m + n",
            "def inner(m):\n        return m + n\n\n    def plain():\n        pass\n((",
        ),
        ("import functools", "import functools, os"),
    ],
    ids=[
        *("constant", "ran at import", "default", "argument", "documentation", "decorated", "attribute", "decorator"),
        *("no syntax", "import"),
    ],
)
def test_anything_else_is_not(loaded, old, new):
    """The source is refused, and the module does what it did."""
    module, bodies = loaded
    assert old in SOURCE
    assert not bodies.swap("swapped_shop.py", SOURCE.replace(old, new).encode())
    assert (module.plain(1), module.Shop().price(1), module.TABLE, module.kept(4)) == (3, 2, [1], 4)


def test_a_module_that_was_read_a_second_time_is_left_alone(loaded, tmp_path):
    """Something has looked at its text (``inspect.getsource``), and may depend on it."""
    assert not Bodies(os.path.realpath(tmp_path), {"swapped_shop.py": 2}, Calls()).swap("swapped_shop.py", b"")
