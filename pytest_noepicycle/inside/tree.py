"""The project's tree in a sandbox: laid out from a tar, patched for a trial, and put back as it was, byte for byte."""

from __future__ import annotations

import contextlib
import os
import stat
import tarfile
from typing import IO, Any, Dict, FrozenSet, Iterable, Iterator, List, Optional, Sequence, Tuple

Mark = Tuple[int, ...]
Change = Tuple[str, Optional[bytes]]


class BadPath(Exception):
    """A path that leaves the tree, or goes where nothing may be written."""


class Tree:
    """A folder and the tar from which it can be restored; ``keep`` are mount points in it that stay untouched."""

    def __init__(self, root: str, keep: Iterable[str], spool: IO[bytes]) -> None:
        self._root = root
        self._keep = frozenset(os.path.normpath(path) for path in keep)
        self._tar = tarfile.open(fileobj=spool, mode="r:*")  # noqa: SIM115 - it is read again after every trial
        self._members = {}
        for member in self._tar.getmembers():
            path = os.path.normpath(member.name)
            if path != "." and not self._kept(path) and "__pycache__" not in path.split(os.sep):
                self._members[_relative(path)] = member  # without bytecode there is none that could be stale
        self._marks: Dict[str, Mark] = {}
        self._changed: List[str] = []

    @property
    def files(self) -> FrozenSet[str]:
        """Return the regular files that it has at the baseline."""
        return frozenset(path for path, member in self._members.items() if member.isfile())

    def lay_out(self) -> None:
        """Make every folder, file and link of the tar, and remember what each looks like."""
        self._make_root()
        for path in sorted(self._members):
            self._make(path)
        self._marks = dict(self._walk())

    def apply(self, changes: Sequence[Change]) -> None:
        """Write the files of a trial; None deletes one.

        :raises BadPath: before anything is written.
        """
        for path, _ in changes:
            self._check(path)
        self._changed = [path for path, _ in changes]
        for path, content in changes:
            self._clear(path)
            if content is not None:
                member = self._members.get(path)
                self._write(path, content, _file_mode(member) if member else 0o644)

    def restore(self, *, thorough: bool = True) -> None:
        """Put back what the trial was given, and whatever else is not as it was.

        Only where nobody but us could write is it enough not to be ``thorough``: other files are not looked at then,
        unless the trial was given more than new content for some.
        """
        thorough = thorough or any(path not in self._members for path in self._changed)
        for path in self._changed:
            self._clear(path)
            if path in self._members:
                self._make(path)
                self._marks[path] = _mark(self._at(path))
        self._changed = []
        if not thorough:
            return
        self._make_root()
        now = dict(self._walk())
        for path in sorted(now.keys() - self._marks.keys(), reverse=True):
            self._clear(path)
        for path in sorted(self._marks):
            if now.get(path) != self._marks[path]:
                self._clear(path)
                self._make(path)
                self._marks[path] = _mark(self._at(path))

    def _make_root(self) -> None:
        if os.path.islink(self._root):
            os.unlink(self._root)
        os.makedirs(self._root, mode=0o755, exist_ok=True)
        os.chmod(self._root, 0o755)

    def _make(self, path: str) -> None:
        member = self._members.get(path)
        if member is None or member.isdir():
            self._folder(path)
        elif member.issym():
            self._folder(os.path.dirname(path))
            self._clear(path)
            os.symlink(member.linkname, self._at(path))
        elif member.isfile() or member.islnk():
            file = self._tar.extractfile(member)
            self._write(path, file.read() if file else b"", _file_mode(member))
            os.utime(self._at(path), (member.mtime, member.mtime))

    def _folder(self, path: str) -> None:
        """Make a folder and those above it, each a real one."""
        if not path:
            return
        self._folder(os.path.dirname(path))
        at = self._at(path)
        if not os.path.isdir(at) or os.path.islink(at):
            self._clear(path)
            os.mkdir(at, 0o755)

    def _write(self, path: str, content: bytes, mode: int) -> None:
        """Write a new file: never through what lies there, and never beside bytecode of the old one."""
        self._folder(os.path.dirname(path))
        self._clear(path)
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
        with os.fdopen(os.open(self._at(path), flags, mode), "wb") as file:
            file.write(content)
            os.fchmod(file.fileno(), mode)

    def _clear(self, path: str) -> None:
        """Remove a file, link or folder, and the bytecode that was made of it."""
        at = self._at(path)
        if os.path.isdir(at) and not os.path.islink(at):
            os.chmod(at, 0o700)
            empty(at)
            os.rmdir(at)
        else:
            with contextlib.suppress(FileNotFoundError, NotADirectoryError):
                os.unlink(at)
        folder, name = os.path.split(at)
        if name.endswith(".py"):
            _remove_bytecode(os.path.join(folder, "__pycache__"), name[:-2])

    def _walk(self, folder: str = "") -> Iterator[Tuple[str, Mark]]:
        """Yield what lies in the tree, folders before what is in them; a folder that was closed is opened again."""
        with os.scandir(self._at(folder)) as entries:
            for entry in list(entries):
                path = os.path.join(folder, entry.name)
                if self._kept(path):
                    continue
                yield path, _mark(entry.path)
                if entry.is_dir(follow_symlinks=False):
                    if stat.S_IMODE(entry.stat(follow_symlinks=False).st_mode) != 0o755:
                        os.chmod(entry.path, 0o755)
                    yield from self._walk(path)

    def _check(self, path: str) -> None:
        _relative(path)
        if self._kept(path) or any(kept.startswith(self._at(path) + os.sep) for kept in self._keep):
            raise BadPath(f"{path} lies in a part of the tree that is mounted from outside")
        parts = path.split("/")
        for depth in range(1, len(parts)):
            if os.path.islink(self._at("/".join(parts[:depth]))):
                raise BadPath(f"{path} leads through a link")

    def _kept(self, path: str) -> bool:
        at = self._at(path)
        return any(at == kept or at.startswith(kept + os.sep) for kept in self._keep)

    def _at(self, path: str) -> str:
        return os.path.join(self._root, path) if path else self._root


def empty(folder: str) -> None:
    """Remove all that lies in a folder, however deep, odd or closed it is; the folder itself stays.

    Folders are moved up instead of walked down, so that neither a long path nor a deep one stops it.
    """
    moved = 0
    while True:
        with os.scandir(folder) as entries:
            left = list(entries)
        if not left:
            return
        for entry in left:
            moved = _remove_flat(folder, entry, moved)


def _remove_flat(folder: str, entry: os.DirEntry[str], moved: int) -> int:
    if not entry.is_dir(follow_symlinks=False):
        os.unlink(entry.path)
        return moved
    os.chmod(entry.path, 0o700)
    with os.scandir(entry.path) as entries:
        for inner in list(entries):
            if inner.is_dir(follow_symlinks=False):
                os.chmod(inner.path, 0o700)
                while os.path.lexists(os.path.join(folder, f".{moved}")):
                    moved += 1
                os.rename(inner.path, os.path.join(folder, f".{moved}"))
            else:
                os.unlink(inner.path)
    os.rmdir(entry.path)
    return moved


def _relative(path: str) -> str:
    """Return the path if it stays below its root.

    :raises BadPath: where it does not.
    """
    first = path.split(os.sep)[0]
    if os.path.isabs(path) or os.path.normpath(path) != path or first in (os.curdir, os.pardir):
        raise BadPath(f"{path!r} is no path in the tree")
    return path


def _mark(at: str) -> Mark:
    """Return what changes when a file does; a folder is only a folder, for its entries are looked at themselves."""
    found = os.lstat(at)
    if stat.S_ISDIR(found.st_mode):
        return (stat.S_IFDIR,)
    return (found.st_mode, found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_ino)


def _file_mode(member: tarfile.TarInfo) -> int:
    """Return a mode that every user can read with, only the owner writes with, and nobody becomes another with."""
    return (member.mode & 0o755) | 0o644


def _remove_bytecode(folder: str, stem: str) -> None:
    """Remove ``x.*.pyc``: it is matched by second and size, which an edit may well leave alone."""
    with contextlib.suppress(FileNotFoundError, NotADirectoryError), os.scandir(folder) as entries:
        for entry in list(entries):
            if entry.name.startswith(stem) and entry.name.endswith(".pyc"):
                os.unlink(entry.path)


def read_changes(files: Any, blob: bytes) -> List[Change]:
    """Split a request's blob into the files that it holds.

    :raises BadPath: where the sizes do not add up to it.
    """
    changes: List[Change] = []
    start = 0
    for path, size in files:
        changes.append((path, None if size < 0 else blob[start : start + size]))
        start += max(0, size)
    if start != len(blob):
        raise BadPath("the sizes of the files are not the size of what was sent")
    return changes
