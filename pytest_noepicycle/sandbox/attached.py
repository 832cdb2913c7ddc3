"""A channel over the socket of an attached container, whose two output streams come interleaved."""

from __future__ import annotations

import socket
import struct
import time
from collections.abc import Callable
from typing import Any

from pytest_noepicycle.sandbox.wire import ChannelClosed

_HEAD = struct.Struct(">BxxxL")
_STDOUT = 1
_TAIL = 4096
_CHUNK = 256 * 1024


class AttachedChannel:
    """Bytes to and from a container's first process; ``remove`` ends the container, whatever its state."""

    def __init__(self, stream: Any, remove: Callable[[], None]) -> None:
        self._stream, self._remove = stream, remove
        # The library wraps the socket, for ordinary connections, in a reader that knows no deadline.
        self._socket: socket.socket = getattr(stream, "_sock", stream)
        self._raw, self._ready, self._errors = bytearray(), bytearray(), bytearray()
        self._closed = False

    @property
    def reason(self) -> str:
        """Return the end of what the container wrote to standard error."""
        return self._errors.decode("utf-8", "replace").strip()

    def send(self, data: bytes, deadline: float) -> None:
        """Send all of it."""
        view = memoryview(data)
        while view:
            self._until(deadline)
            try:
                view = view[self._socket.send(view[:_CHUNK]) :]
            except TimeoutError:
                continue
            except OSError as error:
                raise ChannelClosed(f"the container has closed its input: {error}") from error

    def receive(self, size: int, deadline: float) -> bytes:
        """Return what came on standard output, waiting for the first byte."""
        while not self._ready:
            self._until(deadline)
            try:
                data = self._socket.recv(_CHUNK)
            except TimeoutError:
                continue
            except OSError as error:
                raise ChannelClosed(f"the connection to the container broke: {error}") from error
            if not data:
                raise ChannelClosed("the container has ended")
            self._raw += data
            self._sort()
        taken = bytes(self._ready[:size])
        del self._ready[:size]
        return taken

    def kill(self) -> None:
        """Close the connection and remove the container."""
        if self._closed:
            return
        self._closed = True
        try:
            self._stream.close()
            self._socket.close()
        finally:
            self._remove()

    def _until(self, deadline: float) -> None:
        if self._closed:
            raise ChannelClosed("the channel was closed")
        left = deadline - time.monotonic()
        if left <= 0:
            raise ChannelClosed("the worker did not answer in time")
        self._socket.settimeout(left)

    def _sort(self) -> None:
        """Take whole pieces off the raw stream: one kind is the worker's words, the other its complaints."""
        while len(self._raw) >= _HEAD.size:
            kind, length = _HEAD.unpack_from(self._raw)
            if len(self._raw) < _HEAD.size + length:
                return
            piece = self._raw[_HEAD.size : _HEAD.size + length]
            del self._raw[: _HEAD.size + length]
            if kind == _STDOUT:
                self._ready += piece
            else:
                self._errors = (self._errors + piece)[-_TAIL:]
