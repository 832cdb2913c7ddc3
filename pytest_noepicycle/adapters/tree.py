"""The work tree: a lock on it, and changes to it that survive a kill at any moment."""

from __future__ import annotations

import contextlib
import os
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path

from pytest_noepicycle.domain.patch import FileChange, Patch
from pytest_noepicycle.errors import NoepiError, TreeChanged, TreeLocked


def standing(root: str, patch: Patch) -> dict[str, str]:
    """Return for each changed path whether the tree has it as ``before``, as ``after``, or as ``neither``."""
    return {change.path: _stands(root, change) for change in patch.changes}


def write(root: str, patch: Patch, staging: Path, *, forward: bool = True) -> tuple[str, ...]:
    """Change the tree as the patch says, or back, and return the paths that were written.

    Every file is whole at every moment: new contents are written into ``staging`` first and renamed into place.
    A kill in between leaves some files before and some after; the same call completes what is missing.

    :raises TreeChanged: where a file is neither as before nor as after; nothing was written then.
    :raises NoepiError: where the system does not let a file be written; it says what had been.
    """
    written: list[str] = []
    try:
        _write(root, patch, staging, "after" if forward else "before", written)
    except OSError as error:
        raise _unwritten(error, written) from error
    return tuple(written)


def _write(root: str, patch: Patch, staging: Path, wanted: str, written: list[str]) -> None:
    todo = [change for change in patch.changes if _expected(root, change) != wanted]
    with contextlib.ExitStack() as undo:
        staged = [(c, _stage(root, c.path, c.after if wanted == "after" else c.before, staging, undo)) for c in todo]
        for change, part in staged:
            _still(root, change, written)
            target = Path(root, change.path)
            if part is None:
                target.unlink(missing_ok=True)
            else:
                part.replace(target)
            written.append(change.path)


def _unwritten(error: OSError, written: list[str]) -> NoepiError:
    done = f"{', '.join(written)} had been written" if written else "nothing was written"
    hint = "See that the files are yours and the disk is not full; noepi apply and noepi undo complete what is missing."
    return NoepiError(f"the work tree cannot be written ({error}); {done}", hint=hint)


def _expected(root: str, change: FileChange) -> str:
    stands = _stands(root, change)
    if stands == "neither":
        raise TreeChanged(f"{change.path} has changed since the patch was made; nothing was written")
    return stands


def _still(root: str, change: FileChange, written: list[str]) -> None:
    """See once more that the file is as expected: what was written before it is named, and can be taken back."""
    if _stands(root, change) == "neither":
        done = f"{', '.join(written)} had been written" if written else "nothing was written"
        hint = "noepi undo takes back what was written." if written else None
        raise TreeChanged(f"{change.path} changed at this very moment; {done}", hint=hint)


def _stands(root: str, change: FileChange) -> str:
    target = Path(root, change.path)
    _plain_parents(root, target)
    if target.exists() and not target.is_file():
        return "neither"
    now = target.read_bytes() if target.is_file() else None
    return "after" if now == change.after else "before" if now == change.before else "neither"


def _stage(root: str, path: str, content: bytes | None, staging: Path, undo: contextlib.ExitStack) -> Path | None:
    """Write the new content where a rename can reach the file, with the file's own mode."""
    if content is None:
        return None
    target = Path(root, path)
    target.parent.mkdir(parents=True, exist_ok=True)
    near = staging if staging.stat().st_dev == target.parent.stat().st_dev else target.parent
    handle, name = tempfile.mkstemp(prefix=".noepi-", dir=near)
    part = Path(name)
    undo.callback(part.unlink, missing_ok=True)
    with os.fdopen(handle, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    _like(target, part)
    return part


def _like(target: Path, part: Path) -> None:
    """Give the new file the old one's mode and, where that is allowed, its owner."""
    if not target.exists():
        part.chmod(0o666 & ~_umask())
        return
    old = target.stat()
    if hasattr(os, "chown") and (old.st_uid, old.st_gid) != (part.stat().st_uid, part.stat().st_gid):
        with contextlib.suppress(PermissionError):  # only root may give files away
            os.chown(part, old.st_uid, old.st_gid)
    part.chmod(stat.S_IMODE(old.st_mode))


def _plain_parents(root: str, target: Path) -> None:
    """No link may lead a write out of the tree, even one that was put there since the guard looked."""
    for place in (target, *target.parents):
        if str(place) == root:
            return
        if place.is_symlink():
            raise TreeChanged(f"{place} has become a symbolic link; nothing was written")
    raise TreeChanged(f"{target} lies outside {root}; nothing was written")


def _umask() -> int:
    mask = os.umask(0o022)
    os.umask(mask)
    return mask


@contextlib.contextmanager
def locked(folder: Path, *, wait: float = 10.0) -> Iterator[None]:
    """Hold the tree for one run; the lock goes with the process, however that ends.

    :raises TreeLocked: naming the holder, where it does not come free within ``wait`` seconds.
    :raises NoepiError: where the folder cannot be written.
    """
    import filelock

    lock, holder = filelock.FileLock(folder / "lock"), folder / "lock.holder"
    try:
        lock.acquire(timeout=wait)
    except filelock.Timeout:
        raise TreeLocked(f"another repair runs in this tree (process {_holder(holder)})") from None
    except OSError as error:
        raise _no_lock(folder, error) from error
    try:
        try:
            holder.write_text(str(os.getpid()), "utf-8")
        except OSError as error:
            raise _no_lock(folder, error) from error
        yield
    finally:
        with contextlib.suppress(OSError):  # it only names the holder for others; the lock is what counts
            holder.unlink(missing_ok=True)
        lock.release()


def _holder(file: Path) -> str:
    try:
        return file.read_text("utf-8")
    except (OSError, ValueError):  # written at this moment, or gone with its run
        return "unknown"


def _no_lock(folder: Path, error: OSError) -> NoepiError:
    hint = "See that the folder is yours and the disk is not full; another one is named with --noepi-dir."
    return NoepiError(f"the tree cannot be locked in {folder}: {error.strerror or error}", hint=hint)
