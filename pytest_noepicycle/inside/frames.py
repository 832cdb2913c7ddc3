"""Frames between the engine and the worker: what is said on the worker's standard input and output.

A frame is ``struct ">II"`` (length of the JSON, length of the blob), the JSON (UTF-8, one object), the blob.

Engine to worker, on standard input::

    {"do": "setup", "root": tree, "rootdir": pytest's, "cwd": folder, "args": [...],
     "testpaths": [where the suite lies, below rootdir], "sys_path": [...], "env": {...},
     "plugins": [distributions whose pytest plugins were active], "uid": n|null, "gid": n|null,
     "limits": {"memory": bytes, "processes": n, "file_size": bytes},
     "keep": [mount points in root, never touched], "tmp": scratch folder of the child,
     "empty": [more folders to empty after each trial], "confine": {...},
     "services": {"folder": where the door lies, "ports": [to listen on]}|null}                   once, and first
    {"do": "tar"} + a chunk of a tar of the tree, repeated; an empty chunk ends it
    {"do": "run", "trial": n, "files": [[path, size | -1 to delete], ...], "ids": [...]|null, "coverage": bool,
     "cold": bool, "deepest": the level from which it may start, "stop_at_first_failure": bool, "brief": bool,
     "shuffled": bool, "seconds": s, "default_test_seconds": s, "test_seconds": {id: s},
     "trace": [paths whose lines count]}
     + the files' bytes, in that order

Worker to engine, on standard output::

    {"say": "ready", "facts": {"python", "pytest", "pid", "warm"}}              after the tree is laid out
    {"say": "proving", "trial": n}                                              at most once: a level is made and
                                                                                compared, in ``PROVING_SECONDS`` more
    {"say": "records", "trial": n, "records": [...]}                            any number
    {"say": "done", "trial": n, "end": "complete|stopped|timeout|died|void", "hung": id|null, "why": text,
     "output": text, "seconds": s, "level": whence it started}                  one for each run
    {"say": "error", "why": text}                                               a request that cannot be served

All keys of ``setup`` but ``root`` may be left out. The end of standard input ends the worker and what it started.
"""

from __future__ import annotations

import json
import struct
from typing import Any, Dict, Tuple

MAX_JSON = 64 * 1024 * 1024
MAX_BLOB = 64 * 1024 * 1024
MAX_RECORD = 1024 * 1024
"""The longest record, a line on the child's pipe, in bytes."""
MAX_RECORDS = 64 * 1024 * 1024
"""The bytes that all records of a trial may have."""
PACKAGE = "_noepi_inside"
"""The name under which this package is laid out."""

_HEAD = struct.Struct(">II")
HEAD_SIZE = _HEAD.size


class BadFrame(Exception):
    """Bytes that are no frame; nothing that follows on that channel can be understood."""


def encode(message: Dict[str, Any], blob: bytes = b"") -> bytes:
    """Return the frame's bytes.

    :raises BadFrame: where it is larger than the other side accepts.
    """
    text = json.dumps(message, separators=(",", ":")).encode("ascii")
    _check(len(text), len(blob))
    return _HEAD.pack(len(text), len(blob)) + text + blob


def sizes(head: bytes) -> Tuple[int, int]:
    """Return the lengths of JSON and blob that a frame's first ``HEAD_SIZE`` bytes announce.

    :raises BadFrame: where they are out of bounds.
    """
    text, blob = _HEAD.unpack(head)
    _check(text, blob)
    return text, blob


def decode(text: bytes) -> Dict[str, Any]:
    """Return a frame's JSON object.

    :raises BadFrame: where it is not one.
    """
    try:
        message = json.loads(text.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise BadFrame(f"a frame that is no JSON: {error}") from error
    if not isinstance(message, dict):
        raise BadFrame("a frame that is no JSON object")
    return message


def _check(text: int, blob: int) -> None:
    if text > MAX_JSON or blob > MAX_BLOB:
        raise BadFrame(f"a frame of {text} + {blob} bytes, over the limit of {MAX_JSON} + {MAX_BLOB}")
