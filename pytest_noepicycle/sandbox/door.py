"""A box's door: how its listening ports come to this side, and the box that has them."""

from __future__ import annotations

import os
import shutil
import socket
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

from pytest_noepicycle.domain.trial import Report, Trial
from pytest_noepicycle.errors import SandboxError
from pytest_noepicycle.inside.loopback import DOOR, door_in
from pytest_noepicycle.inside.options import MOST_SERVICES
from pytest_noepicycle.ports import Box
from pytest_noepicycle.sandbox.relay import ADDRESSES, Relay

_ANSWER_SECONDS = 5.0  # for what a box that is ready has sent already


class Door:
    """A folder with a socket through which a box hands over its listening ports, once; without ports it does nothing.

    It is gone before any code of the project runs in the box.
    """

    def __init__(self, ports: Sequence[int], most: int) -> None:
        self._ports, self._most = tuple(ports), most
        self._place, self._folder = "", ""
        self._socket: socket.socket | None = None

    def __enter__(self) -> Door:
        """Open it."""
        if self._ports:
            self._open()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close it and leave no file."""
        if self._socket is not None:
            self._socket.close()
        if self._place:
            shutil.rmtree(self._place)

    @property
    def folder(self) -> str:
        """Return the folder that the box must see; empty without ports."""
        return self._folder

    def told(self, seen_at: str) -> Mapping[str, Any] | None:
        """Return what the box is told, which sees the folder at ``seen_at``: see ``inside.loopback.hand_over``."""
        return {"folder": seen_at, "ports": list(self._ports)} if self._ports else None

    def serve(self, box: Box) -> Box:
        """Take over the ports of a box that is ready, and return a box that has the services.

        :raises SandboxError: where they did not come; the box is then closed.
        """
        if not self._ports:
            return box
        try:
            return ServedBox(box, self._relay())
        except OSError as error:
            box.close()
            raise SandboxError(f"noepi_network: the ports of a box could not be taken over: {error}") from error
        except BaseException:
            box.close()
            raise

    def _open(self) -> None:
        if sys.platform != "linux":
            raise SandboxError(
                "noepi_network cannot be had here: a container on this system runs in a virtual machine,"
                " out of which no socket can be handed.",
                hint="Take noepi_network away, or run the tests on Linux.",
            )
        self._place = tempfile.mkdtemp(prefix="noepi-door-")  # nobody else passes it
        self._folder = str(Path(self._place, "open"))
        Path(self._folder).mkdir()
        Path(self._folder).chmod(0o755)
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        place = os.open(self._folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            self._socket.bind(door_in(place))
        finally:
            os.close(place)
        Path(self._folder, DOOR).chmod(0o666)  # the box's root may be another user here
        self._socket.settimeout(_ANSWER_SECONDS)
        self._socket.listen(1)

    def _relay(self) -> Relay:
        listeners = self._take()
        try:
            return Relay(listeners, self._most)
        except BaseException:
            _close(listeners)
            raise

    def _take(self) -> list[socket.socket]:
        if self._socket is None:
            raise ValueError("the door is not open")
        box, _ = self._socket.accept()
        with box:
            box.settimeout(_ANSWER_SECONDS)
            _, numbers, _, _ = socket.recv_fds(box, 1, MOST_SERVICES * len(ADDRESSES), socket.MSG_CMSG_CLOEXEC)
        listeners = [socket.socket(fileno=number) for number in numbers]
        if {listener.getsockname()[1] for listener in listeners} != set(self._ports):
            _close(listeners)
            raise OSError("they are not the ones that were asked for")
        return listeners


class ServedBox:
    """A box with services: a trial's connections to them end with the trial."""

    def __init__(self, box: Box, relay: Relay) -> None:
        self._box, self._relay = box, relay

    def run(self, trial: Trial) -> Report:
        """Run a trial."""
        try:
            return self._box.run(trial)
        finally:
            self._relay.cut()

    def close(self) -> None:
        """Close the box, then the relay; may be called twice."""
        try:
            self._box.close()
        finally:
            self._relay.close()


def _close(listeners: Sequence[socket.socket]) -> None:
    for listener in listeners:
        listener.close()
