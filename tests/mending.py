"""A project with one fault, mended in a story of its own and compared byte by byte."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from story import Story, Told

Content = str | bytes
_NOT_THE_PROJECTS = {".noepi", ".pytest_cache", "__pycache__", ".git", ".coverage"}

TOTAL = "def total(price, count):\n    return price + count\n"
"""A product whose fault every test of :func:`checks_of` shows."""
WRONG, RIGHT = "price + count", "price * count"


@dataclass(frozen=True)
class Project:
    """Files, the one that holds the fault, the slip in it and what it should be, and how pytest is called."""

    files: dict[str, Content]
    fault: str
    wrong: Content = WRONG
    right: Content = RIGHT
    args: tuple[str, ...] = ()
    more: dict[str, Any] = field(default_factory=dict)


def quick_first(projects: Mapping[str, Content | Project | tuple[Any, ...]]) -> list[Any]:
    """Return the cases as parameters: the first is run everywhere, the others in the step of CI that takes long."""
    marks = [(), *[pytest.mark.slow] * (len(projects) - 1)]
    rows = [value if isinstance(value, tuple) else (value,) for value in projects.values()]
    return [pytest.param(*row, id=name, marks=mark) for (name, row, mark) in zip(projects, rows, marks, strict=True)]


def checks_of(module: str) -> str:
    """Return a test file for a module that holds ``total``."""
    asked = "    assert total(3, 5) == 15\n    assert total(7, 2) == 14\n"
    return f"from {module} import total\n\n\ndef test_total():\n{asked}"


def mend(story: Callable[[dict[str, Content]], Story], project: Project, **more: Any) -> Told:
    """Run ``pytest --noepi-fix`` in a project, and check that its fault was mended and nothing else touched."""
    place = story(project.files)
    before = contents(place.project)
    told = place.fix(*project.args, **{**project.more, **more})
    check_mended(told, project, before)
    return told


def check_mended(told: Told, project: Project, before: dict[str, bytes]) -> None:
    """Check that the run ended solved and applied, and that no other byte of the files before it changed."""
    assert (told.project / ".noepi/last").exists(), told.text
    assert told.result["stop_reason"] == "solved", told.text
    assert told.result["verified"], told.text
    assert told.result["applied"], told.text
    fixed = before[project.fault].replace(_bytes(project.wrong), _bytes(project.right))
    assert fixed != before[project.fault]
    now = contents(told.project)
    assert {name: now.get(name) for name in before} == {**before, project.fault: fixed}


def contents(folder: Path) -> dict[str, bytes]:
    """Return the bytes of a project's files by path, without caches and records."""
    own = [path for path in sorted(folder.rglob("*")) if not _NOT_THE_PROJECTS & set(path.parts)]
    return {str(path.relative_to(folder)): path.read_bytes() for path in own if path.is_file()}


def _bytes(text: Content) -> bytes:
    return text if isinstance(text, bytes) else text.encode()
