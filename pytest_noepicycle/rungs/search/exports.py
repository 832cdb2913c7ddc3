"""What an import could have meant: names and modules of the project that are like those that are not there."""

from __future__ import annotations

import ast
import difflib
import re
import warnings
from collections.abc import Callable, Iterable, Iterator

from pytest_noepicycle.domain.failure import Failure

Read = Callable[[str], "bytes | None"]
_NAME = re.compile(r"cannot import name '(\w+)' from (?:partially initialized module )?'([\w.]+)'")
_ATTRIBUTE = re.compile(r"module '([\w.]+)' has no attribute '(\w+)'")
_MODULE = re.compile(r"No module named '([\w.]+)'")
_ALIKE = 0.6


def meant_names(failures: Iterable[Failure], files: frozenset[str], read: Read) -> dict[str, str]:
    """Return, for each name that a module of the project was asked for in vain, the likest one that it has."""
    wanted: list[tuple[str, str]] = []
    for failure in failures:
        wanted += _NAME.findall(failure.message)
        wanted += [(name, module) for module, name in _ATTRIBUTE.findall(failure.message)]
    found = {}
    for name, module in dict.fromkeys(wanted):
        exported = [other for path in _files_of(module, files) for other in _defined(path, read)]
        likest = difflib.get_close_matches(name, exported, 1, _ALIKE)
        if likest:
            found[name] = likest[0]
    return found


def meant_modules(failures: Iterable[Failure], files: frozenset[str]) -> dict[str, str]:
    """Return, for each module that is not there, the last part of the likest one in the same package."""
    found = {}
    for failure in failures:
        for missing in _MODULE.findall(failure.message):
            package, _, name = missing.rpartition(".")
            likest = difflib.get_close_matches(name, _modules_in(package, files), 1, _ALIKE)
            if likest:
                found[name] = likest[0]
    return found


def _files_of(module: str, files: frozenset[str]) -> list[str]:
    """Return the files that may be that module, whatever folder the import path begins in."""
    stem = module.replace(".", "/")
    names = (f"{stem}.py", f"{stem}/__init__.py")
    return sorted(path for path in files if path.endswith(names) and f"/{path}".endswith(tuple(f"/{n}" for n in names)))


def _modules_in(package: str, files: frozenset[str]) -> list[str]:
    folder = "/" + package.replace(".", "/") + "/" if package else "/"
    names = set()
    for path in files:
        head, found, rest = f"/{path}".rpartition(folder)
        if (
            found
            and rest.endswith(".py")
            and rest.count("/") <= rest.endswith("/__init__.py")
            and (package or not head)
        ):
            names.add(rest.removesuffix("/__init__.py").removesuffix(".py"))
    return sorted(names - {"__init__"})


def _defined(path: str, read: Read) -> Iterator[str]:
    """Yield the names that a module binds at its top."""
    source = read(path)
    if source is None:
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            body = ast.parse(source).body
        except (SyntaxError, ValueError):
            return
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.Import | ast.ImportFrom):
            yield from (alias.asname or alias.name for alias in node.names)
        else:
            yield from (n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store))
