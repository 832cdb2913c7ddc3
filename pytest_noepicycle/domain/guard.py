"""The guard: which paths a patch may touch, judged on the tree's own facts before anything runs."""

from __future__ import annotations

import ast
import fnmatch
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath

from pytest_noepicycle.domain.patch import FileChange, Patch

CONFIGURATION = frozenset(
    {"pytest.ini", ".pytest.ini", "pytest.toml", ".pytest.toml", "pyproject.toml", "tox.ini", "setup.cfg"}
    | {"setup.py", "conftest.py", ".coveragerc", "manage.py", "noxfile.py"}
)
START_UP = frozenset({"sitecustomize.py", "usercustomize.py"})
TEST_FOLDERS = frozenset({"tests", "test"})
_BIDI = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u200e\u200f\u061c")


@dataclass(frozen=True, slots=True)
class Refusal:
    """One reason why a patch may not be tried: ``rule`` is a stable name, ``why`` a sentence."""

    path: str
    rule: str
    why: str


@dataclass(frozen=True, slots=True)
class Territory:
    """What the guard knows of the tree: paths relative to it, with forward slashes.

    ``tests_in`` maps a file to the ids collected from it; ``taken`` holds importable names outside the project.
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
        tests = [p for p in modules if any("::" in t and not _is_doctest(t) for t in self.tests_in.get(p, ()))]
        return len(tests) * 2 > len(modules)


Rule = Callable[[FileChange, Territory], "str | None"]


def judge(patch: Patch, territory: Territory) -> tuple[Refusal, ...]:
    """Return every reason against the patch; an empty answer means that it may be tried."""
    refusals: list[Refusal] = []
    for change in patch.changes:
        for name, rule in RULES.items():
            why = rule(change, territory)
            if why:
                refusals.append(Refusal(change.path, name, why))
                break
    return tuple(refusals)


def may_edit(path: str, territory: Territory) -> bool:
    """Whether an ordinary edit of that file would be let through: what rungs ask before they propose."""
    if path not in territory.files:
        return False
    probe = FileChange(path, b"x = 1\n", b"x = 2\n")
    return not any(rule(probe, territory) for name, rule in RULES.items() if name not in _ABOUT_CONTENT)


def _leaves_tree(change: FileChange, territory: Territory) -> str | None:
    path = change.path
    parts = PurePosixPath(path).parts
    plain = path and not path.startswith("/") and "\\" not in path and ":" not in path and "\0" not in path
    if not plain or ".." in parts or path != str(PurePosixPath(path)) or any(ord(c) < 32 for c in path):
        return "the path leaves the project or is not a plain relative one"
    return None


def _follows_link(change: FileChange, territory: Territory) -> str | None:
    pure = PurePosixPath(change.path)
    for place in (pure, *pure.parents):
        if str(place) in territory.links:
            return f"{place} is a symbolic link; edits go to real files only"
    return None


def _hidden(change: FileChange, territory: Territory) -> str | None:
    for part in PurePosixPath(change.path).parts:
        if (
            part.startswith(".")
            or part in ("node_modules", "__pycache__")
            or part.endswith((".dist-info", ".egg-info"))
        ):
            return f"{part} steers tools, version control or CI"
    return None


def _configuration(change: FileChange, territory: Territory) -> str | None:
    name = PurePosixPath(change.path).name
    if name in CONFIGURATION or change.path in territory.configuration:
        return f"{name} steers how tests are collected and run"
    return None


def _start_up(change: FileChange, territory: Territory) -> str | None:
    name = PurePosixPath(change.path).name
    return f"{name} runs at every start of the interpreter" if name in START_UP or name.endswith(".pth") else None


def _tests(change: FileChange, territory: Territory) -> str | None:
    if territory.is_test_file(change.path):
        return "tests and what lies beside them judge a patch and cannot be part of it"
    return None


def _user_protects(change: FileChange, territory: Territory) -> str | None:
    return "protected by noepi_protect" if _matches(change.path, territory.protect) else None


def _not_python(change: FileChange, territory: Territory) -> str | None:
    if change.path.endswith(".py") or _matches(change.path, territory.editable):
        return None
    return "only Python source may change (noepi_editable opens further files)"


def _outside_product(change: FileChange, territory: Territory) -> str | None:
    if territory.product and not _matches(change.path, territory.product):
        return "outside the paths that noepi_product names"
    return None


def _new_name(change: FileChange, territory: Territory) -> str | None:
    """A new module may join a folder that holds modules already, or take a free name at the top."""
    if change.path in territory.files:
        return None
    pure = PurePosixPath(change.path)
    folder = str(pure.parent)
    stem = pure.stem
    package = f"{folder}/__init__.py"
    if folder != "." and package in territory.files:
        return None
    siblings = any(p.endswith(".py") and str(PurePosixPath(p).parent) == folder for p in territory.files)
    if not siblings:
        return "a new file may only stand beside existing modules of the product"
    if stem in territory.taken or stem in sys.stdlib_module_names:
        return f"a module named {stem} would hide one that exists already"
    return None


def _deletion(change: FileChange, territory: Territory) -> str | None:
    return "a patch may not delete a file" if change.after is None else None


def _emptied(change: FileChange, territory: Territory) -> str | None:
    if change.before and change.before.strip() and change.after is not None and not change.after.strip():
        return "the rewrite empties the file"
    return None


def _bidirectional(change: FileChange, territory: Territory) -> str | None:
    """Only characters that the patch brings count; what stood there already is the project's own."""
    added = _BIDI & set((change.after or b"").decode("utf-8", "replace"))
    if added - set((change.before or b"").decode("utf-8", "replace")):
        return "bidirectional control characters make code read other than it runs"
    return None


def _frozen_tests(change: FileChange, territory: Territory) -> str | None:
    """Tests and doctests that live in product files stay exactly as they are."""
    ids = (territory.tests_in or {}).get(change.path, ())
    if not ids or change.before is None or change.after is None:
        return None
    names = {_outer_name(test) for test in ids if not _is_doctest(test)}
    before, after = _frozen_parts(change.before, names), _frozen_parts(change.after, names)
    return "a test or doctest in this file is changed" if after is not None and before != after else None


RULES: Mapping[str, Rule] = {
    "leaves-tree": _leaves_tree,
    "follows-link": _follows_link,
    "hidden-or-tooling": _hidden,
    "start-up-hook": _start_up,
    "configuration": _configuration,
    "test-file": _tests,
    "protected-by-user": _user_protects,
    "not-python": _not_python,
    "outside-product": _outside_product,
    "deletion": _deletion,
    "new-module": _new_name,
    "emptied": _emptied,
    "bidirectional": _bidirectional,
    "frozen-test": _frozen_tests,
}
_ABOUT_CONTENT = frozenset({"deletion", "emptied", "bidirectional", "frozen-test"})


def _matches(path: str, patterns: Iterable[str]) -> bool:
    return any(fnmatch.fnmatch(path, p) or path.startswith(p.rstrip("/") + "/") for p in patterns)


def _is_doctest(test: str) -> bool:
    """Doctest ids carry the dotted name of a module behind the path: ``src/a.py::pkg.a.f``."""
    path, _, name = test.partition("::")
    stem = PurePosixPath(path).stem
    dotted = name.split("[")[0].split("::")[0]
    return dotted == stem or f".{stem}." in f".{dotted}." or (stem == "__init__" and "." in dotted)


def _outer_name(test: str) -> str:
    return test.partition("::")[2].split("::")[0].split("[")[0]


def _frozen_parts(source: bytes, names: set[str]) -> list[str] | None:
    """Return the docstrings and the named definitions of a source, or None where it does not parse."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError):
        return None
    parts: list[str] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            parts.append(f"{getattr(node, 'name', '')}:{ast.get_docstring(node, clean=False)}")
    parts += [ast.dump(n) for n in tree.body if getattr(n, "name", None) in names]
    return sorted(parts)
