"""A list of edits as anyone may write it in JSON, and the candidate that it makes of a tree."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from pytest_noepicycle.domain.patch import Patch
from pytest_noepicycle.domain.territory import Refusal
from pytest_noepicycle.errors import PatchError

Read = Callable[[str], "bytes | None"]
_FORMS = (
    'An edit is {"path", "content"}, {"path", "content_b64"}, {"path", "old", "new"}, {"path", "op": "delete"}'
    ' or {"path", "op": "symlink", "content"}.'
)


@dataclass(frozen=True, slots=True)
class Candidate:
    """A patch that somebody offers; ``refused`` is what of it no patch of ours can hold (links, submodules)."""

    patch: Patch
    refused: tuple[Refusal, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Edit:
    """One edit: ``op`` is write, replace, delete or symlink; ``old`` and ``new`` are bytes of the file."""

    path: str
    op: str
    new: bytes = b""
    old: bytes = b""


def read_edits(document: Any) -> tuple[Edit, ...]:
    """Read ``{"edits": [...]}``.

    :raises PatchError: naming the first edit that has none of the known forms.
    """
    edits = document.get("edits") if isinstance(document, Mapping) else None
    if not isinstance(edits, list):
        raise PatchError("the edits are no object with a list named edits", hint=_FORMS)
    return tuple(_edit(number, item) for number, item in enumerate(edits, start=1))


def candidate(edits: tuple[Edit, ...], read: Read) -> Candidate:
    """Return what the edits, one after the other, make of the tree that ``read`` reads.

    :raises PatchError: where an old text does not stand exactly once in its file.
    """
    patch, refused = Patch(), []
    for edit in edits:
        if edit.op == "symlink":
            refused.append(Refusal(edit.path, "symlink", "a patch may not make a symbolic link"))
        else:
            patch = patch.with_file(edit.path, _after(edit, patch.read(edit.path, read)), read)
    return Candidate(patch, tuple(refused))


def _after(edit: Edit, now: bytes | None) -> bytes | None:
    if edit.op == "delete":
        return None
    if edit.op == "write":
        return edit.new
    found = (now or b"").count(edit.old)
    if found != 1:
        raise PatchError(
            f"{edit.path}: the old text stands {found} times in the file, not once",
            hint="It must be the file's own bytes, with enough of the lines around it to be the only place.",
        )
    return (now or b"").replace(edit.old, edit.new)


def _edit(number: int, item: object) -> Edit:
    if not isinstance(item, Mapping) or not isinstance(item.get("path"), str) or not item["path"]:
        raise PatchError(f"edit {number} has no path", hint=_FORMS)
    path, op = item["path"], item.get("op")
    if op == "delete":
        return Edit(path, "delete")
    if op == "symlink" and isinstance(item.get("content"), str):
        return Edit(path, "symlink", _bytes(item["content"]))
    if op in (None, "write", "replace") and isinstance(item.get("old"), str) and isinstance(item.get("new"), str):
        return Edit(path, "replace", _bytes(item["new"]), _bytes(item["old"]))
    if op in (None, "write") and isinstance(item.get("content_b64"), str):
        return Edit(path, "write", _decoded(number, item["content_b64"]))
    if op in (None, "write") and isinstance(item.get("content"), str):
        return Edit(path, "write", _bytes(item["content"]))
    raise PatchError(f"edit {number} ({path!r}) has no known form", hint=_FORMS)


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _decoded(number: int, text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except binascii.Error as error:
        raise PatchError(f"edit {number}: content_b64 is no base64: {error}", hint=_FORMS) from error
