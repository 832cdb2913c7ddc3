"""From a worker's records to a report: a strict reader, because the records are claims of the code on trial."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from pytest_noepicycle.domain.failure import Failure, Frame
from pytest_noepicycle.domain.trial import End, Outcome, Report, Status

_T = TypeVar("_T")
_EXCUSABLE = (Status.SKIPPED, Status.XFAILED)
_ENDS = {end.value: end for end in (End.COMPLETE, End.STOPPED, End.TIMEOUT, End.DIED, End.VOID)}
_MOST_VALUES = 12  # local variables of a frame
_STEERING = (*range(32), *range(0x7F, 0xA0), *range(0x202A, 0x202F), *range(0x2066, 0x206A))
_PRINTABLE = dict.fromkeys((code for code in _STEERING if chr(code) not in "\n\t"), 0xFFFD)


class Untrusted(Exception):
    """A record or an answer that no honest worker gives."""


@dataclass(frozen=True, slots=True)
class Closing:
    """How a worker ended a trial; see ``done`` in ``inside.frames``."""

    end: End
    hung: str | None = None
    why: str = ""
    output: str = ""
    seconds: float = 0.0


@dataclass(slots=True)
class _Test:
    """What was reported of one test so far."""

    outcomes: dict[str, str] = field(default_factory=dict)
    xfail: bool = False
    excused: bool = False  # marked by its author as one that may be skipped or fail
    seconds: float = 0.0
    failure: Failure | None = None

    @property
    def expected(self) -> str | None:
        """Return the phase that must come next, or None after the last."""
        if not self.outcomes:
            return "setup"
        if "teardown" in self.outcomes:
            return None
        return "call" if "call" not in self.outcomes and self.outcomes["setup"] == "passed" else "teardown"


@dataclass(slots=True)
class _Reading:
    """The records read so far, in the order in which they came."""

    tests: dict[str, _Test] = field(default_factory=dict)
    collect: dict[str, Failure] = field(default_factory=dict)
    collected: dict[str, None] = field(default_factory=dict)
    coverage: dict[str, dict[str, frozenset[int]]] = field(default_factory=dict)
    current: str | None = None
    ended: bool = False

    def take(self, record: Any) -> None:
        """Take one record.

        :raises Untrusted: where it is malformed, or cannot come at this place.
        """
        kind = _field(record, "k", str)
        reader = _READERS.get(kind)
        if reader is None or self.ended:
            raise Untrusted(f"a record {kind[:40]!r} " + ("after the end" if self.ended else "of no known kind"))
        reader(self, record)


def fold(records: Sequence[Any], ids: Sequence[str] | None, closing: Closing) -> Report:
    """Return the report of a trial that was asked for ``ids`` (None: all).

    Each id that was asked for has an outcome. Records that cannot be trusted make the whole trial void.
    """
    reading = _Reading()
    try:
        for record in records:
            reading.take(record)
        if closing.end is End.COMPLETE and not reading.ended:
            raise Untrusted("a complete trial without its end record")
    except Untrusted as error:
        reading = _Reading()
        closing = replace(closing, end=End.VOID, why=f"the records cannot be trusted: {error}")
    return _report(reading, ids, closing)


def read_closing(message: Mapping[str, Any]) -> Closing:
    """Return the closing that a ``done`` message holds.

    :raises Untrusted: where it is malformed.
    """
    end = _ENDS.get(_field(message, "end", str))
    hung = message.get("hung")
    if end is None or not (hung is None or isinstance(hung, str)):
        raise Untrusted("a trial's end of no known kind")
    why, output = _clean(_field(message, "why", str), 4096), _clean(_field(message, "output", str), 64 * 1024)
    return Closing(end, hung, why, output, _seconds(message))


def _report(reading: _Reading, ids: Sequence[str] | None, closing: Closing) -> Report:
    found = {name: _outcome(name, test, closing) for name, test in reading.tests.items()}
    found.update({name: Outcome(name, Status.ERROR, failure=failure) for name, failure in reading.collect.items()})
    wanted = dict.fromkeys(ids) if ids is not None else dict.fromkeys((*reading.tests, *reading.collected))
    files = {name for name in wanted if "::" not in name}
    excused = {name for name, test in reading.tests.items() if test.excused}
    alone = {name: outcome for name, outcome in found.items() if ids is None or name not in wanted}
    for name in files - found.keys():
        found[name] = _file(name, alone, excused)
    outcomes = {name: found.get(name) or Outcome(name, Status.MISSING) for name in wanted}
    asked = {n: o for n, o in found.items() if n in reading.collect or any(_lies_in(n, file) for file in files)}
    if closing.hung is not None and closing.hung in outcomes:
        outcomes[closing.hung] = _timed_out(closing.hung, reading.tests.get(closing.hung))
    return Report(
        outcomes={**outcomes, **{name: outcome for name, outcome in asked.items() if name not in outcomes}},
        end=closing.end,
        hung=closing.hung,
        unknown=tuple(name for name in found if name not in outcomes and name not in asked),
        collected=tuple(reading.collected),
        coverage=reading.coverage,
        output=closing.output,
        seconds=closing.seconds,
        why=closing.why,
    )


def _outcome(name: str, test: _Test, closing: Closing) -> Outcome:
    if test.expected is not None:  # it broke off in the middle
        return Outcome(name, Status.MISSING, test.seconds, test.failure)
    return Outcome(name, _status(test), test.seconds, test.failure)


def _status(test: _Test) -> Status:
    if test.outcomes["setup"] == "failed" or test.outcomes["teardown"] == "failed":
        return Status.ERROR if test.outcomes.get("call") != "failed" else Status.FAILED
    if "failed" in test.outcomes.values():
        return Status.FAILED
    if test.xfail:
        return Status.XFAILED if "skipped" in test.outcomes.values() else Status.XPASSED
    if "skipped" in test.outcomes.values():
        return Status.SKIPPED
    return Status.PASSED


def _file(name: str, found: Mapping[str, Outcome], excused: Set[str]) -> Outcome:
    """Judge a file or folder as one target: it passes when it was collected and all its tests pass.

    Tests that are marked to be skipped or to fail may do so, as long as another one passes.
    """
    inside = [outcome for test, outcome in found.items() if _lies_in(test, name)]
    bad = [o for o in inside if not o.passed and not (o.test in excused and o.status in _EXCUSABLE)]
    seconds = sum(outcome.duration for outcome in inside)
    if not any(outcome.passed for outcome in inside) and not bad:
        return Outcome(name, Status.MISSING)
    if not bad:
        return Outcome(name, Status.PASSED, seconds)
    return replace(bad[0], test=name, duration=seconds)


def _lies_in(test: str, place: str) -> bool:
    """Whether an id belongs to a file or to a folder, the root's folder being a dot."""
    path = test.partition("::")[0]
    return place == "." or path == place or path.startswith(f"{place}/")


def _timed_out(name: str, test: _Test | None) -> Outcome:
    phase = (test.expected if test else None) or "call"
    failure = Failure(name, phase, "Timeout", "The test did not end within its time and was killed.")
    return Outcome(name, Status.TIMEOUT, test.seconds if test else 0.0, failure)


def _start(reading: _Reading, record: Mapping[str, Any]) -> None:
    name = _field(record, "id", str)
    if name in reading.tests:
        raise Untrusted(f"{name} started twice")
    if reading.current is not None:
        raise Untrusted(f"{name} started before {reading.current} had ended")
    reading.tests[name] = _Test(excused=record.get("excused") is True)
    reading.current = name


def _phase(reading: _Reading, record: Mapping[str, Any]) -> None:
    name, when = _field(record, "id", str), _field(record, "when", str)
    outcome = _field(record, "outcome", str)
    test = reading.tests.get(name)
    if test is None or name != reading.current or when != test.expected:
        raise Untrusted(f"{name} reported {when[:40]!r} out of its turn")
    if outcome not in ("passed", "failed", "skipped"):
        raise Untrusted(f"{name} reported no known outcome")
    test.outcomes[when] = outcome
    test.xfail |= _field(record, "xfail", bool)
    test.seconds += _seconds(record)
    if outcome == "failed" and test.failure is None:
        test.failure = _failure(name, when, record.get("failure"))
    if when == "teardown":
        reading.current = None


def _collect(reading: _Reading, record: Mapping[str, Any]) -> None:
    name = _field(record, "id", str)
    if name in reading.tests:
        raise Untrusted(f"{name} failed to be collected after it had run")
    reading.collect.setdefault(name, _failure(name, "collect", record.get("failure")))


def _collected(reading: _Reading, record: Mapping[str, Any]) -> None:
    reading.collected.update(dict.fromkeys(_list(record, "ids", str)))


def _coverage(reading: _Reading, record: Mapping[str, Any]) -> None:
    name, files = _field(record, "id", str), _field(record, "files", dict)
    if name and name not in reading.tests:
        raise Untrusted(f"coverage of {name}, which did not run")
    known = reading.coverage.setdefault(name, {})
    for path in files:
        known[path] = known.get(path, frozenset()) | frozenset(_list(files, path, int))


def _end(reading: _Reading, record: Mapping[str, Any]) -> None:
    finished = sum(test.expected is None for test in reading.tests.values())
    if _field(record, "count", int) != finished:
        raise Untrusted("the count of the tests is not the number of those reported")
    reading.ended = True


_READERS = {
    "start": _start,
    "phase": _phase,
    "collect": _collect,
    "collected": _collected,
    "coverage": _coverage,
    "end": _end,
}


def _failure(name: str, phase: str, raw: Any) -> Failure:
    """Read a failure; one that is not told has still failed, so nothing is refused for a missing text."""
    if raw is None:
        return Failure(name, phase, "", "")
    frames = tuple(_frame(frame) for frame in _list(raw, "frames", list)[:40])
    exception, message = _field(raw, "exception", str), _field(raw, "message", str)
    text = _field(raw, "text", str)
    return Failure(name, phase, _clean(exception, 200), _clean(message, 4096), frames, _clean(text[-8192:], 8192))


def _frame(raw: list[Any]) -> Frame:
    if [type(part) for part in raw[:3]] != [str, int, str] or len(raw) > 4:
        raise Untrusted("a traceback that is none")
    path, line, function = raw[:3]
    return Frame(path[:4096], line, function[:500], tuple(_value(pair) for pair in _pairs(raw[3:])))


def _pairs(rest: list[Any]) -> list[Any]:
    if not rest:
        return []
    if not isinstance(rest[0], list):
        raise Untrusted("local variables that are none")
    return rest[0][:_MOST_VALUES]


def _value(pair: Any) -> tuple[str, str]:
    if not isinstance(pair, list) or [type(part) for part in pair] != [str, str]:
        raise Untrusted("a local variable that is none")
    return _clean(pair[0], 120), _clean(pair[1], 120)


def _field(record: Any, name: str, kind: type[_T]) -> _T:
    value = record.get(name) if isinstance(record, dict) else None
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        raise Untrusted(f"a record whose {name!r} is no {kind.__name__}")
    return value


def _list(record: Any, name: str, kind: type[_T]) -> list[_T]:
    values: list[Any] = _field(record, name, list)
    if not all(isinstance(value, kind) for value in values):
        raise Untrusted(f"a record whose {name!r} holds something that is no {kind.__name__}")
    return values


def _seconds(record: Mapping[str, Any]) -> float:
    value = record.get("seconds")
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value) or value < 0:
        raise Untrusted("a duration that is none")
    return float(value)


def _clean(text: str, size: int) -> str:
    """Cut a text, and take from it what could steer a terminal or cannot be written as UTF-8."""
    return text[:size].translate(_PRINTABLE).encode("utf-8", "replace").decode()
