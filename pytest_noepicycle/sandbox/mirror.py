"""The mirror: what a box may see of this machine, so that tests meet the very environment in which they failed."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from pytest_noepicycle.domain.session import Interpreter, Session

SYSTEM_LINKS = ("/bin", "/lib", "/lib32", "/lib64", "/libx32", "/sbin")
SYSTEM_PLACES = (
    *("/etc/alternatives", "/etc/fonts", "/etc/ld.so.cache", "/etc/localtime", "/etc/mime.types", "/etc/os-release"),
    *("/etc/pki/ca-trust/extracted", "/etc/pki/tls/certs", "/etc/protocols", "/etc/services", "/etc/ssl/certs"),
    *("/etc/ssl/openssl.cnf", "/etc/timezone"),
)
STORES = ("/nix/store", "/gnu/store")  # there every library has a folder of its own, outside all prefixes
SYSTEM = frozenset({"/", "/boot", "/dev", "/etc", "/proc", "/run", "/sys", "/tmp", "/usr", "/var", "/var/tmp"})
# Whole folders that hold more than modules: keys, sockets, other people's files. So does every folder above home.
NEVER = (SYSTEM - {"/usr"}) | {"/home", "/media", "/mnt", "/root", "/srv", "/var/lib", "/var/run"}
# In a folder that is on the import path, these are nobody's modules.
SECRETS = (".git", ".hg", ".svn", ".env", ".netrc", ".pypirc", ".ssh", ".aws", ".gnupg", ".docker", ".config", ".noepi")
MOST_LINKS = 40  # as many as Linux follows


@dataclass(frozen=True, slots=True)
class Mirror:
    """Read-only mounts at their own paths, and what makes them fit.

    ``mounts`` are files and folders, outermost first; ``links`` are symbolic links to make (path → target); of
    ``masks``, which lie in a mount, nothing may be seen; ``keep`` are the mounts inside the project's ``tree``;
    ``left_out`` are import paths that would show too much.
    """

    tree: str
    mounts: tuple[str, ...]
    links: Mapping[str, str] = field(default_factory=dict)
    masks: tuple[str, ...] = ()
    keep: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()

    def shows(self, path: str) -> bool:
        """Whether a box sees that path of this machine, or has its own tree there."""
        resolved = os.path.realpath(path)
        return any(within(resolved, place) for place in (self.tree, *self.mounts))


def reflect(session: Session, tree: str, *, home: str | None = None) -> Mirror:
    """Return what to mount for that session; reads the file system and changes nothing.

    :raises ValueError: where this machine's environment cannot be mirrored; the text says why.
    """
    python, tree, home = session.interpreter, os.path.realpath(tree), os.path.realpath(home or Path.home())
    links: dict[str, str] = {}
    prefixes = [follow(path, links) for path in (python.base_prefix, python.prefix)]
    _check(python, prefixes, tree, home)
    program = follow(python.executable, links)
    system = [follow(path, links) for path in (*SYSTEM_LINKS, *SYSTEM_PLACES, *_python_of_distribution())]
    stores = [store for store in STORES if any(within(path, store) for path in (program, *prefixes))]
    imported = [follow(path, links) for path in (*python.sys_path, *python.source_roots) if path.startswith("/")]
    outside = [path for path in imported if Path(path).exists() and not _of_tree(path, tree, prefixes)]
    shown = [path for path in outside if _may_show(path, home)]
    mounts = outermost(p for p in ("/usr", *system, *prefixes, program, *shown, *stores) if Path(p).exists())
    return Mirror(
        tree=tree,
        mounts=mounts,
        links={path: target for path, target in links.items() if not _covered(path, (tree, *mounts))},
        masks=_masks(path for path in (*shown, *mounts) if not _covered(path, ("/usr", *prefixes))),
        keep=tuple(path for path in mounts if within(path, tree)),
        left_out=tuple(path for path in dict.fromkeys(outside) if path not in shown),
    )


def follow(path: str, links: dict[str, str]) -> str:
    """Return the real path, and note in ``links`` each symbolic link on the way to it."""
    walked, rest, hops = Path("/"), list(PurePosixPath(path).parts[1:]), 0
    while rest and hops < MOST_LINKS:
        part = rest.pop(0)
        step = walked.parent if part == ".." else walked / part
        if not step.is_symlink():
            walked = step
            continue
        hops += 1
        target = step.readlink()
        links[str(step)] = str(target)
        rest[:0] = [part for part in target.parts if part != "/"]
        walked = Path("/") if target.is_absolute() else walked
    return str(walked)


def outermost(paths: Iterable[str]) -> tuple[str, ...]:
    """Return the paths without those that lie in another one, sorted, each once."""
    kept: list[str] = []
    for path in sorted(set(paths), key=lambda path: PurePosixPath(path).parts):
        if not any(within(path, place) for place in kept):
            kept.append(path)
    return tuple(kept)


def within(path: str, place: str) -> bool:
    """Whether ``path`` is ``place`` or lies in it; both are absolute and resolved."""
    return PurePosixPath(path).is_relative_to(place)


def openings(mirror: Mirror) -> tuple[str, ...]:
    """Return the mounts for a guard that can only allow: one that holds a mask is replaced by what lies beside it."""
    return tuple(path for mount in mirror.mounts for path in _around(mount, mirror.masks))


def _around(path: str, masks: tuple[str, ...]) -> list[str]:
    if path in masks:
        return []
    if not any(within(mask, path) for mask in masks):
        return [path]
    return [inner for entry in sorted(Path(path).iterdir()) for inner in _around(str(entry), masks)]


def unreadable(mirror: Mirror) -> str | None:
    """Return a mounted path that other users of this machine cannot read, or None: a box's child is another user."""
    for path in map(Path, mirror.mounts):
        mode = path.stat().st_mode
        if not mode & 0o004 or (path.is_dir() and not mode & 0o001):
            return str(path)
    return None


def _check(python: Interpreter, prefixes: Iterable[str], tree: str, home: str) -> None:
    if python.platform != "linux":
        raise ValueError(f"the tests ran on {python.platform}, and this kind of sandbox holds Linux")
    if tree in SYSTEM:
        raise ValueError(f"the project's folder {tree} is a part of the system")
    if not os.access(python.executable, os.X_OK):
        raise ValueError(f"the interpreter {python.executable} is not there any more")
    for prefix in prefixes:
        if prefix == tree or not _may_show(prefix, home):
            raise ValueError(f"the interpreter's folder {prefix} holds more than an environment")


def _may_show(path: str, home: str) -> bool:
    return path not in NEVER and not within(home, path)


def _covered(path: str, places: Iterable[str]) -> bool:
    return any(within(path, place) for place in places)


def _of_tree(path: str, tree: str, prefixes: Iterable[str]) -> bool:
    """Whether the streamed tree provides it; an environment inside the tree is mounted with its prefix."""
    return within(path, tree) and not _covered(path, prefixes)


def _masks(folders: Iterable[str]) -> tuple[str, ...]:
    found = {Path(folder, name) for folder in folders for name in SECRETS}
    return tuple(sorted(str(path) for path in found if path.exists() and not path.is_symlink()))


def _python_of_distribution() -> list[str]:
    """Debian's interpreters take their sitecustomize from here."""
    return [str(path) for path in sorted(Path("/etc").glob("python3*"))]
