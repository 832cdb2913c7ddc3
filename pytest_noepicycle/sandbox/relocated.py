"""A project that is not at its own path: where nothing can be mounted, a copy elsewhere has to do."""

from __future__ import annotations

import os
import re
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path

from pytest_noepicycle.domain.session import Session
from pytest_noepicycle.errors import SandboxError
from pytest_noepicycle.ports import Snapshot
from pytest_noepicycle.sandbox.layout import lay_out_inside
from pytest_noepicycle.sandbox.mirror import Mirror, openings, within

READABLE = (
    *("/dev/full", "/dev/random", "/dev/urandom", "/dev/zero", "/etc/group", "/etc/hosts", "/etc/nsswitch.conf"),
    *("/etc/passwd", "/proc/self", "/sys/devices/system/cpu"),
)


@dataclass(frozen=True, slots=True)
class Copy:
    """The folders of a box that is a copy: the tree, the scratch folder, and our half that runs in it."""

    place: Path
    tree: Path
    scratch: Path
    half: Path

    @classmethod
    def make(cls, original: str) -> Copy:
        """Make them among the temporary ones; the tree keeps its name, which may be a package's."""
        place = Path(tempfile.mkdtemp(prefix="noepi-box-")).resolve()
        copy = cls(place, place / "tree" / Path(original).name, place / "scratch", lay_out_inside(place / "half"))
        for folder in (copy.tree, copy.scratch):
            folder.mkdir(parents=True)
        return copy

    def allowed(self, mirror: Mirror) -> dict[str, list[str]]:
        """Return what Landlock is to allow."""
        read = [*openings(mirror), *READABLE, str(self.tree), str(self.half)]
        return {"read": read, "write": [str(self.scratch), "/dev/null"]}


@dataclass(frozen=True, slots=True)
class MovedSnapshot:
    """A snapshot that is to be laid out at another path."""

    root: str
    archive: str
    files: frozenset[str]
    links: frozenset[str]
    original: Snapshot

    def read(self, path: str) -> bytes | None:
        """Return a file's bytes, or None where there is none."""
        return self.original.read(path)


def move_snapshot(snapshot: Snapshot, root: str) -> MovedSnapshot:
    """Return the snapshot at ``root``."""
    return MovedSnapshot(root, snapshot.archive, snapshot.files, snapshot.links, snapshot)


def move_session(session: Session, old: str, new: str, keep: tuple[str, ...]) -> Session:
    """Return the session as it would be in a copy of the tree; paths in ``keep`` stay where they are.

    :raises SandboxError: where an editable install would go on importing the original.
    """
    originals = [path for path in session.interpreter.source_roots if within(os.path.realpath(path), old)]
    if originals:
        raise SandboxError(
            f"{originals[0]} is an editable install: it would import the original, not the copy that is tested.",
            hint="Use Docker (--noepi-sandbox docker), or allow unprivileged user namespaces on this machine.",
        )
    python = session.interpreter
    roots = tuple(dict.fromkeys((old, session.tree)))
    return replace(
        session,
        rootdir=_moved(session.rootdir, roots, new, keep),
        invocation_dir=_moved(session.invocation_dir, roots, new, keep),
        args=tuple(_moved(arg, roots, new, keep) for arg in session.args),
        inipath=_moved(session.inipath, roots, new, keep) if session.inipath else None,
        interpreter=replace(python, sys_path=tuple(_moved(path, roots, new, keep) for path in python.sys_path)),
    )


def _moved(text: str, roots: tuple[str, ...], new: str, keep: tuple[str, ...]) -> str:
    """Put ``new`` for a root wherever that stands as a whole path or the beginning of one."""
    if any(text.startswith(path) for path in keep):
        return text
    for root in roots:
        text = re.sub(rf"(?<![\w.-]){re.escape(root)}(?=[/:,]|$)", lambda _: new, text)
    return text
