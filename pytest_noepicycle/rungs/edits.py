"""Turn a model's edits, old text to new text, into a patch: byte for byte, or not at all."""

from __future__ import annotations

import difflib
import io
import tokenize
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pytest_noepicycle.domain.context import Context
from pytest_noepicycle.domain.patch import Patch
from pytest_noepicycle.rungs.sendable import may_send

_BOM = b"\xef\xbb\xbf"
_AROUND = 3  # lines shown before and after the nearest text


class Mismatch(Exception):
    """An edit that cannot be made; the message tells the model which, why, and what the file says there."""


@dataclass(frozen=True, slots=True)
class Edit:
    """Replace ``old``, which stands exactly once in the file, by ``new``; an empty ``old`` makes a new file."""

    path: str
    old: str
    new: str


def read_edits(data: Mapping[str, Any]) -> tuple[Edit, ...]:
    """Read the edits of an answer, without trusting its form.

    :raises Mismatch: where they are not a list of objects with path, old and new.
    """
    found = data.get("edits", [])
    if not isinstance(found, list):
        raise Mismatch("`edits` is not a list")
    return tuple(_edit(item) for item in found)


def apply(edits: Sequence[Edit], context: Context) -> Patch:
    """Return the best patch so far with the edits on top, as a patch against the baseline.

    :raises Mismatch: at the first edit that does not fit; then none of them is made.
    """
    patch = context.best
    for edit in edits:
        now = shown(edit.path, context, patch)
        veiled = now is not None and context.veil(edit.path, now) != now
        patch = patch.with_file(edit.path, _changed(edit, now, quoted=not veiled), context.read_baseline)
    return patch


def decode(content: bytes) -> tuple[str, str]:
    """Return a source's text, newlines untouched and without its BOM, and the encoding it is kept in.

    :raises ValueError: where it is not text in the encoding it claims.
    """
    body = content.removeprefix(_BOM)
    try:
        encoding = tokenize.detect_encoding(io.BytesIO(content).readline)[0]
    except SyntaxError as error:
        raise ValueError(str(error)) from error
    encoding = "utf-8" if encoding == "utf-8-sig" else encoding
    text = body.decode(encoding)
    if text.encode(encoding) != body:
        raise ValueError(f"{encoding} does not keep its bytes")
    return text, encoding


def _edit(item: object) -> Edit:
    if not isinstance(item, Mapping):
        raise Mismatch("an edit is not an object with path, old and new")
    parts = [item.get(key) for key in ("path", "old", "new")]
    if not all(isinstance(part, str) for part in parts) or not parts[0]:
        raise Mismatch("an edit lacks path, old or new as text")
    return Edit(*parts)  # type: ignore[arg-type]


def shown(path: str, context: Context, patch: Patch) -> bytes | None:
    """Return a file as a patch leaves it, for an answer that names it; None where the tree lists no such file.

    A path from an answer is no reason to open a file, and a mismatch quotes what the file says: what may never be
    sent is not looked at either.

    :raises Mismatch: where the file is one of those.
    """
    if not may_send(path, context.never_send):
        raise Mismatch(f"{path}: this file is not to be seen or changed; mend the fault elsewhere")
    known = path in context.files or path in patch.paths
    return patch.read(path, context.read_baseline) if known else None


def spliced(
    path: str,
    content: bytes,
    new: str,
    place: Callable[[str], tuple[int, int]],
    fitted: Callable[[str, str], str] = lambda new, old: new,
) -> bytes:
    """Return a file's bytes with a part replaced; encoding, newlines and BOM stay as they are.

    ``place`` returns where the part stands in the text with plain newlines, ``fitted`` suits the new text to the old.

    :raises Mismatch: where the file is not text, or cannot hold the new one.
    """
    try:
        text, encoding = decode(content)
    except (ValueError, LookupError) as error:
        raise Mismatch(f"{path}: the file is not readable text: {error}") from error
    plain, places = _plain(text)
    first, last = place(plain)
    start, end = places[first], places[last]
    new = _with_newlines(fitted(new, plain[first:last]), text, start, end)
    body = _encode(path, text[:start] + new + text[end:], encoding)
    return (_BOM if content.startswith(_BOM) else b"") + body


def _changed(edit: Edit, content: bytes | None, *, quoted: bool) -> bytes:
    if content is None:
        if edit.old:
            raise Mismatch(f"{edit.path}: there is no such file; leave `old` empty to make a new one")
        return _encode(edit.path, edit.new, "utf-8")
    if not edit.old:
        raise Mismatch(f"{edit.path}: the file exists, so `old` must say which of its text to replace")
    return spliced(edit.path, content, edit.new, lambda plain: _find(edit, plain, quoted))


def _encode(path: str, text: str, encoding: str) -> bytes:
    try:
        return text.encode(encoding)
    except UnicodeEncodeError as error:
        raise Mismatch(f"{path}: `new` holds a character that {encoding} cannot write: {error}") from error


def _find(edit: Edit, plain: str, quoted: bool) -> tuple[int, int]:
    """Return where the old text stands in a text with plain newlines; only what may be shown is ``quoted``."""
    old = _plain(edit.old)[0]
    first = plain.find(old)
    if first < 0:
        nearest = f" The nearest text is:\n{_nearest(old, plain)}" if quoted else ""
        raise Mismatch(f"{edit.path}: `old` does not occur in the file.{nearest}")
    if plain.find(old, first + 1) >= 0:
        raise Mismatch(f"{edit.path}: `old` occurs more than once; include more of the lines around it")
    return first, first + len(old)


def _plain(text: str) -> tuple[str, Sequence[int]]:
    """Return the text with plain newlines, and for each place in it the place in the text as it is."""
    if "\r\n" not in text:
        return text, range(len(text) + 1)
    places = [i for i, char in enumerate(text) if not (char == "\n" and i and text[i - 1] == "\r")]
    places.append(len(text))
    return text.replace("\r\n", "\n"), places


def _with_newlines(new: str, text: str, start: int, end: int) -> str:
    """Give new text the newlines of the text that it replaces, else those of the file."""
    plain = new.replace("\r\n", "\n")
    replaced = text[start:end]
    around = replaced if "\n" in replaced else text
    mostly_crlf = around.count("\r\n") * 2 > around.count("\n")
    return plain.replace("\n", "\r\n") if mostly_crlf else plain


def _nearest(old: str, text: str) -> str:
    """Return the lines that have most in common with the text that was looked for, with their surroundings."""
    lines, wanted = text.split("\n"), old.strip("\n").split("\n")
    keys = {line.strip() for line in wanted if line.strip()}
    hits = [line.strip() in keys for line in lines]
    if not any(hits):
        close = difflib.get_close_matches(max(keys, key=len, default=""), {line.strip() for line in lines}, n=1)
        hits = [line.strip() in close for line in lines]
    height = len(wanted)
    start = max(range(max(1, len(lines) - height + 1)), key=lambda i: sum(hits[i : i + height]))
    first, last = max(0, start - _AROUND), min(len(lines), start + height + _AROUND)
    return "\n".join(lines[first:last])
