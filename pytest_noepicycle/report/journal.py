"""The record of a run as it happens: one JSON event a line, flushed, so that a crash loses nothing."""

from __future__ import annotations

import contextlib
import json
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pytest_noepicycle.domain.redaction import redacted
from pytest_noepicycle.errors import RecordError

VERSION = 1
LONGEST = 64 * 1024  # characters of one text value; what is longer is cut in the middle, and says so


class JournalFile:
    """Appends events to ``decisions.jsonl``. Values are JSON; long texts are cut, secrets are taken out.

    ``secrets`` are values that must not be written down, whatever their form. A journal that is there already is
    gone on with, in its numbers and its time; what a crash cut short at its end is taken off.

    :raises RecordError: here and at each event, where the file cannot be written; a run without its record ends.
    """

    def __init__(self, path: Path, secrets: tuple[str, ...] = ()) -> None:
        self._secrets, self._path = secrets, path
        try:
            before = _whole(path)
            self._file = path.open("a", encoding="utf-8", errors="backslashreplace")
        except OSError as error:
            raise _unwritten(path, error) from error
        self._lock = threading.Lock()
        self._sequence = len(before)
        self._began = time.monotonic() - max((float(event["t"]) for event in before), default=0.0)

    def write(self, event: str, **fields: Any) -> None:
        """Append one event with its number and the seconds since the run began."""
        with self._lock:
            self._sequence += 1
            head = {"v": VERSION, "seq": self._sequence, "t": round(time.monotonic() - self._began, 3), "event": event}
            whole = event == "call_settled"  # an answer that was paid for is kept to its last word
            line = json.dumps({**head, **kept(fields, self._secrets, whole=whole)}, ensure_ascii=False)
            try:
                self._file.write(line + "\n")
                self._file.flush()
            except OSError as error:
                raise _unwritten(self._path, error) from error

    def close(self) -> None:
        """Close the file."""
        with contextlib.suppress(OSError):  # every event was flushed; what is left was told of when it failed
            self._file.close()


def kept(value: Any, secrets: tuple[str, ...], *, whole: bool = False) -> Any:
    """Return what the journal keeps of a value: without secrets, and long texts cut unless they are kept ``whole``."""
    if isinstance(value, str):
        return redacted(value if whole else _cut(value), secrets)
    if isinstance(value, dict):
        return {str(key): kept(item, secrets, whole=whole) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [kept(item, secrets, whole=whole) for item in value]
    return value


def read(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the events of a journal; a last line that a crash cut short is left out.

    :raises RecordError: where another line is damaged, or was written by a newer version; or there is no such file.
    """
    try:
        with path.open("rb") as lines:
            for number, line in enumerate(lines, 1):
                if line.endswith(b"\n"):
                    yield _event(line, f"{path}:{number}")
    except FileNotFoundError:
        raise RecordError(f"{path.parent} holds no record of a run: there is no {path.name}") from None
    except OSError as error:
        raise RecordError(f"{path} cannot be read: {error.strerror or error}") from error


def _event(line: bytes, where: str) -> dict[str, Any]:
    try:
        event = json.loads(line)
    except ValueError as error:
        raise RecordError(f"{where}: the line is damaged: {error}", hint=_DAMAGED) from error
    if not isinstance(event, dict) or not isinstance(event.get("event"), str):
        raise RecordError(f"{where}: the line is no event", hint=_DAMAGED)
    if event.get("v", VERSION) != VERSION:
        raise RecordError(
            f"{where}: the event has version {event['v']}, this noepi reads version {VERSION}",
            hint="Read the record with the version of pytest-noepicycle that wrote it.",
        )
    return event


_DAMAGED = "Something other than noepi has changed the file; result.json and best.patch do not depend on it."


def _unwritten(path: Path, error: OSError) -> RecordError:
    hint = "See that the disk is not full and that the folder is yours; another one is named with --noepi-dir."
    return RecordError(f"{path} cannot be written: {error.strerror or error}", hint=hint)


def _whole(path: Path) -> list[dict[str, Any]]:
    """Return the events of a journal that is there already, and cut off what is not one."""
    if not path.exists():
        return []
    content = path.read_bytes()
    whole = content[: content.rfind(b"\n") + 1]
    if whole != content:
        path.write_bytes(whole)
    return list(read(path))


def _cut(text: str) -> str:
    if len(text) <= LONGEST:
        return text
    half = LONGEST // 2
    return f"{text[:half]}… {len(text) - LONGEST} characters left out …{text[-half:]}"
