"""Services of this machine's loopback that tests may reach: what ``noepi_network`` names, and nothing beside."""

from __future__ import annotations

import contextlib
import os
import socket
import sys

from pytest_noepicycle.domain.settings import Settings
from pytest_noepicycle.sandbox.door import Door
from pytest_noepicycle.sandbox.relay import ADDRESSES

MOST_CONNECTIONS = 64  # of one box, at once
FEWEST_CONNECTIONS = 8
_FILES_SHARE = 4  # all boxes together may open this part of what this process may
_ANSWER_SECONDS = 2.0


class Services:
    """The services that were asked for; those that answer when they are first needed are reachable."""

    def __init__(self, settings: Settings) -> None:
        self._wanted, self._workers = settings.network, settings.workers or os.cpu_count() or 1
        self._found: tuple[int, ...] | None = None

    def __bool__(self) -> bool:
        return bool(self._wanted)

    @property
    def reachable(self) -> tuple[int, ...]:
        """Return the ports at which something answers on this machine; asked once."""
        if self._found is None:
            self._found = tuple(port for port in self._wanted if _answers(port))
        return self._found

    @property
    def names(self) -> tuple[str, ...]:
        """Return the reachable ones by their addresses."""
        return tuple(f"127.0.0.1:{port}" for port in self.reachable)

    @property
    def note(self) -> str:
        """Return what they mean for whoever trusts the sandbox, in one or two sentences; empty where none is named."""
        silent = ", ".join(f"127.0.0.1:{port}" for port in self._wanted if port not in self.reachable)
        said = [
            f"The tests and every candidate can reach {', '.join(self.names)} (noepi_network), and what they change"
            " there stays."
            if self.names
            else "",
            f"Nothing answers at {silent} (noepi_network): tests that need it will fail." if silent else "",
        ]
        return " ".join(filter(None, said))

    def door(self) -> Door:
        """Return the way for one box to hand its ports over; to be used in a ``with``.

        :raises SandboxError: where there are services and this system cannot hand over sockets.
        """
        return Door(self.reachable, self._most)

    @property
    def _most(self) -> int:
        """So many connections that a hostile candidate in each box leaves this process files to work with."""
        return max(FEWEST_CONNECTIONS, min(MOST_CONNECTIONS, _open_files() // (2 * _FILES_SHARE * self._workers)))


def _answers(port: int) -> bool:
    for _, host in ADDRESSES:
        with contextlib.suppress(OSError), socket.create_connection((host, port), timeout=_ANSWER_SECONDS):
            return True
    return False


def _open_files() -> int:
    """Return how many files this process may have open; a thousand where the system does not say."""
    if sys.platform == "win32":
        return 1024
    import resource

    soft = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return 1024 if soft == resource.RLIM_INFINITY else soft
