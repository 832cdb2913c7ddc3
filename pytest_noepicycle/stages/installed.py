"""Tests that import an installed copy of the product: no patch of the tree can reach them."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Set
from pathlib import PurePosixPath

from pytest_noepicycle.domain.context import Coverage
from pytest_noepicycle.domain.run import Finding
from pytest_noepicycle.stages.test_source import Read


def installed_copies(
    targets: Iterable[str], coverage: Coverage, files: Set[str], outside: Set[str], read: Read
) -> tuple[Finding, ...]:
    """Find targets whose file imports a package of the tree that can be had from outside, and was.

    ``outside`` are the names that import from outside the tree. Nothing is found where nothing was measured, or where
    a single line of the tree's package ran.
    """
    ran = frozenset(path for reached in coverage.values() for path, lines in reached.items() if lines)
    if not ran:
        return ()
    found = []
    for test in targets:
        for name in dict.fromkeys(_imported(read(test.split("::")[0]))):
            own = sorted(path for path in files if name in outside and _holds(path, name))
            if own and ran.isdisjoint(own):
                what = f"it runs an installed copy of {name!r} and not {own[0]}"
                found.append(Finding(test, "environment", f"{what}: install the tree itself (pip install -e .)"))
                break
    return tuple(found)


def _holds(path: str, name: str) -> bool:
    """Whether a file of the tree is that module, or lies in that package."""
    place = PurePosixPath(path)
    return place.suffix == ".py" and (place.name == f"{name}.py" or name in place.parts[:-1])


def _imported(source: bytes | None) -> Iterator[str]:
    """Yield the names at the top of what a file imports."""
    try:
        tree = ast.parse(source or b"")
    except (SyntaxError, ValueError):
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module.partition(".")[0]
