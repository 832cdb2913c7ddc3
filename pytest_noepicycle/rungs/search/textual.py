"""Edits for a file that does not parse: what is usually missing or superfluous at the line of the error."""

from __future__ import annotations

import difflib
import keyword
import re
import warnings
from collections.abc import Iterator

from pytest_noepicycle.rungs.search.edits import Edit, shown
from pytest_noepicycle.rungs.search.source import Source

_HEADS = (
    "if",
    "elif",
    "else",
    "for",
    "while",
    "def",
    "class",
    "try",
    "except",
    "finally",
    "with",
    "async",
    "match",
    "case",
)
_CLOSING = {"(": ")", "[": "]", "{": "}"}
_SPELLINGS = (("else if", "elif"), ("&&", "and"), ("||", "or"), ("=+", "+="), ("=-", "-="), ("=>", ">="), ("=<", "<="),
              ("++", " += 1"), ("===", "=="), ("!==", "!="), ("function ", "def "), ("<>", "!="))  # fmt: skip
_CODE = re.compile(r"(\"(?:\\.|[^\"\\])*\"|'(?:\\.|[^'\\])*')|#.*")


def repairs(source: Source, line: int) -> Iterator[tuple[str, Edit]]:
    """Yield (name of the slip, edit) for a line, the likeliest first; none of them is checked yet."""
    if not 1 <= line <= len(source.starts):
        return
    for name, find in _FINDERS:
        for edit in find(source, line):
            yield name, edit


def error_line(source: Source) -> int | None:
    """Return the line at which the parser gives up, or None where the text parses."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            compile(source.text, "<source>", "exec", dont_inherit=True)
        except SyntaxError as error:
            return error.lineno or 1
        except (ValueError, RecursionError):
            return None
    return None


def _code(text: str) -> str:
    """Blank what stands in strings and comments, so that only code is looked at."""
    return _CODE.sub(lambda m: "_" * len(m[0]) if m[1] else " " * len(m[0]), text)


def _at(source: Source, line: int, column: int, text: str, what: str, likelihood: float = 1.0) -> Edit:
    place = source.line_start(line) + column
    return Edit(place, place, text, f"add {shown(text.strip())} {what}".strip(), likelihood)


def _colon(source: Source, line: int) -> Iterator[Edit]:
    code = _code(source.line(line)).rstrip()
    head = re.match(r"\s*(\w+)", code)
    if head and head[1] in _HEADS and not code.endswith(":"):
        yield _at(source, line, len(code), ":", "at the end of the line")


def _bracket(source: Source, line: int) -> Iterator[Edit]:
    code = _code(source.line(line)).rstrip()
    opened: list[str] = []
    for column, char in enumerate(code):
        if char in _CLOSING:
            opened.append(_CLOSING[char])
        elif char in _CLOSING.values():
            if opened and opened[-1] == char:
                opened.pop()
                continue
            place = source.line_start(line) + column
            yield Edit(place, place + 1, "", f"leave out `{char}`")
            if opened:
                yield Edit(place, place + 1, opened[-1], f"`{char}` → `{opened[-1]}`", 0.9)
    if opened:
        missing = "".join(reversed(opened))
        for column in _closing_places(code):
            yield _at(source, line, column, missing, "to close the bracket")


def _closing_places(code: str) -> list[int]:
    """Return where a bracket may close, from the end of the line inwards."""
    ends = [len(code), *(len(code) - 1 for _ in [0] if code[-1:] in ":,")]
    inner = [
        match.start() for match in re.finditer(r"(?<=\w)\s+(?=(?:and|or|if|else|for|in|is|not)\b|[-+*/<>=!])", code)
    ]
    return [*reversed(ends), *reversed(inner)]


def _quote(source: Source, line: int) -> Iterator[Edit]:
    code = _code(source.line(line)).rstrip()
    for quote in ('"', "'"):
        if quote in code:
            for column in dict.fromkeys([len(code), *reversed([m.start() for m in re.finditer(r"[),:\]}]", code)])]):
                yield _at(source, line, column, quote, "to end the text", 0.9)
            first = re.search(r"(?<=[(=,\[{ ])\w", code)
            if first:
                yield _at(source, line, first.start(), quote, "to begin the text", 0.7)


def _comma(source: Source, line: int) -> Iterator[Edit]:
    code = _code(source.line(line)).rstrip()
    if code and code[-1] not in ",:([{":
        yield _at(source, line, len(code), ",", "at the end of the line")
    for match in re.finditer(r"(?<=[\w)\]}'\"])\s+(?=[\w(\[{'\"])", code):
        yield _at(source, line, match.start(), ",", "between two values", 0.9)


def _equals(source: Source, line: int) -> Iterator[Edit]:
    code = _code(source.line(line))
    for match in re.finditer(r"(?<![=!<>+\-*/%&|^:])=(?!=)", code):
        place = source.line_start(line) + match.start()
        yield Edit(place, place + 1, "==", "`=` → `==`")
    for match in re.finditer("==", code):
        place = source.line_start(line) + match.start()
        yield Edit(place, place + 2, "=", "`==` → `=`")


def _spelling(source: Source, line: int) -> Iterator[Edit]:
    code = _code(source.line(line))
    start = source.line_start(line)
    for old, new in _SPELLINGS:
        place = code.find(old)
        if place >= 0:
            yield Edit(start + place, start + place + len(old), new, f"`{old.strip()}` → `{new.strip()}`")
    for match in re.finditer(r"\b[A-Za-z_]{2,}\b", code):
        if not keyword.iskeyword(match[0]):
            for word in difflib.get_close_matches(match[0], keyword.kwlist, n=1, cutoff=0.7):
                yield Edit(start + match.start(), start + match.end(), word, f"`{match[0]}` → `{word}`")
    old_print = re.match(r"(\s*)print\s+(\S.*)$", source.line(line))
    if old_print:
        new = f"{old_print[1]}print({old_print[2]})"
        yield Edit(start, start + len(source.line(line)), new, "`print` is a function")


def _indentation(source: Source, line: int) -> Iterator[Edit]:
    """Try the indentations that stand above, and one level more; for the line, then for its whole block."""
    text = source.line(line)
    if not text.strip():
        return
    old = _indent(text)
    above = [_indent(source.line(n)) for n in range(line - 1, max(0, line - 12), -1) if source.line(n).strip()]
    step = "\t" if any(a.startswith("\t") for a in above) else "    "
    wanted = dict.fromkeys([*([above[0] + step] if above else []), *above, ""])
    last = line
    while last < len(source.starts) and _deeper(source.line(last + 1), old):
        last += 1
    for indent in [w for w in wanted if w != old]:
        for end in dict.fromkeys((last, line)):
            lines = [source.line(n) for n in range(line, end + 1)]
            moved = "\n".join(indent + t[len(old) :] if t.strip() else t for t in lines)
            stop = source.line_start(end) + len(source.line(end))
            yield Edit(source.line_start(line), stop, moved, f"indent {shown(text)} by {len(indent)}")


def _indent(text: str) -> str:
    return text[: len(text) - len(text.lstrip(" \t"))]


def _deeper(text: str, indent: str) -> bool:
    return not text.strip() or (text.startswith(indent) and bool(indent))


def _empty_block(source: Source, line: int) -> Iterator[Edit]:
    head = source.line(line - 1) if line > 1 else ""
    if head.rstrip().endswith(":"):
        place = source.line_start(line)
        yield Edit(place, place, f"{_indent(head)}    pass\n", "add `pass`", 0.5)


_FINDERS = (
    ("missing-colon", _colon),
    ("unbalanced-bracket", _bracket),
    ("unbalanced-quote", _quote),
    ("assignment-or-comparison", _equals),
    ("misspelt", _spelling),
    ("wrong-indentation", _indentation),
    ("missing-comma", _comma),
    ("empty-block", _empty_block),
)
