"""A streamed answer of the Messages API as it arrives, and the watch that ends one that takes too long."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import Any

from pytest_noepicycle.domain.budget import Usage
from pytest_noepicycle.ports import Answer

_COUNTS = {
    "input": "input_tokens",
    "output": "output_tokens",
    "cache_read": "cache_read_input_tokens",
    "cache_write": "cache_creation_input_tokens",
}
_UNFINISHED = frozenset({"max_tokens", "model_context_window_exceeded", "refusal"})


class BrokenOff(ConnectionError):
    """The stream ended before the answer did."""


class Reply:
    """An answer as it arrives, event by event; ``begun`` says that the model has been at work."""

    def __init__(self, tool_name: str, others: frozenset[str] = frozenset()) -> None:
        self._tools, self._converses = {tool_name} | others, bool(others)
        self._blocks: dict[int, dict[str, Any]] = {}
        self._written: dict[int, str] = {}
        self._usage: dict[str, Any] = {}
        self._about: dict[str, Any] = {}
        self._end: str | None = None
        self.begun = False

    def add(self, event: Mapping[str, Any]) -> None:
        """Take in one event; kinds that are not known are passed over, as the API asks of its readers."""
        kind = event.get("type")
        if kind == "message_start":
            self._start(event.get("message") or {})
        elif kind == "content_block_start":
            self._blocks[event["index"]] = dict(event["content_block"])
        elif kind == "content_block_delta":
            delta, index = event["delta"], event["index"]
            written = delta.get("text") or delta.get("partial_json") or delta.get("thinking") or ""
            self._written[index] = self._written.get(index, "") + written
            if "signature" in delta:
                self._blocks[index]["signature"] = delta["signature"]
        elif kind == "message_delta":
            self._finish(event)

    def answer(self) -> Answer:
        """Return what arrived; only an answer that the model finished carries data.

        :raises BrokenOff: where the end is missing.
        :raises ValueError: where it does not say what it used.
        """
        if self._end is None:
            raise BrokenOff("the answer broke off")
        call = None if self._end in _UNFINISHED else self._call()
        data = self._input(call) if call is not None else None
        about = {**self._about, "usage": self._usage}
        answer = Answer(data, self._text(), self._end, _usage(self._usage), about)
        if call is None or not self._converses:
            return answer
        block = self._blocks[call]
        return replace(answer, tool=str(block["name"]), call=str(block.get("id", "")), said=self._said())

    def _start(self, message: Mapping[str, Any]) -> None:
        self.begun = True
        self._usage |= _given(message.get("usage"))
        self._about |= {key: message[key] for key in ("id", "model") if key in message}

    def _finish(self, event: Mapping[str, Any]) -> None:
        delta = event.get("delta") or {}
        self._end = delta.get("stop_reason") or self._end
        self._about |= _given({"stop_details": delta.get("stop_details")})
        # These counts are totals so far: they take the place of the earlier ones, where they are given.
        self._usage |= _given(event.get("usage"))

    def _text(self) -> str:
        texts = [(index, block) for index, block in sorted(self._blocks.items()) if block.get("type") == "text"]
        return "".join(block.get("text", "") + self._written.get(index, "") for index, block in texts)

    def _call(self) -> int | None:
        """Return which block calls one of the tools."""
        calls = (
            index
            for index, block in sorted(self._blocks.items())
            if block.get("type") == "tool_use" and block.get("name") in self._tools
        )
        return next(calls, None)

    def _input(self, index: int) -> Mapping[str, Any] | None:
        written = self._written.get(index)
        return _object(written) if written else self._blocks[index].get("input")

    def _said(self) -> tuple[Mapping[str, Any], ...]:
        """Return the blocks as they are sent back: with all that was written, and thoughts with their signature."""
        return tuple(self._whole(index, block) for index, block in sorted(self._blocks.items()))

    def _whole(self, index: int, block: Mapping[str, Any]) -> Mapping[str, Any]:
        kind, written = block.get("type"), self._written.get(index, "")
        if kind == "tool_use":
            return {**block, "input": self._input(index) or {}}
        if kind in ("text", "thinking"):
            return {**block, kind: block.get(kind, "") + written}
        return block


class Watch:
    """Ends a stream after so many seconds: the HTTP library bounds each read, and never the whole."""

    def __init__(self, seconds: float) -> None:
        self._until = time.monotonic() + seconds
        self.expired = False

    @contextmanager
    def over(self, response: Any) -> Iterator[None]:
        """Watch one response; when the time is over, its connection is shut and the reader sees the end."""
        wire = response.extensions.get("network_stream")
        sock = wire.get_extra_info("socket") if wire is not None else None
        timer = threading.Timer(max(0.0, self._until - time.monotonic()), self._shut, (sock,))
        timer.daemon = True
        timer.start()
        try:
            yield
        finally:
            timer.cancel()
            timer.join()

    def _shut(self, sock: socket.socket | None) -> None:
        self.expired = True
        if sock is not None:
            with suppress(OSError):  # it was gone already
                sock.shutdown(socket.SHUT_RDWR)


def _object(written: str) -> Mapping[str, Any] | None:
    """Return the JSON object that was written, or None: what is malformed counts as no tool call."""
    try:
        found = json.loads(written)
    except ValueError:
        return None
    return found if isinstance(found, dict) else None


def _given(values: Mapping[str, Any] | None) -> dict[str, Any]:
    return {key: value for key, value in (values or {}).items() if value is not None}


def _usage(raw: Mapping[str, Any]) -> Usage:
    counts = {ours: raw.get(theirs, 0) for ours, theirs in _COUNTS.items()}
    whole = all(isinstance(n, int) and not isinstance(n, bool) and n >= 0 for n in counts.values())
    if not whole or "input_tokens" not in raw or "output_tokens" not in raw:
        raise ValueError(f"the answer does not say what it used: {dict(raw)!r}")
    return Usage(**counts)
