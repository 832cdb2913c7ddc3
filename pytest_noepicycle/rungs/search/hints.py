"""What the failures say that helps to choose an edit: values, names, exceptions, and where it broke."""

from __future__ import annotations

import ast
import difflib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from pytest_noepicycle.domain.failure import Failure

Literal = int | float | str | bool | None

_COMPARED = re.compile(r"^(?:AssertionError: )?(?:assert )?(.+?) (?:==|!=|is not|is|in|<=|>=|<|>) (.+)$")
_RAISES = re.compile(r"DID NOT RAISE <class '(?:\w+\.)*(\w+)'>|raises\(\s*(?:\w+\.)*(\w+)|assertRaises\(\s*(\w+)")
_UNRAISED = re.compile(r"DID NOT RAISE <class '(?:\w+\.)*(\w+)'>|(\w+) not raised")
_MISSING = re.compile(
    r"name '(\w+)' is not defined|has no attribute '(\w+)'|cannot import name '(\w+)'"
    r"|local variable '(\w+)'|unexpected keyword argument '(\w+)'|missing \d+ required [\w-]+ arguments?: '(\w+)'"
)
_MEANT = re.compile(r"'(\w+)'[^']*\. Did you mean:? (?:the standard library module )?'(?:self\.)?(\w+)'")


@dataclass(frozen=True)
class Hints:
    """Evidence from the failures' texts.

    ``wanted`` are exceptions that tests speak of, ``unraised`` those that they waited for in vain;
    ``crashes`` maps (path, line) to the exception raised there; ``pairs`` holds what was compared, (actual,
    expected); ``missing`` are names that do not exist, ``meant`` what the interpreter suggests for them,
    or what the project has; ``modules`` are modules that are not there, with the likest that is;
    ``reordered``: a list held the right values in another order; ``empty``: an empty sequence was not thought of.
    """

    raised: frozenset[str] = frozenset()
    wanted: tuple[str, ...] = ()
    unraised: tuple[str, ...] = ()
    crashes: Mapping[tuple[str, int], str] = field(default_factory=dict)
    pairs: tuple[tuple[Literal, Literal], ...] = ()
    missing: frozenset[str] = frozenset()
    meant: Mapping[str, str] = field(default_factory=dict)
    modules: Mapping[str, str] = field(default_factory=dict)
    reordered: bool = False
    empty: bool = False

    @cached_property
    def steps(self) -> tuple[int, ...]:
        """Return by how much whole numbers, or the lengths of texts, were off; the nearest to zero first."""
        lengths = {len(b) - len(a) for a, b in self.pairs if isinstance(a, str) and isinstance(b, str)} - {0}
        found = {int(b) - int(a) for a, b in self.pairs if _whole(a) and _whole(b) and a != b}  # type: ignore[arg-type]
        return tuple(sorted(found | lengths, key=lambda n: (abs(n), n)))

    @cached_property
    def case_differs(self) -> bool:
        """Whether some compared texts differ in upper and lower case alone."""
        return any(a.lower() == b.lower() for a, b in self.fragments)

    @cached_property
    def blanks_differ(self) -> bool:
        """Whether some compared texts differ in white space alone."""
        return any(not (a + b).strip() for a, b in self.fragments)

    @cached_property
    def fragments(self) -> tuple[tuple[str, str], ...]:
        """Return the pieces of text in which compared strings differ: (as it is, as it should be)."""
        pairs = [(a, b) for a, b in self.pairs if isinstance(a, str) and isinstance(b, str)]
        return tuple(dict.fromkeys(piece for a, b in pairs for piece in _differences(a, b)))


def read_hints(failures: Iterable[Failure]) -> Hints:
    """Return what the failures say; ``crashes`` holds every frame's place of those that raised."""
    listed = list(failures)
    texts = [f"{f.message}\n{f.text}" for f in listed]
    crashes: dict[tuple[str, int], str] = {}
    for failure in listed:
        for frame in failure.frames:
            crashes.setdefault((frame.path, frame.line), _bare(failure.exception))
    return Hints(
        raised=frozenset(_bare(f.exception) for f in listed),
        wanted=_names(_RAISES, texts),
        unraised=_names(_UNRAISED, texts),
        crashes=crashes,
        pairs=tuple(dict.fromkeys(pair for f in listed for pair in _compared(f.message))),
        missing=frozenset(_names(_MISSING, texts)),
        reordered=any(_reordered(f.message) for f in listed),
        empty=any("empty" in f.message and "ValueError" in f.exception for f in listed),
        meant={a: b for text in texts for a, b in _MEANT.findall(text)},
    )


def _names(pattern: re.Pattern[str], texts: Iterable[str]) -> tuple[str, ...]:
    found = (group for text in texts for match in pattern.finditer(text) for group in match.groups() if group)
    return tuple(dict.fromkeys(found))


def _sides(message: str) -> Iterable[tuple[object, object]]:
    """Find the two sides of failed comparisons, as values."""
    for line in message.splitlines()[:3]:
        match = _COMPARED.match(line.strip())
        if match is not None:
            yield _value(match[1]), _value(match[2])


def _reordered(message: str) -> bool:
    lists = [(a, b) for a, b in _sides(message) if isinstance(a, list | tuple) and isinstance(b, list | tuple)]
    return any(a != b and sorted(map(repr, a)) == sorted(map(repr, b)) for a, b in lists)


def _compared(message: str) -> Iterable[tuple[Literal, Literal]]:
    """Find the two sides of a failed comparison where both are plain values, or lists that differ in one."""
    for left, right in _sides(message):
        yield from _plain_pairs(left, right)


def _plain_pairs(left: object, right: object) -> Iterable[tuple[Literal, Literal]]:
    if isinstance(left, list | tuple) and isinstance(right, list | tuple):
        for a, b in zip(left, right, strict=False):
            if a != b:
                yield from _plain_pairs(a, b)
    elif isinstance(left, dict) and isinstance(right, dict):
        for key in [k for k in left if k in right and left[k] != right[k]]:
            yield from _plain_pairs(left[key], right[key])
        extra, absent = [k for k in left if k not in right], [k for k in right if k not in left]
        yield from (pair for a, b in zip(extra, absent, strict=False) for pair in _plain_pairs(a, b))
    elif _plain(left) and _plain(right):
        yield left, right  # type: ignore[misc]


class _Unknown:
    """Stands for a side of a comparison that is no literal."""


def _value(text: str) -> object:
    try:
        return ast.literal_eval(text.strip())
    except (ValueError, SyntaxError, MemoryError, RecursionError, TypeError):
        return _Unknown()


def _plain(value: object) -> bool:
    return value is None or isinstance(value, int | float | str | bool)


def _whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _bare(exception: str) -> str:
    return exception.rpartition(".")[2]


def _differences(actual: str, expected: str) -> list[tuple[str, str]]:
    """Return the differing pieces, first with a little of what stands beside them: that tells where they belong."""
    if max(len(actual), len(expected)) > 2000:
        return []
    matcher = difflib.SequenceMatcher(None, actual, expected, autojunk=False)
    pieces: list[tuple[str, str]] = []
    for tag, i1, i2, j1, j2 in matcher.get_opcodes():
        if tag != "equal" and i2 - i1 < 40:
            old, new = actual[i1:i2], expected[j1:j2]
            before, after = actual[max(0, i1 - 3) : i1], actual[i2 : i2 + 3]
            pieces += [(before + old, before + new), (old + after, new + after), (old, new)]
    return [(old, new) for old, new in dict.fromkeys(pieces) if old != new]
