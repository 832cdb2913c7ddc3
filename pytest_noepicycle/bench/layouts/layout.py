"""A layout: a small project of one shape, with a fault of one line in its product."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

WRONG, RIGHT = "price + count", "price * count"

SHOP = f"""# Preise für alles, in £
def total(price, count):
    return {WRONG}


def label(name):
    return name.strip().title()
"""
"""A product: what :func:`tests_of` asks of it fails in the first function alone."""


@dataclass(frozen=True, slots=True)
class Layout:
    """A project's files and how it is tested.

    ``fault`` is the file that holds ``wrong`` where ``right`` should stand. ``args`` go to every pytest call (in
    them ``{link}`` is a symbolic link to the project), ``plain`` only to the ordinary run that outcomes are compared
    with. ``plugins`` are the installed ones that are active. ``install`` is how the product gets into the
    environment: not at all, ``editable``, or as a ``wheel``. ``ends`` is the stop reason that is right, ``says`` a part
    of what is then said. ``least`` is the oldest pytest that can run it.
    """

    name: str
    files: Mapping[str, str]
    fault: str
    wrong: str = WRONG
    right: str = RIGHT
    args: tuple[str, ...] = ()
    plain: tuple[str, ...] = ()
    plugins: tuple[str, ...] = ()
    install: str = ""
    cwd: str = "."
    ends: str = "solved"
    says: str = ""
    least: int = 8

    def lay_out(self, folder: Path) -> dict[str, bytes]:
        """Write the project into a folder; return its files' bytes by path."""
        contents = {path: textwrap.dedent(text).lstrip("\n").encode() for path, text in self.files.items()}
        for path, content in contents.items():
            target = folder / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content)
        return contents

    def mended(self, contents: Mapping[str, bytes]) -> dict[str, bytes]:
        """Return the files as they should be in the end."""
        source = contents[self.fault]
        if source.count(self.wrong.encode()) != 1:
            raise ValueError(f"{self.name}: {self.wrong!r} does not stand once in {self.fault}")
        return {**contents, self.fault: source.replace(self.wrong.encode(), self.right.encode())}


def tests_of(module: str) -> str:
    """Return a test file for a module like :data:`SHOP`, with a test of each ordinary outcome."""
    return f"""import pytest
from {module} import label, total


def test_total():
    assert total(3, 5) == 15
    assert total(7, 2) == 14


def test_label():
    assert label(" ada ") == "Ada"


@pytest.mark.skip(reason="not here")
def test_elsewhere():
    raise ValueError


@pytest.mark.xfail(reason="a wish")
def test_wish():
    assert label("a b") == "a b"
"""
