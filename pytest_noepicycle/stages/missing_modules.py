"""A module that is not there: one to install, or one that the project itself lacks or names wrongly."""

from __future__ import annotations

import difflib
import re
import tomllib
from collections.abc import Callable, Iterable, Iterator
from pathlib import PurePosixPath
from typing import Any

_NO_MODULE = re.compile(r"No module named '([\w.]+)'")
_REQUIREMENTS = re.compile(r"^([\w-]+/)?[\w.-]*require[\w./-]*\.(txt|in)$")
_NAME = re.compile(r"[A-Za-z0-9][\w.-]*")
_CLOSE = 0.8


def hint(
    message: str,
    line: str,
    modules: frozenset[str],
    files: frozenset[str],
    text: Callable[[str], str],
    *,
    asked_by_test: bool,
) -> str | None:
    """Return what to do about a missing module, or None where a patch may bring it or name it rightly.

    ``line`` is the source that asked for it, ``modules`` are names that import, ``text`` reads one of ``files``.
    """
    missing = _NO_MODULE.search(message)
    if missing is None:
        return None
    name, _, inner = missing[1].partition(".")
    declared = _declared(name, files, text)
    if declared:
        return (
            f"the module {name!r} is not installed here, though {declared} asks for it: install what the project needs"
        )
    if inner and name in modules:
        return None  # a part of a package that is there: for a patch to bring, or to name rightly
    if line and name not in line:
        return None  # the code made the name up while it ran
    if name not in modules and _is_ours(name, line, files, text):
        return None
    if not asked_by_test and (name in modules or difflib.get_close_matches(name, modules, 1, _CLOSE)):
        return None  # a slip of the code
    if name in modules:
        return f"{name!r} lies in the project and cannot be imported: install it (pip install -e .) or set pythonpath"
    return f"the module {name!r} is not installed in this environment: install it, or name what is meant"


def _is_ours(name: str, line: str, files: frozenset[str], text: Callable[[str], str]) -> bool:
    """Whether a module is to be written here, or was moved.

    The project is named so, tests are named for it or a part of it, or another module makes what it is asked for.
    """
    if _plain(name) == _plain(str(_project(text("pyproject.toml")).get("name", ""))):
        return True
    dotted = re.search(rf"\b{re.escape(name)}(\.\w+)*", line)
    parts = dotted[0].split(".") if dotted else [name]
    wanted = {form.format(part) for part in parts for form in ("test_{}", "{}_test", "tests_{}")}
    modules = [path for path in files if path.endswith(".py")]
    return any(PurePosixPath(path).stem in wanted for path in modules) or _moved(line, modules, text)


def _moved(line: str, modules: Iterable[str], text: Callable[[str], str]) -> bool:
    """Whether all that is imported by name is made in some other module of the project."""
    found = re.fullmatch(r"from [\w.]+ import \(?([\w, ]+)\)?", line)
    names = [name.split()[0] for name in found[1].split(",") if name.strip()] if found else []
    made = [re.compile(rf"(?m)^(?:async def|def|class) {name}\b|^{name}\b *[:=]") for name in names]
    return bool(made) and any(all(one.search(source) for one in made) for source in map(text, modules))


def _declared(name: str, files: frozenset[str], text: Callable[[str], str]) -> str | None:
    """Return the file in which the project says that it needs a distribution of that name."""
    wanted = _plain(name)
    places = (path for path in sorted(files) if path == "pyproject.toml" or _REQUIREMENTS.search(path))
    return next((path for path in places if wanted in map(_plain, _needed(path, text(path)))), None)


def _needed(path: str, text: str) -> Iterator[str]:
    """Yield the names of the distributions that a file asks for; none of one that cannot be read."""
    lines = text.splitlines() if path != "pyproject.toml" else _of_project(text)
    yield from (found[0] for line in lines if (found := _NAME.match(line.strip())))


def _of_project(text: str) -> list[str]:
    own = _project(text)
    groups = [own.get("dependencies", []), *own.get("optional-dependencies", {}).values()]
    return [entry for group in groups for entry in group if isinstance(entry, str)] + list(own.get("poetry", ()))


def _project(text: str) -> dict[str, Any]:
    """Return the project's own table; Poetry's where there is no other, with what it depends on as ``poetry``."""
    try:
        read = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return {}
    old: dict[str, Any] = read.get("tool", {}).get("poetry", {})
    groups = {**read.get("project", {}).get("optional-dependencies", {}), **read.get("dependency-groups", {})}
    own = {"name": old.get("name", ""), **read.get("project", {}), "optional-dependencies": groups}
    return {**own, "poetry": old.get("dependencies", {})}


def _plain(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()
