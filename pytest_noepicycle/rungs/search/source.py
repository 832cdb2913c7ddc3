"""A source file that can be edited byte for byte: its text, its encoding, its newlines, and where nodes lie."""

from __future__ import annotations

import ast
import codecs
import io
import re
import tokenize
from bisect import bisect_right
from dataclasses import dataclass

_NEWLINE = re.compile(r"\r\n|\n|\r")


@dataclass(frozen=True, slots=True)
class Source:
    """Decoded source. Offsets count characters of ``text``; lines count from 1, as in ``ast``.

    ``starts`` holds the offset at which each line begins; ``newline`` is what new lines of an edit will end with.
    """

    text: str
    encoding: str
    bom: bytes
    starts: tuple[int, ...]
    newline: str

    @classmethod
    def decode(cls, raw: bytes) -> Source | None:
        """Return the source, or None where its bytes would not survive being read and written."""
        bom = codecs.BOM_UTF8 if raw.startswith(codecs.BOM_UTF8) else b""
        try:
            encoding, _ = tokenize.detect_encoding(io.BytesIO(raw).readline)
            encoding = "utf-8" if encoding == "utf-8-sig" else encoding
            text = raw[len(bom) :].decode(encoding)
            lossless = bom + text.encode(encoding) == raw
        except (SyntaxError, UnicodeError, LookupError):
            return None
        if not lossless:
            return None
        found = list(_NEWLINE.finditer(text))
        starts = (0, *(match.end() for match in found))
        return cls(text, encoding, bom, starts, found[0].group() if found else "\n")

    def offset(self, line: int, column: int) -> int:
        """Return the offset of a position as ``ast`` gives it: ``column`` counts UTF-8 bytes of the line."""
        start, end = self.starts[line - 1], self.line_end(line)
        content = self.text[start:end]
        if content.isascii():
            return start + column
        return start + len(content.encode("utf-8", "surrogatepass")[:column].decode("utf-8", "ignore"))

    def line_start(self, line: int) -> int:
        """Return the offset at which a line begins; the line after the last one begins at the end."""
        return self.starts[line - 1] if line <= len(self.starts) else len(self.text)

    def line_end(self, line: int) -> int:
        """Return the offset behind a line and its newline."""
        return self.starts[line] if line < len(self.starts) else len(self.text)

    def line_at(self, offset: int) -> int:
        """Return the number of the line that holds an offset."""
        return bisect_right(self.starts, offset)

    def line(self, number: int) -> str:
        """Return a line without its newline."""
        return self.text[self.line_start(number) : self.line_end(number)].rstrip("\r\n")

    def span(self, node: ast.AST) -> tuple[int, int]:
        """Return the offsets between which an expression or a statement stands."""
        start = self.offset(node.lineno, node.col_offset)  # type: ignore[attr-defined]
        return start, self.offset(node.end_lineno, node.end_col_offset)  # type: ignore[attr-defined]

    def segment(self, node: ast.AST) -> str:
        """Return the text of a node as it stands."""
        start, end = self.span(node)
        return self.text[start:end]

    def replaced(self, start: int, end: int, text: str) -> str:
        """Return the whole text with a span replaced; newlines in ``text`` take the file's own form."""
        return self.text[:start] + _NEWLINE.sub(lambda _: self.newline, text) + self.text[end:]

    def encode(self, text: str) -> bytes | None:
        """Return the bytes of a changed text, or None where the file's encoding cannot hold it."""
        try:
            return self.bom + text.encode(self.encoding)
        except UnicodeError:
            return None
