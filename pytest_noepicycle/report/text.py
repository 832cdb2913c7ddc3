"""Foreign text made harmless before it is shown: no control characters, commands, secrets or endless lines."""

from __future__ import annotations

import re
import textwrap

from pytest_noepicycle.domain.redaction import redacted

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060\u2066-\u2069\ufeff]")


def harmless(text: str, *, longest: int = 2000) -> str:
    """Return the text with control and bidirectional characters shown as ``\\xNN``, cut at ``longest`` characters.

    Lines that a CI service would take for commands of its own (``::error::``) lose that form, and what has the form
    of a secret is left out.
    """
    shown = _CONTROL.sub(lambda found: f"\\x{ord(found[0]):02x}", redacted(text).replace("\r\n", "\n"))
    shown = re.sub(r"^(\s*)(::|##\[)", "\\1\u200b\\2", shown, flags=re.MULTILINE)
    return shown if len(shown) <= longest else f"{shown[:longest]}… ({len(shown) - longest} characters more)"


def fenced(text: str, language: str = "") -> str:
    """Return a Markdown block whose fence is longer than any run of backticks inside."""
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{text.rstrip()}\n{fence}"


def wrapped(text: str, width: int, *, indent: str = "", hang: str = "  ") -> list[str]:
    """Return the text in lines of less than ``width``; words are not broken, so that a path stays one.

    ``indent`` stands before the first line of a paragraph, and with ``hang`` before those that follow.
    """
    fold = textwrap.TextWrapper(
        max(width, 40) - 1,
        initial_indent=indent,
        subsequent_indent=indent + hang,
        break_long_words=False,
        break_on_hyphens=False,
    )
    return [line for paragraph in text.split("\n") for line in fold.wrap(paragraph)]
