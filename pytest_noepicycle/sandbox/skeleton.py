"""The frame into which a mirror is hung: an almost empty root with accounts for a box's two users."""

from __future__ import annotations

import hashlib
import io
import tarfile
from collections.abc import Mapping

CHILD_UID = 65532
FOLDERS = ("dev", "etc", "priv", "proc", "run", "sys", "tmp", "usr", "var")


def accounts(uid: int = CHILD_UID, home: str = "/tmp", host: str = "sandbox") -> dict[str, str]:
    """Return the files of /etc that name the worker's and the child's user, and the machine."""
    user = "" if uid == 0 else f"user:x:{uid}:{uid}:user:{home}:/bin/sh\n"
    group = "" if uid == 0 else f"user:x:{uid}:\n"
    return {
        "passwd": f"root:x:0:0:root:{home}:/bin/sh\n{user}",
        "group": f"root:x:0:\n{group}",
        "hosts": f"127.0.0.1 localhost {host}\n::1 localhost\n",
        "nsswitch.conf": "passwd: files\ngroup: files\nhosts: files dns\n",
    }


def image_tar(links: Mapping[str, str], files: Mapping[str, str]) -> bytes:
    """Return a root file system as a tar: folders, symbolic links (path → target), files of /etc; always the same."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for name in _folders(links):
            _add(tar, name, tarfile.DIRTYPE, 0o1777 if name == "tmp" else 0o755)
        for path, target in sorted(links.items()):
            _add(tar, path.lstrip("/"), tarfile.SYMTYPE, 0o777, target)
        for name, content in sorted(files.items()):
            _add(tar, f"etc/{name}", tarfile.REGTYPE, 0o644, content=content.encode())
    return buffer.getvalue()


def digest(tar: bytes) -> str:
    """Return a name for that content."""
    return hashlib.sha256(tar).hexdigest()[:16]


def _folders(links: Mapping[str, str]) -> list[str]:
    names = set(FOLDERS)
    for path in links:
        parts = path.strip("/").split("/")[:-1]
        names.update("/".join(parts[: depth + 1]) for depth in range(len(parts)))
    return sorted(names)


def _add(tar: tarfile.TarFile, name: str, kind: bytes, mode: int, target: str = "", content: bytes = b"") -> None:
    member = tarfile.TarInfo(name)
    member.type, member.mode, member.linkname, member.size = kind, mode, target, len(content)
    tar.addfile(member, io.BytesIO(content))
