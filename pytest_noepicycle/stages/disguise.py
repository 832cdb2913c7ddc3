"""The targets under other names: a fix does not care what a test is called, a trick that knows the test does."""

from __future__ import annotations

import ast
import hashlib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath

from pytest_noepicycle.stages.alike import class_alike, function_alike, function_of
from pytest_noepicycle.stages.test_source import Function, Read, TestModule

# A test that knows its own name may rightly end otherwise under another.
_KNOWS_ITS_NAME = re.compile(
    r"snapshot|regression|datadir|golden|approv|__name__|__qualname__|PYTEST_CURRENT_TEST|request\.(node|function|module)"
    r"|inspect\.|getframe|cassette|vcr|testdata|id\(\)|shortDescription"
)
_MUST_FAIL = "\n\n\ndef {name}():\n    assert 1 == 2\n"


@dataclass(frozen=True, slots=True)
class Disguise:
    """Copies of test files under other names. ``ids`` maps a test to its id there; ``canaries`` must fail."""

    overlay: Mapping[str, bytes]
    ids: Mapping[str, str]
    canaries: tuple[str, ...]

    def of(self, tests: Iterable[str]) -> tuple[str, ...]:
        """Return the disguised ids of those tests that have one."""
        return tuple(self.ids[test] for test in tests if test in self.ids)


def disguise(targets: Iterable[str], tests: Iterable[str], read: Read, *, salt: str) -> Disguise:
    """Copy the files of the targets beside themselves; ``tests`` are all known ids, ``salt`` makes the names.

    A file that is no plain module of tests, or whose tests know their names, has no copy.
    """
    overlay: dict[str, bytes] = {}
    ids: dict[str, str] = {}
    canaries: list[str] = []
    every = tuple(tests)
    for path in dict.fromkeys(test.split("::")[0] for test in targets):
        module = TestModule.read(path, read)
        if module.tree is None or not module.functions or _KNOWS_ITS_NAME.search(module.source.decode("utf-8")):
            continue
        here = [test for test in every if test.startswith(f"{path}::")]
        names = _names(module, here, salt)
        copy = str(PurePosixPath(path).with_name(f"test_{_word(salt, path)}.py"))
        canary = function_alike(function_of(here), _word(salt, path, "canary"))
        overlay[copy] = _renamed(module, names) + _MUST_FAIL.format(name=canary).encode()
        canaries.append(f"{copy}::{canary}")
        ids.update({test: _new_id(test, copy, names) for test in here if module.function(test) is not None})
    return Disguise(overlay, ids, tuple(canaries))


def _word(*parts: str) -> str:
    return hashlib.sha256("|".join(parts).encode()).hexdigest()[:8]


def _names(module: TestModule, tests: Iterable[str], salt: str) -> dict[str, str]:
    """Return new names for the functions and classes of the tests."""
    names: dict[str, str] = {}
    for test in tests:
        *classes, function = test.partition("::")[2].partition("[")[0].split("::")
        names.update({name: class_alike(name, _word(salt, name)) for name in classes})
        names[function] = function_alike(function, _word(salt, function))
    return names


def _renamed(module: TestModule, names: Mapping[str, str]) -> bytes:
    """Give definitions and every use of their names the new ones; nothing else of the file changes."""
    lines = module.source.splitlines(keepends=True)
    for node in ast.walk(module.tree or ast.Module([], [])):
        if isinstance(node, Function | ast.ClassDef) and node.name in names:
            _put(lines, node.lineno, node.name, names[node.name], node.col_offset)
    uses = [n for n in ast.walk(module.tree or ast.Module([], [])) if isinstance(n, ast.Name) and n.id in names]
    for use in sorted(uses, key=lambda n: (n.lineno, n.col_offset), reverse=True):
        _put(lines, use.lineno, use.id, names[use.id], use.col_offset)
    return b"".join(lines)


def _put(lines: list[bytes], number: int, old: str, new: str, column: int) -> None:
    line = lines[number - 1]
    found = re.compile(rb"\b" + re.escape(old.encode()) + rb"\b").search(line, column)
    if found is not None:
        lines[number - 1] = line[: found.start()] + new.encode() + line[found.end() :]


def _new_id(test: str, copy: str, names: Mapping[str, str]) -> str:
    dotted, bracket, rest = test.partition("::")[2].partition("[")
    return f"{copy}::{'::'.join(names.get(name, name) for name in dotted.split('::'))}{bracket}{rest}"
