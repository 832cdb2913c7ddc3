"""Ports of a box's own loopback, handed to the engine, which serves them from outside.

Whoever opens a listening socket decides in which network it listens; whoever holds it may be anywhere. So nothing of
the engine's runs in the box, and nothing in the box can end it or take its place. PYTEST_DONT_REWRITE
"""

from __future__ import annotations

import errno
import os
import socket
from typing import List, Optional, Sequence

DOOR = "door"  # the name of the engine's socket in the folder that is shown to the box
_WAITING = 64  # connections that nobody has taken yet
_ADDRESSES = ((socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1"))
_NO_SUCH_ADDRESS = (errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT)


def hand_over(folder: str, ports: Sequence[int]) -> None:
    """Listen on these ports of the loopback, and give the listening sockets away through the door in ``folder``.

    :raises OSError: where a port cannot be opened, or the door leads nowhere; its text says so.
    """
    listeners: List[socket.socket] = []
    try:
        for port in ports:
            for family, host in _ADDRESSES:
                listener = _listen(family, host, port)
                if listener is not None:
                    listeners.append(listener)
        _give(folder, listeners)
    finally:
        for listener in listeners:
            listener.close()


def door_in(folder: int) -> str:
    """Return the address of the door in an open folder; the folder's own path may be too long for one."""
    return "/proc/self/fd/{}/{}".format(folder, DOOR)


def _listen(family: int, host: str, port: int) -> Optional[socket.socket]:
    """Listen there; None where the box has no IPv6."""
    six = family == socket.AF_INET6
    listener = None
    try:
        listener = socket.socket(family, socket.SOCK_STREAM)
        if six:
            listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        listener.bind((host, port))
        listener.listen(_WAITING)
    except OSError as error:
        if listener is not None:
            listener.close()
        if six and error.errno in _NO_SUCH_ADDRESS:
            return None
        raise OSError(error.errno, "port {} of a box cannot be opened: {}".format(port, error.strerror)) from None
    return listener


def _give(folder: str, listeners: Sequence[socket.socket]) -> None:
    try:
        place = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as door:
                door.connect(door_in(place))
                socket.send_fds(door, [b"."], [listener.fileno() for listener in listeners])
        finally:
            os.close(place)
    except OSError as error:
        why = "noepi_network needs a sandbox on this very machine, whose sockets can be handed over: {}"
        raise OSError(error.errno, why.format(error.strerror)) from None
