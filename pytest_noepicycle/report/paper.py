"""Where text goes: pytest's own terminal writer, or any stream in its place."""

from __future__ import annotations

import shutil
import sys
from typing import Protocol, TextIO


class Paper(Protocol):
    """Where text goes: pytest's own terminal writer has this form."""

    hasmarkup: bool

    @property
    def fullwidth(self) -> int:
        """The width in columns."""
        ...

    def write(self, msg: str, *, flush: bool = False, **markup: bool) -> None:
        """Write text, with markup by name (red, green, yellow, bold ...)."""
        ...

    def line(self, s: str = "", **markup: bool) -> None:
        """Write one line."""
        ...

    def sep(self, sepchar: str, title: str | None = None, fullwidth: int | None = None, **markup: bool) -> None:
        """Write a line of ``sepchar`` with a title."""
        ...


_CODES = {"red": 31, "green": 32, "yellow": 33, "purple": 35, "bold": 1}


class PlainPaper:
    """A paper over a stream, for the command line; colours where it is a terminal."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = stream if stream is not None else sys.stdout
        self.hasmarkup = self._stream.isatty()

    @property
    def fullwidth(self) -> int:
        """Return the terminal's width."""
        return shutil.get_terminal_size((80, 24)).columns

    def write(self, msg: str, *, flush: bool = False, **markup: bool) -> None:
        """Write text; what the stream's encoding cannot say is replaced."""
        codes = [str(_CODES[name]) for name, on in markup.items() if on and name in _CODES]
        text = f"\x1b[{';'.join(codes)}m{msg}\x1b[0m" if codes and self.hasmarkup else msg
        encoding = self._stream.encoding or "utf-8"
        self._stream.write(text.encode(encoding, "replace").decode(encoding))
        if flush:
            self._stream.flush()

    def line(self, s: str = "", **markup: bool) -> None:
        """Write one line."""
        self.write(s, **markup)
        self.write("\n", flush=True)

    def sep(self, sepchar: str, title: str | None = None, fullwidth: int | None = None, **markup: bool) -> None:
        """Write a title between two runs of ``sepchar``."""
        width = fullwidth or self.fullwidth
        self.line(f" {title} ".center(width - 1, sepchar) if title else sepchar * (width - 1), **markup)
