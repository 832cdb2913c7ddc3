"""The project that is measured: one test with a body of 20 ms that fails, and candidates that do not mend it."""

from __future__ import annotations

import importlib.metadata
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from pytest_noepicycle.adapters.snapshot import TreeSnapshot, snapshot
from pytest_noepicycle.domain.patch import FileChange, Patch
from pytest_noepicycle.domain.session import Interpreter, Session
from pytest_noepicycle.domain.trial import Limits, Trial

BODY_SECONDS = 0.02
PRODUCT, TESTS = "shop.py", "test_shop.py"
TARGET = f"{TESTS}::test_total"
_SECONDS = 60.0
_PRODUCT = """\
RATE = {rate}


def total(prices, count, limit):
    result = count + {start}
    for price in prices:
        if price > limit and count < limit * 2:
            result = result + price * 2 - 1
        elif price == limit or count >= limit + 3:
            result = result - price
        else:
            result = result + price / 2
    return result * RATE
"""
_TESTS = """\
import time

from shop import total


def test_total():
    time.sleep({seconds})
    assert total([1, 2, 3], 2, 2) == {wanted}
"""
_RIGHT = 5.5


@dataclass(frozen=True, slots=True)
class Subject:
    """The project on the disk, its snapshot, and the session that failed in it."""

    session: Session
    tree: TreeSnapshot

    @property
    def folder(self) -> Path:
        """Return where it lies."""
        return Path(self.tree.root)

    @property
    def command(self) -> list[str]:
        """Return how pytest is called for its test from outside."""
        return [sys.executable, "-B", "-m", "pytest", *self.session.args, TARGET]

    def source(self, number: int, *, body_only: bool) -> str:
        """Return the product of a candidate, each another: only a function's body differs, or what an import runs."""
        return product(start=number + 2) if body_only else product(rate=number + 2)

    def trial(self, number: int, *, body_only: bool) -> Trial:
        """Return the candidate as the search tries one."""
        after = self.source(number, body_only=body_only).encode()
        patch = Patch.of([FileChange(PRODUCT, product().encode(), after)])
        return Trial(patch, (TARGET,), Limits(_SECONDS), brief=True)


def product(rate: int = 1, start: int = 0) -> str:
    """Return the product's source."""
    return _PRODUCT.format(rate=rate, start=start)


def checks(*, passing: bool = False) -> str:
    """Return the source of its tests."""
    return _TESTS.format(seconds=BODY_SECONDS, wanted=_RIGHT if passing else -1)


def write_subject(folder: Path) -> Subject:
    """Write the project into an empty folder and take its snapshot; the caller closes that."""
    for name, content in ((PRODUCT, product()), (TESTS, checks())):
        (folder / name).write_text(content, encoding="utf-8")
    homes = (sys.prefix, sys.base_prefix)
    path = tuple(entry for entry in sys.path if entry.startswith(homes))
    version = ".".join(map(str, sys.version_info[:3]))
    python = Interpreter(sys.executable, version, sys.prefix, sys.base_prefix, sys.platform, path)
    root, args = str(folder), (*_without_plugins(), "-p", "no:cacheprovider")
    return Subject(Session(root, root, args, python, pytest.__version__, 1), snapshot(root))


def _without_plugins() -> tuple[str, ...]:
    """Leave out the plugins that happen to be installed here: they would slow the other ways down, not this one."""
    names = sorted({entry.name for entry in importlib.metadata.entry_points(group="pytest11")})
    return tuple(word for name in names for word in ("-p", f"no:{name}"))
