"""A failure as data: what was raised, what it said, and through which lines it came."""

from __future__ import annotations

import os
import traceback
from typing import Any, Dict, List, Optional

import _pytest
import pluggy
import pytest

from .values import values_of

_MESSAGE_BYTES = 4096
_TEXT_BYTES = 8192
_FRAMES = 40
_OUTER_FRAMES = 10
_TRACED = 5
_MACHINERY = tuple(
    os.path.dirname(os.path.abspath(module)) + os.sep for module in (_pytest.__file__, pluggy.__file__, __file__)
)


def failure_of(excinfo: Any, text: str, root: str, with_values: bool = False) -> Dict[str, Any]:
    """Return a failure's record; without an exception, the report's text says all there is.

    ``with_values`` adds what the local variables of the innermost frames in the tree held.
    """
    text = text[-_TEXT_BYTES:]
    if excinfo is None:
        return {"exception": "", "message": text[:_MESSAGE_BYTES], "frames": [], "text": text}
    error = excinfo.value
    if isinstance(error, pytest.Collector.CollectError) and error.__cause__ is not None:
        error = error.__cause__  # pytest wraps what a module raised while it was imported
    return {
        "exception": type(error).__name__,
        "message": (_message(error) or text)[:_MESSAGE_BYTES],
        "frames": _frames(error, root, _TRACED if with_values else 0),
        "text": text,
    }


def _message(error: BaseException) -> str:
    try:
        return str(error)
    except Exception as second:  # noqa: BLE001 - it is the project's own method
        return f"<the message cannot be shown: {type(second).__name__}>"


def _frames(error: BaseException, root: str, traced: int) -> List[List[Any]]:
    """Return path, line and function of each step outside the machinery, the outermost first.

    The last ``traced`` of those in the tree have their local variables as a fourth part.
    """
    found: List[List[Any]] = []
    inside = []
    for frame, line in traceback.walk_tb(error.__traceback__):
        path = _path(frame.f_code.co_filename, root)
        if path is not None:
            found.append([path, line, frame.f_code.co_name])
            if not os.path.isabs(path) and frame.f_code.co_name != "<module>":
                inside.append((found[-1], frame))
    for told, frame in inside[-traced:] if traced else ():
        told.append(values_of(dict(frame.f_locals)))
    if isinstance(error, SyntaxError) and error.filename:
        path = _path(error.filename, root)
        if path is not None:
            found.append([path, error.lineno or 1, "<module>"])
    return found if len(found) <= _FRAMES else found[:_OUTER_FRAMES] + found[_OUTER_FRAMES - _FRAMES :]


def _path(filename: str, root: str) -> Optional[str]:
    """Return a path as records give it, or None for pytest's own code and for code that is in no file."""
    if filename.startswith("<"):
        return None
    path = os.path.abspath(filename)
    if path.startswith(_MACHINERY):
        return None
    inside = root + os.sep
    return path[len(inside) :].replace(os.sep, "/") if path.startswith(inside) else path
