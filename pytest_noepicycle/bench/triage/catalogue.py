"""The catalogue: specimens as text, so that they read as the files that they become.

A specimen begins with ``=== name: kind`` and, where that is not ``test_it``, ``| the tests that fail`` (``*`` for the
whole file). Its product follows, then ``---`` and its tests, then other files under ``--- path``. ``+++ path`` begins
a file of the whole project.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib.resources import files

from pytest_noepicycle.bench.triage.specimen import Kind, Specimen

_MARK = re.compile(r"^(===|---|\+\+\+)[ ]?(.*)$", re.MULTILINE)


def read(name: str) -> tuple[tuple[Specimen, ...], dict[str, str]]:
    """Return the specimens of one chapter, and the files of the project that they share."""
    text = files("pytest_noepicycle.bench.triage").joinpath("cases", f"{name}.txt").read_text("utf-8")
    return parse(text)


def parse(text: str) -> tuple[tuple[Specimen, ...], dict[str, str]]:
    """Return what a chapter holds.

    :raises ValueError: where a kind is not known.
    """
    shared: dict[str, str] = {}
    heads: list[str] = []
    parts: list[dict[str, str]] = []
    for mark, title, body in _pieces(text):
        if mark == "===":
            heads.append(title)
            parts.append({"product": body})
        elif mark == "---":
            parts[-1][title or "tests"] = body
        else:
            shared[title] = body
    return tuple(_specimen(head, part) for head, part in zip(heads, parts, strict=True)), shared


def _pieces(text: str) -> Iterator[tuple[str, str, str]]:
    marks = list(_MARK.finditer(text))
    ends = [mark.start() for mark in marks[1:]] + [len(text)]
    for mark, end in zip(marks, ends, strict=True):
        yield mark[1], mark[2].strip(), text[mark.end() + 1 : end]


def _specimen(head: str, part: dict[str, str]) -> Specimen:
    name, _, rest = head.partition(": ")
    kind, _, failing = rest.partition(" | ")
    tests = tuple("" if test == "*" else test for test in failing.split()) or ("test_it",)
    return Specimen(name, Kind(kind), part.pop("product"), part.pop("tests"), tests, part)
