"""A function run in a child process of its own, which is ended when it takes too long."""

from __future__ import annotations

import contextlib
import os
import pickle
import resource
import select
import signal
import sys
import time
import warnings
from collections.abc import Callable
from typing import Any

_MEMORY = 1024**3


def in_child(function: Callable[[], object], seconds: float) -> Any:
    """Return what a function returns in a forked child, or None where that dies or takes longer than ``seconds``."""
    reader, writer = os.pipe()
    with warnings.catch_warnings():
        # Newer interpreters warn of threads that the child would lack; what it runs needs none of them.
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:
        os.close(reader)
        _answer(function, writer, seconds)
    os.close(writer)
    try:
        return _loaded(_read(reader, time.monotonic() + seconds))
    finally:
        os.close(reader)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


def _answer(function: Callable[[], object], writer: int, seconds: float) -> None:
    """Write the result and end at once, so that nothing of the parent's is flushed or closed twice."""
    try:
        resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
        resource.setrlimit(resource.RLIMIT_CPU, (int(seconds) + 1, int(seconds) + 1))
        silent = os.open(os.devnull, os.O_WRONLY)
        os.dup2(silent, sys.__stdout__.fileno() if sys.__stdout__ else 1)
        os.dup2(silent, sys.__stderr__.fileno() if sys.__stderr__ else 2)
        with os.fdopen(writer, "wb") as pipe:
            pickle.dump(function(), pipe)
    finally:
        os._exit(0)


def _read(reader: int, until: float) -> bytes:
    chunks: list[bytes] = []
    while (left := until - time.monotonic()) > 0 and select.select([reader], [], [], left)[0]:
        chunk = os.read(reader, 1 << 16)
        if not chunk:
            return b"".join(chunks)
        chunks.append(chunk)
    return b""


def _loaded(answer: bytes) -> Any:
    with contextlib.suppress(EOFError, pickle.UnpicklingError):
        return pickle.loads(answer)
    return None
