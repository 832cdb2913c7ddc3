"""The guard's rules about what a change does to a file that it may touch."""

from __future__ import annotations

import ast
import functools
import re
import warnings
from collections import Counter
from collections.abc import Iterator, Mapping

from pytest_noepicycle.domain.patch import FileChange
from pytest_noepicycle.domain.special_case import special_cases
from pytest_noepicycle.domain.territory import Rule, Territory, is_doctest

# Marks that change which way code runs in an editor, and letters without width.
HIDDEN_CHARACTERS = frozenset(
    "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u200e\u200f\u061c\u200b\u200c\u200d\u2060\ufeff\u00ad"
)
# Modules and files by which a program writes where no Python object lets it.
_INTO_MEMORY = re.compile(r"\b_?ctypes\b|\bcffi\b|/proc/(self|thread-self|\d+)/mem\b")
_LONGEST_NAME = 200
# What in a module with tests decides how pytest reads it.
_STEERING = frozenset({"pytestmark", "pytest_plugins", "__test__", "collect_ignore", "collect_ignore_glob"})


def _deletion(change: FileChange, territory: Territory) -> str | None:
    return "a patch may not delete a file" if change.after is None else None


def _emptied(change: FileChange, territory: Territory) -> str | None:
    if change.before and change.before.strip() and change.after is not None and not change.after.strip():
        return "the rewrite empties the file"
    return None


def _hidden_characters(change: FileChange, territory: Territory) -> str | None:
    """Only characters that the patch brings count; what stood there already is the project's own."""
    after = (change.after or b"").decode("utf-8", "replace").removeprefix("\ufeff")
    if HIDDEN_CHARACTERS & set(after) - set((change.before or b"").decode("utf-8", "replace")):
        return "bidirectional or invisible characters make code read other than it runs"
    return None


def _frozen_tests(change: FileChange, territory: Territory) -> str | None:
    """Tests and doctests that live in product files stay exactly as they are."""
    ids = (territory.tests_in or {}).get(change.path, ())
    if not ids or change.before is None or change.after is None:
        return None
    names = _STEERING | {_outer_name(test) for test in ids if not is_doctest(test)}
    before, after = _frozen_as_before(change.before, names), _parsed(change.after)
    if before is None or after is None:
        return None
    tests, doctests = before
    if tests != Counter(_bound(after, names)):
        return "a test in this file is changed"
    if doctests - Counter(_doctests(after)):
        return "a doctest in this file is changed"
    return None


@functools.lru_cache(maxsize=32)
def _frozen_as_before(source: bytes, names: frozenset[str]) -> tuple[Counter[str], Counter[tuple[str, str]]] | None:
    """Read a file of the baseline once, for the thousands of candidates that change it."""
    tree = _parsed(source)
    return (Counter(_bound(tree, names)), Counter(_doctests(tree))) if tree is not None else None


def _special_cased(change: FileChange, territory: Territory) -> str | None:
    for case in special_cases(change, territory.demands):
        if case.refused:
            return f"line {case.line} answers an input of {case.test} with what that test expects"
    return None


def _memory(change: FileChange, territory: Territory) -> str | None:
    """A file that reached there before the patch does so in its own way."""
    after = _parsed(change.after or b"") if change.path.endswith(".py") else None
    if after is None or _INTO_MEMORY.search((change.before or b"").decode("utf-8", "replace")):
        return None
    found = next((name for name in _reached(after) if _INTO_MEMORY.search(name)), None)
    return f"{found} reaches into the interpreter's memory, which this file did not do before" if found else None


def _reached(tree: ast.Module) -> Iterator[str]:
    """Yield the modules that are imported, by whatever means, and the paths that are opened."""
    documents = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module or ""
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in documents:
            yield node.value[:_LONGEST_NAME]


CONTENT_RULES: Mapping[str, Rule] = {
    "deletion": _deletion,
    "emptied": _emptied,
    "bidirectional": _hidden_characters,
    "frozen-test": _frozen_tests,
    "special-cased": _special_cased,
    "memory": _memory,
}


def _parsed(source: bytes) -> ast.Module | None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return ast.parse(source)
        except (SyntaxError, ValueError, RecursionError):
            return None


def _outer_name(test: str) -> str:
    return test.partition("::")[2].split("::")[0].split("[")[0]


def _bound(tree: ast.Module, names: frozenset[str]) -> Iterator[str]:
    """Yield every statement of the module that gives one of the names a value, in whatever way."""
    for node in tree.body:
        if _binds(node) & names:
            yield ast.dump(node)


def _binds(node: ast.stmt) -> frozenset[str]:
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return frozenset({node.name})
    names = {n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store | ast.Del)}
    names |= {n.asname or n.name for n in ast.walk(node) if isinstance(n, ast.alias)}
    names |= {n.name for n in ast.walk(node) if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)}
    return frozenset(names)


def _doctests(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """Yield each docstring that holds an example, with the name of what it stands in."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            text = ast.get_docstring(node, clean=False)
            if text and ">>>" in text:
                yield getattr(node, "name", ""), text
