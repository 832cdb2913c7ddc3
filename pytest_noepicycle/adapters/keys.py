"""Where API keys come from: the environment, else the project's ``.env`` file. They stay in this process."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path

_LINE = re.compile(r"\s*(?:export\s+)?([A-Za-z_][A-Za-z0-9_]*)\s*=\s*(.*?)\s*$")
_LARGEST = 256 * 1024


def api_key(name: str, root: str | Path, environ: Mapping[str, str] | None = None) -> str | None:
    """Return the key that a rung names, or None where it is set nowhere.

    An empty ``name`` means a server that asks for no key, and gives an empty key. ``root`` is the project's folder;
    ``environ`` stands for the process environment.
    """
    if not name:
        return ""
    value = (os.environ if environ is None else environ).get(name, "").strip()
    return value or dotenv(Path(root) / ".env").get(name, "").strip() or None


def dotenv(path: Path) -> dict[str, str]:
    """Read ``KEY=VALUE`` lines: quotes, ``export`` and comments are understood, nothing is expanded or run."""
    try:
        raw = path.read_bytes()[:_LARGEST]
    except (FileNotFoundError, IsADirectoryError, NotADirectoryError, PermissionError):
        return {}
    found = (_LINE.match(line) for line in raw.decode("utf-8-sig", "replace").splitlines())
    return {match.group(1): _value(match.group(2)) for match in found if match is not None}


def _value(text: str) -> str:
    quote = text[:1]
    if quote in ("'", '"'):
        return text[1:].partition(quote)[0]
    return re.split(r"\s+#", text, maxsplit=1)[0].strip() if not text.startswith("#") else ""
