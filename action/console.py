"""What a step says to the runner: commands, groups, outputs, the summary. Standard library, syntax of Python 3.9."""

from __future__ import annotations

import contextlib
import os
import secrets
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

SUMMARY_BYTES = 1024 * 1024 - 4096
"""What a step may write into the job summary, with room for its end; the runner drops a longer one altogether."""


def command(name: str, message: str, **properties: object) -> None:
    """Give the runner a command, such as ``notice``; properties and message are escaped as it wants them."""
    given = ",".join(f"{key}={_property(value)}" for key, value in properties.items() if value not in (None, ""))
    _line(f"::{name}{' ' + given if given else ''}::{_data(message)}")


@contextlib.contextmanager
def group(title: str) -> Iterator[None]:
    """Fold what is printed in the block under a title."""
    command("group", title)
    try:
        yield
    finally:
        command("endgroup", "")


@contextlib.contextmanager
def unheard() -> Iterator[None]:
    """Let the runner take nothing that is printed in the block for a command, whoever prints it."""
    word = secrets.token_hex(24)
    command("stop-commands", word)
    try:
        yield
    finally:
        _line(f"\n::{word}::")


def output(**values: object) -> None:
    """Set outputs of the step; ``True`` and ``False`` are ``true`` and ``false``, None is empty."""
    _append("GITHUB_OUTPUT", "".join(_entry(name.replace("_", "-"), _text(value)) for name, value in values.items()))


def summarise(markdown: str) -> None:
    """Add to the job summary, cut to what the runner takes."""
    raw = markdown.encode("utf-8", "replace")
    if len(raw) > SUMMARY_BYTES:
        whole_lines = raw[:SUMMARY_BYTES].rpartition(b"\n")[0].decode("utf-8", "ignore")
        fence = "\n```" if whole_lines.count("\n```") % 2 else ""
        markdown = f"{whole_lines}{fence}\n\n_The rest was left out: it is in the artifact._\n"
    _append("GITHUB_STEP_SUMMARY", markdown + "\n")


def setting(name: str, environ: Mapping[str, str] | None = None) -> str:
    """Return an input of the Action by its name, without white space around it."""
    values = os.environ if environ is None else environ
    return values.get("NOEPI_INPUT_" + name.upper().replace("-", "_"), "").strip()


def _line(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def _entry(name: str, value: str) -> str:
    """Return a value between delimiters that nobody can foresee."""
    end = f"noepi_{secrets.token_hex(16)}"
    return f"{name}<<{end}\n{value}\n{end}\n"


def _text(value: object) -> str:
    if value is None:
        return ""
    return str(value).lower() if isinstance(value, bool) else str(value)


def _append(variable: str, text: str) -> None:
    path = os.environ.get(variable)
    if path:
        with Path(path).open("a", encoding="utf-8", errors="backslashreplace") as file:
            file.write(text)


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(value: object) -> str:
    return _data(str(value)).replace(":", "%3A").replace(",", "%2C")
