"""What the guard knows of a tree, and what it says when it refuses."""

from __future__ import annotations

import fnmatch
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath

from pytest_noepicycle.domain.patch import FileChange
from pytest_noepicycle.domain.special_case import Demand

TEST_FOLDERS = frozenset({"tests", "test"})


@dataclass(frozen=True, slots=True)
class Refusal:
    """One reason why a patch may not be tried: ``rule`` is a stable name, ``why`` a sentence."""

    path: str
    rule: str
    why: str


@dataclass(frozen=True, slots=True)
class Territory:
    """What the guard knows of the tree: paths relative to it, with forward slashes.

    ``tests_in`` maps a file to the ids collected from it; ``taken`` holds importable names outside the project;
    ``demands`` are the literal inputs and answers of the targets, so that no patch is made of them.
    """

    files: frozenset[str]
    links: frozenset[str] = frozenset()
    python_files: tuple[str, ...] = ("test_*.py", "*_test.py")
    tests_in: Mapping[str, tuple[str, ...]] | None = None
    configuration: frozenset[str] = frozenset()
    taken: frozenset[str] = frozenset()
    editable: tuple[str, ...] = ()
    protect: tuple[str, ...] = ()
    product: tuple[str, ...] = ()
    demands: tuple[Demand, ...] = ()

    def is_test_file(self, path: str) -> bool:
        """Whether pytest would take the file for one of tests, by its name or by its folder."""
        pure = PurePosixPath(path)
        if any(part in TEST_FOLDERS for part in pure.parts[:-1]):
            return True
        named = any(fnmatch.fnmatch(pure.name, pattern) for pattern in self.python_files if pattern != "*.py")
        return named or self._in_folder_of_tests(pure)

    def _in_folder_of_tests(self, pure: PurePosixPath) -> bool:
        """A folder below the root that holds more tests than anything else belongs to the tests."""
        folder = str(pure.parent)
        if folder == "." or not self.tests_in:
            return False
        here = [p for p in self.files if p.endswith(".py") and str(PurePosixPath(p).parent) == folder]
        modules = [p for p in here if PurePosixPath(p).name not in ("__init__.py", "conftest.py")]
        tests = [p for p in modules if any("::" in t and not is_doctest(t) for t in self.tests_in.get(p, ()))]
        return len(tests) * 2 > len(modules)


Rule = Callable[[FileChange, Territory], "str | None"]
"""Returns why a change is refused, or None."""


def matches(path: str, patterns: Iterable[str]) -> bool:
    """Whether a path fits a pattern, or lies below a folder that is named."""
    return any(fnmatch.fnmatch(path, p) or path.startswith(p.rstrip("/") + "/") for p in patterns)


def is_doctest(test: str) -> bool:
    """Doctest ids carry the dotted name of a module behind the path: ``src/a.py::pkg.a.f``."""
    path, _, name = test.partition("::")
    stem = PurePosixPath(path).stem
    dotted = name.split("[")[0].split("::")[0]
    return dotted == stem or f".{stem}." in f".{dotted}." or (stem == "__init__" and "." in dotted)
