"""A snapshot of the work tree: what a sandbox may see of it, frozen in a tar file when the run begins."""

from __future__ import annotations

import hashlib
import io
import os
import stat
import tarfile
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, cast

from pytest_noepicycle.errors import SandboxError

LEFT_OUT_FOLDERS = frozenset(
    {".git", ".hg", ".svn", "__pycache__", "node_modules", ".tox", ".nox", ".mypy_cache", ".pytest_cache"}
    | {".ruff_cache", ".hypothesis", ".noepi", ".idea", ".vscode"}
)
_SECRET_NAMES = frozenset({".netrc", ".pypirc", ".git-credentials", "id_rsa", "id_ed25519"})
_OPEN_FILES = "/proc/self/fd/"
_SOURCES = (".py", ".pyi", ".toml", ".ini", ".cfg")
MOST_FILES = 100_000
MOST_BYTES = 2 * 1024**3


@dataclass(frozen=True, slots=True)
class TreeSnapshot:
    """The tree in a tar file: what was there when the run began, read back file by file."""

    root: str
    archive: str
    links: frozenset[str]
    index: dict[str, tuple[int, int]] = field(repr=False)
    held: BinaryIO = field(repr=False)

    @property
    def files(self) -> frozenset[str]:
        """Return the regular files, relative, with forward slashes."""
        return frozenset(self.index)

    @property
    def digest(self) -> str:
        """Name the state of all source and configuration; what tests leave behind in the tree does not count."""
        sum_ = hashlib.sha256()
        for path in sorted(self.index):
            if path.endswith(_SOURCES):
                content = self.read(path) or b""
                sum_.update(f"{path}\0{len(content)}\0".encode("utf-8", "surrogateescape"))
                sum_.update(content)
        return sum_.hexdigest()[:16]

    def read(self, path: str) -> bytes | None:
        """Return a file's bytes as they were, or None where there was none."""
        place = self.index.get(path)
        if place is None:
            return None
        with Path(self.archive).open("rb") as archive:
            archive.seek(place[0])
            return archive.read(place[1])

    def close(self) -> None:
        """Remove the tar file; may be called twice."""
        self.held.close()
        if not self.archive.startswith(_OPEN_FILES):
            Path(self.archive).unlink(missing_ok=True)


def snapshot(root: str, *, leave_out: frozenset[str] = frozenset()) -> TreeSnapshot:
    """Copy the tree into a tar file: no version control, caches, environments, secrets or special files.

    ``leave_out`` are further absolute folders (the record's own). :raises SandboxError: where it is too large,
    or cannot be copied.
    """
    try:
        return _taken(root, leave_out)
    except OSError as error:
        hint = "See that the folder for temporary files (TMPDIR) can be written and has room for a copy of the project."
        raise SandboxError(f"{root} cannot be copied for the sandbox: {error}", hint=hint) from error


def _taken(root: str, leave_out: frozenset[str]) -> TreeSnapshot:
    held, archive = _archive()
    try:
        links, index = _fill(held, root, leave_out)
        held.flush()
    except BaseException:
        TreeSnapshot(root, archive, frozenset(), {}, held).close()
        raise
    return TreeSnapshot(root, archive, links, index, held)


def _archive() -> tuple[BinaryIO, str]:
    """Open a file for the archive. On Linux it has no name, and so goes with this process, however that ends."""
    held = cast(BinaryIO, tempfile.TemporaryFile())  # noqa: SIM115 - the snapshot closes it
    nameless = f"{_OPEN_FILES}{held.fileno()}"
    if os.path.exists(nameless):
        return held, nameless
    held.close()
    handle, archive = tempfile.mkstemp(prefix="noepi-", suffix=".tar")
    return os.fdopen(handle, "wb"), archive


def _fill(raw: BinaryIO, root: str, leave_out: frozenset[str]) -> tuple[frozenset[str], dict[str, tuple[int, int]]]:
    index: dict[str, tuple[int, int]] = {}
    links: set[str] = set()
    total = 0
    with tarfile.open(fileobj=raw, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for path, relative, info in _walk(root, leave_out):
            member = tar.gettarinfo(path, arcname=relative)
            member.uid = member.gid = 0
            member.uname = member.gname = ""
            member.mtime = int(member.mtime)  # a fraction would take a header of its own, and half of all the time
            if stat.S_ISLNK(info.st_mode):
                links.add(relative)
                tar.addfile(member)
            elif stat.S_ISDIR(info.st_mode):
                tar.addfile(member)
            else:
                _bounded(root, len(index), total + info.st_size)
                content = _content(path)
                if content is None:
                    continue
                total += len(content)
                _bounded(root, len(index), total)
                member.type, member.linkname, member.size = tarfile.REGTYPE, "", len(content)
                tar.addfile(member, io.BytesIO(content))
                index[relative] = (tar.offset - _padded(len(content)), len(content))
    return frozenset(links), index


def _padded(size: int) -> int:
    return -(-size // tarfile.BLOCKSIZE) * tarfile.BLOCKSIZE


def _bounded(root: str, files: int, total: int) -> None:
    if files > MOST_FILES or total > MOST_BYTES:
        raise SandboxError(
            f"{root} holds more than {MOST_FILES} files or {MOST_BYTES >> 30} GiB",
            hint="Run pytest from the project's own folder, or move data out of it.",
        )


def _walk(root: str, leave_out: frozenset[str]) -> Iterator[tuple[str, str, os.stat_result]]:
    """Yield what a sandbox may see; folders that cannot be entered are left out, as git would leave them."""
    for folder, names, files in os.walk(root):
        names.sort()
        for name in list(names):
            path = os.path.join(folder, name)
            if _left_out(path, name, leave_out) and not os.path.islink(path):
                names.remove(name)
        for name in sorted([*names, *files]):
            path = os.path.join(folder, name)
            info = _facts(path)
            if info is not None and not _secret(name) and name not in (".git",):
                yield path, os.path.relpath(path, root).replace(os.sep, "/"), info


def _facts(path: str) -> os.stat_result | None:
    """Return what the system knows of a file, folder or link; None for anything else, and for what has just gone."""
    try:
        info = os.lstat(path)
    except FileNotFoundError:
        return None
    kind = stat.S_IFMT(info.st_mode)
    return info if kind in (stat.S_IFREG, stat.S_IFLNK, stat.S_IFDIR) else None


def _left_out(path: str, name: str, leave_out: frozenset[str]) -> bool:
    if name in LEFT_OUT_FOLDERS or path in leave_out:
        return True
    return os.path.exists(os.path.join(path, "pyvenv.cfg")) or os.path.isdir(os.path.join(path, "conda-meta"))


def _secret(name: str) -> bool:
    """Files that exist to hold secrets never enter a sandbox; examples of them may."""
    plain = name.endswith((".example", ".sample", ".template", ".dist"))
    return name in _SECRET_NAMES or ((name == ".env" or name.startswith(".env.")) and not plain)


def _content(path: str) -> bytes | None:
    """Return the bytes; None for a file that the user cannot read either, or that has just gone."""
    try:
        return Path(path).read_bytes()
    except (FileNotFoundError, PermissionError):
        return None
