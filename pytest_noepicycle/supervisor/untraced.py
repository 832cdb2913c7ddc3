"""Walks of a graph of which nobody else hears: LangSmith's tracing is off, whatever the environment says."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator

# Variables of an earlier tracer: where they are set and the present one is off, LangChain refuses to run at all.
_OF_THE_FIRST = ("LANGCHAIN_TRACING", "LANGCHAIN_HANDLER")


@contextlib.contextmanager
def untraced() -> Iterator[None]:
    """Switch tracing off; the environment is put back at the end."""
    from langsmith import tracing_context

    before = {name: os.environ.pop(name) for name in _OF_THE_FIRST if name in os.environ}
    try:
        with tracing_context(enabled=False):
            yield
    finally:
        os.environ.update(before)
