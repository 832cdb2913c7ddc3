"""The record of a run as it happens: one JSON event a line, flushed, so that a crash loses nothing."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pytest_noepicycle.domain.redaction import redacted

VERSION = 1
LONGEST = 64 * 1024  # characters of one text value; what is longer is cut in the middle, and says so


class JournalFile:
    """Appends events to ``decisions.jsonl``. Values are JSON; long texts are cut, secrets are taken out.

    ``secrets`` are values that must not be written down, whatever their form.
    """

    def __init__(self, path: Path, secrets: tuple[str, ...] = ()) -> None:
        self._secrets = secrets
        self._file = path.open("a", encoding="utf-8", errors="backslashreplace")
        self._lock = threading.Lock()
        self._sequence = 0
        self._began = time.monotonic()

    def write(self, event: str, **fields: Any) -> None:
        """Append one event with its number and the seconds since the run began."""
        with self._lock:
            self._sequence += 1
            head = {"v": VERSION, "seq": self._sequence, "t": round(time.monotonic() - self._began, 3), "event": event}
            self._file.write(json.dumps({**head, **self._clean(fields)}, ensure_ascii=False) + "\n")
            self._file.flush()

    def _clean(self, value: Any) -> Any:
        if isinstance(value, str):
            return redacted(_cut(value), self._secrets)
        if isinstance(value, dict):
            return {str(key): self._clean(item) for key, item in value.items()}
        if isinstance(value, list | tuple):
            return [self._clean(item) for item in value]
        return value

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def read(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the events of a journal; a last line that a crash cut short is left out."""
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            if line.endswith("\n"):
                yield json.loads(line)


def _cut(text: str) -> str:
    if len(text) <= LONGEST:
        return text
    half = LONGEST // 2
    return f"{text[:half]}… {len(text) - LONGEST} characters left out …{text[-half:]}"
