"""The process sandbox: no engine, only what the kernel offers to shut a program in."""

from __future__ import annotations

import json
import os
import secrets
import shutil
import sys
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

from pytest_noepicycle.domain.session import Session
from pytest_noepicycle.domain.settings import Settings
from pytest_noepicycle.errors import SandboxError
from pytest_noepicycle.inside import confine, landlock
from pytest_noepicycle.inside.frames import PACKAGE
from pytest_noepicycle.ports import Box, Snapshot
from pytest_noepicycle.sandbox.door import Door
from pytest_noepicycle.sandbox.launcher import INSIDE, launch
from pytest_noepicycle.sandbox.layout import worker_command
from pytest_noepicycle.sandbox.mirror import Mirror, reflect, unreadable, within
from pytest_noepicycle.sandbox.relocated import Copy, move_session, move_snapshot
from pytest_noepicycle.sandbox.services import Services
from pytest_noepicycle.sandbox.skeleton import accounts
from pytest_noepicycle.sandbox.surroundings import MIB, Space, environment, scratch_place, setup
from pytest_noepicycle.sandbox.wire import start

INSIDE_AT = "/priv/noepi"
REHEARSAL_SECONDS = 20
# A user for each box, in a range that no system gives to anybody: limits on processes count by user.
FIRST_UID, MANY_UIDS = 1_900_000_000, 100_000_000

_REHEARSE = f"import sys; sys.path.insert(0, '{INSIDE_AT}'); from {PACKAGE}.confine import rehearse; rehearse()"
_NOTES = {
    confine.NAMESPACES: "The process sandbox shares the machine's kernel without a container's filter of its calls.",
    confine.LANDLOCK: (
        "The process sandbox runs the tests on a copy at another path, as your own user, without sockets and"
        " semaphores; it does not bound memory as a whole, nor does it hide which processes run."
    ),
    confine.NOTHING: (
        "The process sandbox confines nothing here: the tests and every candidate can read and write all that you"
        " can, and reach the network."
    ),
}
_NO_SERVICES = (
    "noepi_network cannot be had in this way: Landlock knows ports and no addresses, so one that is opened would be"
    " open on every machine."
)
_NO_SERVICES_HINT = (
    "Use Docker (--noepi-sandbox docker), allow unprivileged user namespaces on this machine,"
    " or take noepi_network away."
)


@dataclass(frozen=True, slots=True)
class Way:
    """How processes can be confined on this machine, and why not better (empty for the best)."""

    name: str
    because: str = ""


class ProcessSandbox:
    """Boxes that are processes.

    ``by_name`` says that the user asked for them, ``because`` why Docker is not used; ``way`` names how to confine
    them, where it is not to be found out.
    """

    kind = "process"

    def __init__(
        self,
        session: Session,
        settings: Settings,
        *,
        by_name: bool = False,
        because: str = "",
        way: Way | None = None,
    ) -> None:
        self._session, self._settings, self._because, self._given_way = session, settings, because, way
        self.runs_model_code = by_name
        self._services = Services(settings)

    @property
    def confined(self) -> bool:
        """Whether the kernel keeps the tests from writing anywhere but to their box."""
        return self.way.name != confine.NOTHING

    @property
    def services(self) -> tuple[str, ...]:
        """Return the addresses on this machine that the tests can reach, where they cannot reach others."""
        return self._services.names if self.way.name == confine.NAMESPACES else ()

    @property
    def limits_note(self) -> str:
        """Return what it does not hold, and why nothing better is used."""
        because = [f"({text})" for text in (self._because, self.way.because) if text]
        return " ".join(filter(None, [_NOTES[self.way.name], self._services_note, *because]))

    @property
    def _services_note(self) -> str:
        if self.way.name == confine.LANDLOCK and self._services:
            return _NO_SERVICES
        return self._services.note if self.way.name == confine.NAMESPACES else ""

    @cached_property
    def way(self) -> Way:
        """Find out, by a rehearsal, what the kernel allows."""
        if self._given_way:
            return self._given_way
        if sys.platform != "linux":
            return Way(confine.NOTHING, f"{sys.platform} offers nothing that is used here")
        try:
            self._rehearse()
        except SandboxError as error:
            name = confine.LANDLOCK if landlock.version() else confine.NOTHING
            return Way(name, str(error))
        return Way(confine.NAMESPACES)

    def open(self, snapshot: Snapshot) -> Box:
        """Start a worker, confined as well as this machine allows.

        :raises SandboxError: where it does not start, or cannot have the services that are asked for.
        """
        if self.way.name == confine.NAMESPACES:
            with self._services.door() as door:
                return door.serve(self._open_mirrored(snapshot, door))
        if self.way.name == confine.LANDLOCK and self._services:
            raise SandboxError(f"{_NO_SERVICES} ({self.way.because})", hint=_NO_SERVICES_HINT)
        return self._open_copy(snapshot)

    def _open_mirrored(self, snapshot: Snapshot, door: Door) -> Box:
        mirror, uid, python = self._mirror(snapshot.root), _own_uid(), self._session.interpreter.executable
        space, scratch = Space.fitting(snapshot.archive, self._settings), scratch_place(mirror)
        env = environment(self._session, self._settings, os.environ, visible=mirror.shows, scratch=scratch)
        plan = self._plan(mirror, space, scratch, uid, worker_command(python, INSIDE_AT), env)
        plan["services"] = door.told(door.folder)
        told = {**self._told(mirror, space, scratch, env), "uid": uid, "gid": uid, "confine": self._doors(mirror, uid)}
        return start(launch(python, plan), self._session, snapshot, told)

    def _open_copy(self, snapshot: Snapshot) -> Box:
        """Run in a folder of the temporary ones; its launcher removes it in the end."""
        guarded, python = self.way.name == confine.LANDLOCK, self._session.interpreter.executable
        mirror = self._mirror(snapshot.root) if guarded else self._bare(snapshot.root)
        space, copy = Space.fitting(snapshot.archive, self._settings), Copy.make(mirror.tree)
        try:
            session = move_session(self._session, mirror.tree, str(copy.tree), mirror.keep)
            env = environment(session, self._settings, os.environ, scratch=str(copy.scratch))
            command = worker_command(python, copy.half)
            channel = launch(
                python, {"way": self.way.name, "command": command, "env": env, "remove": [str(copy.place)]}
            )
        except BaseException:
            shutil.rmtree(copy.place)
            raise
        shut = {"processes": self._settings.processes, "shared_user": True, "landlock": copy.allowed(mirror)}
        own: dict[str, Any] = {"keep": [], "empty": [], "confine": shut if guarded else None}
        told = self._told(mirror, space, str(copy.scratch), env)
        return start(channel, session, move_snapshot(snapshot, str(copy.tree)), {**told, **own})

    def _bare(self, tree: str) -> Mirror:
        """Return what is known of the environment where nothing is guarded: what of it lies in the tree."""
        python, tree = self._session.interpreter, os.path.realpath(tree)
        return Mirror(tree, (), keep=tuple(path for path in (python.prefix, python.base_prefix) if within(path, tree)))

    def _doors(self, mirror: Mirror, uid: int | None) -> dict[str, Any] | None:
        """Return what is left to shut in each child: nothing, where it becomes another user."""
        return None if uid is not None else {"readonly": [mirror.tree], "processes": self._settings.processes}

    def _told(self, mirror: Mirror, space: Space, scratch: str, env: Mapping[str, str]) -> dict[str, Any]:
        """No control group counts here, so each process is bounded by itself."""
        told = setup(mirror, space, scratch, env)
        told["limits"] |= {"memory": self._settings.memory, "processes": self._settings.processes}
        return told

    def _mirror(self, tree: str) -> Mirror:
        try:
            mirror = reflect(self._session, tree)
        except ValueError as error:
            raise SandboxError(f"This environment cannot be shown to a sandbox: {error}.") from error
        if os.geteuid() == 0 and (closed := unreadable(mirror)):
            raise SandboxError(f"{closed} can be read by its owner alone, and the tests run as another user")
        return mirror

    def _rehearse(self) -> None:
        """Build an empty box, shut the doors, and leave.

        :raises SandboxError: with the kernel's words.
        """
        mirror, uid, space = self._mirror(self._session.tree), _own_uid(), Space(16 * MIB, 16 * MIB)
        python, scratch = self._session.interpreter.executable, scratch_place(mirror)
        env = environment(self._session, self._settings, os.environ, visible=mirror.shows, scratch=scratch)
        doors = json.dumps(self._doors(mirror, uid) or {"uid": uid})
        command = [python, "-I", "-S", "-B", "-c", _REHEARSE, doors]
        channel = launch(python, self._plan(mirror, space, scratch, uid, command, env))
        try:
            said = channel.receive(64, time.monotonic() + REHEARSAL_SECONDS)
        except Exception as error:
            channel.kill()
            raise SandboxError(f"namespaces cannot be used here: {channel.reason or error}") from error
        channel.kill()
        if said.strip() != confine.REHEARSED:
            raise SandboxError(f"namespaces cannot be used here: {channel.reason or said!r}")

    def _plan(
        self, mirror: Mirror, space: Space, scratch: str, uid: int | None, command: list[str], env: Mapping[str, str]
    ) -> dict[str, Any]:
        """Return the launcher's orders: see :func:`inside.newroot.build`."""
        return {
            **asdict(mirror),
            "way": confine.NAMESPACES,
            "tree_bytes": space.tree,
            "scratch": scratch,
            "scratch_bytes": space.scratch,
            "inside": INSIDE,
            "inside_at": f"{INSIDE_AT}/{PACKAGE}",
            "accounts": accounts(os.geteuid() if uid is None else uid, scratch),
            "command": command,
            "env": dict(env),
        }


def _own_uid() -> int | None:
    """Return a user that a box has for itself; None for an ordinary user, who cannot become another."""
    return FIRST_UID + secrets.randbelow(MANY_UIDS) if os.geteuid() == 0 else None
