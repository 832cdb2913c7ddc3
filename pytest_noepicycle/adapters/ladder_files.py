"""Ladders in files: read one by name or by path, and say on which line it is wrong."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_noepicycle.domain.ladder import KINDS, Ladder
from pytest_noepicycle.errors import LadderError

if TYPE_CHECKING:
    import yaml

_LARGEST = 1024 * 1024
_PACKAGE = Path(__file__).parents[1]
# In a wheel the folder lies in the package; in a checkout it lies at the top, for people to read.
_FOLDERS = (_PACKAGE / "shipped_ladders", _PACKAGE.parent / "ladders")


def shipped() -> tuple[str, ...]:
    """Return the names of the ladders that come with the package, ``default`` first."""
    names = (path.stem for path in _folder().glob("*.yaml"))
    return tuple(sorted(names, key=lambda name: (name != "default", name)))


def load(name_or_path: str, *, kinds: Collection[str] = KINDS) -> Ladder:
    """Return a shipped ladder by its name, or read a YAML file by its path; ``kinds`` are those that a rung may have.

    :raises LadderError: with the file, the line and the key that is wrong, or with the names there are.
    """
    names = shipped()
    if name_or_path in names:
        return _read(_folder() / f"{name_or_path}.yaml", name_or_path)
    path = Path(name_or_path).expanduser()
    if path.is_file():
        return _read(path, path.stem, kinds)
    raise LadderError(_no_such(name_or_path, names))


def parse(text: str, *, source: str, name: str, kinds: Collection[str] = KINDS) -> Ladder:
    """Read a ladder from YAML; ``source`` is what error messages call the file.

    :raises LadderError: as :func:`load` does.
    """
    import yaml

    loader = yaml.SafeLoader(text)
    try:
        root = loader.get_single_node()
        if root is None:
            raise LadderError(f"{source}:1: the file is empty; a ladder has at least one rung")
        lines = _lines(root, source)
        data = loader.construct_document(root)
    except yaml.YAMLError as error:
        raise LadderError(_syntax(error, source)) from error
    finally:
        loader.dispose()
    try:
        return Ladder.from_mapping(data, name=name, kinds=kinds)
    except LadderError as error:
        raise LadderError(f"{source}:{_line_of(str(error), lines)}: {error}") from error


def _folder() -> Path:
    for folder in _FOLDERS:
        if (folder / "default.yaml").is_file():
            return folder
    raise LadderError(
        f"the ladders that belong to the package are missing: {_FOLDERS[0]}",
        hint="The installation is incomplete; install pytest-noepicycle again.",
    )


def _read(path: Path, name: str, kinds: Collection[str] = KINDS) -> Ladder:
    try:
        text = path.read_bytes()[:_LARGEST].decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise LadderError(f"{path}: the file cannot be read as UTF-8 text: {error}") from error
    return parse(text, source=path.name if path.parent == _folder() else str(path), name=name, kinds=kinds)


def _no_such(wanted: str, names: tuple[str, ...]) -> str:
    near = difflib.get_close_matches(Path(wanted).stem, names, n=1)
    guess = f"; did you mean {near[0]!r}?" if near else ""
    kind = "file" if wanted.endswith((".yaml", ".yml")) else "ladder or file"
    return f"there is no {kind} {wanted!r}{guess} Shipped ladders: {', '.join(names)}."


def _lines(root: yaml.Node, source: str) -> dict[str, int]:
    """Map each key, written as a path with dots, to its line."""
    lines: dict[str, int] = {}
    for path, line in _keys(root, "", set()):
        if path in lines:
            raise LadderError(f"{source}:{line}: {path}: this key is given twice, first in line {lines[path]}")
        lines[path] = line
    return lines


def _keys(node: yaml.Node, prefix: str, seen: set[int]) -> Iterator[tuple[str, int]]:
    """Walk the keys of a document, each mapping once: an alias may lead back to where it came from."""
    import yaml

    if not isinstance(node, yaml.MappingNode) or id(node) in seen:
        return
    seen.add(id(node))
    for key, value in node.value:
        path = f"{prefix}{key.value}"
        yield path, key.start_mark.line + 1
        yield from _keys(value, path + ".", seen)


def _line_of(message: str, lines: dict[str, int]) -> int:
    """Return the line of the key that a message begins with, else of the nearest one that holds it."""
    path = message.partition(": ")[0].rstrip(".")
    while path not in lines and "." in path:
        path = path.rpartition(".")[0]
    return lines.get(path, 1)


def _syntax(error: Exception, source: str) -> str:
    mark, problem = getattr(error, "problem_mark", None), getattr(error, "problem", None)
    where = f"{source}:{mark.line + 1}" if mark is not None else source
    return f"{where}: this is not valid YAML: {problem or error}"
