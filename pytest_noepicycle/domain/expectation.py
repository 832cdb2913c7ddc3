"""What failing tests demand, as sentences: read off their assertions, without a model and without a token."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from pytest_noepicycle.domain.failure import Failure

_MOST, _LONGEST = 6, 240
_COMPARED = re.compile(r"assert (?P<is>.+?) (?P<op>==|!=|<=|>=|<|>|is not|is|not in|in) (?P<should>.+)")
_WHERE = re.compile(r"\+\s+where (?P<value>.+?) = (?P<made>.+)")
_UNEQUAL = re.compile(r"(?P<is>.+?) != (?P<should>.+?)(?: : .*| within .*)?")
_NOT_RAISED = re.compile(r"DID NOT RAISE (?:any of )?(?P<what>.+)|(?P<name>[\w.]+) not raised(?: by .*)?")
_CLASS = re.compile(r"<class '(?:[\w<>]+\.)*([\w]+)'>")
_WORDS = {
    "==": "must be",
    "!=": "must not be",
    "<": "must be less than",
    "<=": "must be at most",
    ">": "must be greater than",
    ">=": "must be at least",
    "is": "must be",
    "is not": "must not be",
    "in": "must be in",
    "not in": "must not be in",
}


def expectations(failures: Iterable[Failure]) -> tuple[str, ...]:
    """Return what must hold for the failing tests to pass: values, exceptions, and what must not be raised."""
    found: dict[str, None] = {}
    for failure in failures:
        sentence = _sentence(failure)
        if sentence:
            found[_short(sentence)] = None
    return tuple(found)[:_MOST]


def _sentence(failure: Failure) -> str:
    lines = [line.strip() for line in failure.said.splitlines() if line.strip()]
    if not lines:
        return f"{failure.exception} must not be raised{_place(failure)}" if failure.exception else ""
    missing = _NOT_RAISED.fullmatch(lines[0])
    if missing:
        return f"{_exceptions(missing['what'] or missing['name'])} must be raised, and nothing is"
    if failure.exception == "AssertionError" or failure.exception == "Failed":
        return _of_assertion(lines)
    return f"{failure.exception} must not be raised{_place(failure)} ({lines[0]})"


def _of_assertion(lines: list[str]) -> str:
    """Read pytest's rewritten assertion, or the message of a unittest one; free text says nothing sure."""
    start = next((place for place, line in enumerate(lines) if line.startswith("assert ")), None)
    if start is None:
        unequal = _UNEQUAL.fullmatch(lines[0])
        return f"{unequal['is']} and {unequal['should']} must be equal, and are not" if unequal else ""
    made = dict(_made(lines[start + 1 :]))
    compared = _COMPARED.fullmatch(lines[start])
    if compared is None:
        value = lines[start].removeprefix("assert ").removeprefix("not ")
        truth = "false" if lines[start].startswith("assert not ") else "true"
        return f"{made.get(value, value)} must be {truth}" + (f"; it is {value}" if value in made else "")
    now, should = compared["is"], made.get(compared["should"], compared["should"])
    what = made.get(now)
    subject, tail = (what, f"; it is {now}") if what else (now, "")
    if should != compared["should"]:
        should += f", which is {compared['should']}"
    return f"{subject} {_WORDS[compared['op']]} {should}{tail}"


def _made(lines: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Yield for each value that pytest explains the expression that it came from; the outermost come first."""
    seen = set[str]()
    for line in lines:
        where = _WHERE.fullmatch(line)
        if where and where["value"] not in seen:
            seen.add(where["value"])
            yield where["value"], where["made"]


def _exceptions(text: str) -> str:
    names = _CLASS.findall(text)
    return " or ".join(names) if names else text.strip()


def _place(failure: Failure) -> str:
    inside = [frame for frame in failure.frames if frame.inside_tree]
    return f" in {inside[-1].function} at {inside[-1].path}:{inside[-1].line}" if inside else ""


def _short(sentence: str) -> str:
    sentence = " ".join(sentence.split())
    return sentence if len(sentence) <= _LONGEST else sentence[: _LONGEST - 1] + "…"
