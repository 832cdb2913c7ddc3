"""Names of tests and modules, as paths and ids tell them."""

from __future__ import annotations

from collections.abc import Iterable


def by_file(ids: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """Return the ids by the file that they were collected from."""
    files: dict[str, list[str]] = {}
    for test in ids:
        files.setdefault(test.split("::")[0], []).append(test)
    return {path: tuple(tests) for path, tests in files.items()}


def importable(paths: Iterable[str]) -> frozenset[str]:
    """Return the names that Python files import under: each part of their paths may be one."""
    return frozenset(part.removesuffix(".py") for path in paths if path.endswith(".py") for part in path.split("/"))
