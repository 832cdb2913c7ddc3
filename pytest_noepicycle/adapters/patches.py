"""Anyone's patch, read into a candidate: a unified diff, a list of edits, or the work tree against a revision."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping

from pytest_noepicycle.adapters.diff import FileDiff, read_diff
from pytest_noepicycle.adapters.git import Entry
from pytest_noepicycle.domain.edit_list import Candidate, Read, candidate, read_edits
from pytest_noepicycle.domain.patch import FileChange, Patch
from pytest_noepicycle.domain.territory import Refusal
from pytest_noepicycle.errors import PatchError

_LINK, _SUBMODULE = "120000", "160000"


def from_edits(text: bytes, read: Read) -> Candidate:
    """Return the candidate that a JSON list of edits makes of the tree.

    :raises PatchError: where it is no such list, or does not fit the tree.
    """
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise PatchError(f"the edits are no JSON: {error}") from error
    return candidate(read_edits(document), read)


def from_diff(data: bytes, read: Read, *, prefix: str = "") -> Candidate:
    """Return the candidate that a unified diff makes of the tree.

    ``prefix`` is the tree's folder below the repository's, ending in a slash, for a diff made at its top.

    :raises PatchError: where it cannot be read exactly, or does not fit the tree.
    """
    patch, refused, notes = Patch(), list[Refusal](), list[str]()
    for file in read_diff(data):
        old, new = _below(file.old, prefix), _below(file.new, prefix)
        path = new or old
        if path is None:
            raise PatchError("the patch names a file without a name")
        reason = _unholdable(file, path)
        if reason is not None:
            refused.append(reason)
            continue
        before = patch.read(old, read) if old is not None else None
        if old is not None and before is None and read(old) is None and file.hunks:
            raise PatchError(f"{old}: the patch changes a file that is not there")
        if old is not None and old != new and not file.copied:
            patch = patch.with_file(old, None, read)
        if new is not None:
            patch = patch.with_file(new, file.applied_to(before), read)
        notes += _mode_note(file, path)
    return Candidate(patch, tuple(refused), tuple(notes))


def from_trees(base: Mapping[str, Entry], now: Mapping[str, Entry]) -> Candidate:
    """Return the candidate that leads from one tree to another."""
    changes, refused = list[FileChange](), list[Refusal]()
    for path in sorted(base.keys() | now.keys()):
        old, new = base.get(path), now.get(path)
        if old == new:
            continue
        modes = {entry.mode for entry in (old, new) if entry}
        if _LINK in modes or _SUBMODULE in modes:
            refused.append(_link(path, _SUBMODULE if _SUBMODULE in modes else _LINK))
            continue
        changes.append(FileChange(path, old.content if old else None, new.content if new else None))
    return Candidate(Patch.of(changes), tuple(refused))


def _below(name: str | None, prefix: str) -> str | None:
    """Take the tree's own folder from a name; what lies beside it then leads out of the tree, and is refused."""
    if name is None or not prefix:
        return name
    return name.removeprefix(prefix) if name.startswith(prefix) else f"../{name}"


def _unholdable(file: FileDiff, path: str) -> Refusal | None:
    for mode in (file.new_mode, file.old_mode):
        if mode in (_LINK, _SUBMODULE):
            return _link(path, mode)
    if file.binary:
        return Refusal(path, "not-python", "a binary change cannot be reviewed")
    return None


def _link(path: str, mode: str) -> Refusal:
    if mode == _LINK:
        return Refusal(path, "symlink", "a patch may not make, change or remove a symbolic link")
    return Refusal(path, "submodule", "a patch may not move a submodule")


def _mode_note(file: FileDiff, path: str) -> Iterator[str]:
    if file.new_mode and file.new_mode != (file.old_mode or "100644"):
        yield f"{path}: the patch makes its mode {file.new_mode}; modes are not tried"
