"""The worker's end of the wire to the engine."""

from __future__ import annotations

import os
from typing import Any, Dict, Tuple

from . import frames


class HungUp(Exception):
    """The engine is gone."""


class Wire:
    """The worker's end of the wire; nothing else of the process holds these descriptors."""

    def __init__(self, read: int, write: int) -> None:
        self.fd, self._write = read, write
        self._early = b""

    def receive(self) -> Tuple[Dict[str, Any], bytes]:
        """Wait for a frame.

        :raises HungUp: where none will come.
        """
        text, blob = frames.sizes(self._exactly(frames.HEAD_SIZE))
        return frames.decode(self._exactly(text)), self._exactly(blob)

    def send(self, message: Dict[str, Any]) -> None:
        """Send a frame."""
        data = memoryview(frames.encode(message))
        while data:
            try:
                data = data[os.write(self._write, data) :]
            except BrokenPipeError as error:
                raise HungUp from error

    def look(self) -> None:
        """Read what has come, when something has.

        :raises HungUp: where that is the end.
        """
        data = os.read(self.fd, 1)
        if not data:
            raise HungUp
        self._early += data

    def _exactly(self, size: int) -> bytes:
        """Read so many bytes and no more: a fresh interpreter may take over at the next one."""
        data = bytearray(self._early[:size])
        self._early = self._early[size:]
        while len(data) < size:
            part = os.read(self.fd, size - len(data))
            if not part:
                raise HungUp
            data += part
        return bytes(data)
