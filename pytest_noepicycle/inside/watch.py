"""Watching one trial: reads its records and its output, keeps the time, and says how it ended."""

from __future__ import annotations

import json
import os
import selectors
import time
from typing import Any, Callable, Dict, List, Optional, Tuple

from .frames import MAX_RECORD, MAX_RECORDS

_CHUNK = 64 * 1024
_HEAD = 4 * 1024
_TAIL = 16 * 1024
_BATCH_BYTES = 1024 * 1024
_LOOK_SECONDS = 0.05
_STATUS = {2: "was interrupted", 3: "met an internal error", 4: "was called in a way it does not understand"}


class Output:
    """The head and the tail of what a trial prints; what lies between is counted and forgotten."""

    def __init__(self) -> None:
        self._head = bytearray()
        self._tail = bytearray()
        self._size = 0

    def add(self, data: bytes) -> None:
        """Take more of it."""
        self._size += len(data)
        room = _HEAD - len(self._head)
        self._head += data[:room]
        self._tail += data[max(0, room) :]
        del self._tail[:-_TAIL]

    def text(self) -> str:
        """Return it for people: undecodable bytes and control characters are made visible."""
        left_out = self._size - len(self._head) - len(self._tail)
        gap = f"\n[... {left_out} bytes left out ...]\n".encode() if left_out else b""
        text = bytes(self._head + gap + self._tail).decode("utf-8", "replace").replace("\r\n", "\n")
        return "".join(_visible(letter) for letter in text)


class BadRecords(Exception):
    """What came through the records' pipe is no record, or too much of it."""


class Lines:
    """Records out of bytes: one JSON object a line, each and all of them bounded, nothing after the end."""

    def __init__(self) -> None:
        self._rest = b""
        self._size = 0
        self.end: Optional[Dict[str, Any]] = None

    def add(self, data: bytes) -> List[Dict[str, Any]]:
        """Return the records that are complete now.

        :raises BadRecords: where a line is none, or a bound is passed.
        """
        self._size += len(data)
        *lines, self._rest = (self._rest + data).split(b"\n")
        if self._size > MAX_RECORDS or len(self._rest) > MAX_RECORD or any(len(line) > MAX_RECORD for line in lines):
            raise BadRecords("the trial wrote more records than it may")
        if self.end is not None and data:
            raise BadRecords("something was written after the end record")
        return [self._record(line) for line in lines]

    def _record(self, line: bytes) -> Dict[str, Any]:
        try:
            record = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise BadRecords(f"a record that is no JSON: {error}") from error
        if not isinstance(record, dict) or self.end is not None:
            raise BadRecords("a record that is no object" if self.end is None else "a record after the end")
        if record.get("k") == "end":
            self.end = record
        return record


class Timer:
    """The time of the test that runs: begun anew by each of its records, unbounded between tests."""

    def __init__(self, request: Dict[str, Any], now: float) -> None:
        self._default = float(request["default_test_seconds"])
        self._seconds: Dict[str, float] = request["test_seconds"]
        self.end = now + float(request["seconds"])
        self.test: Optional[str] = None
        self.test_end = self.end

    def note(self, record: Dict[str, Any], now: float) -> None:
        """Take a record's word for which test runs."""
        kind, name = record.get("k"), record.get("id")
        if kind not in ("start", "phase") or not isinstance(name, str):
            return
        over = kind == "phase" and record.get("when") == "teardown"
        self.test = None if over else name
        self.test_end = self.end if over else now + float(self._seconds.get(name, self._default))

    def left(self, now: float) -> float:
        """Return the seconds until something must be done."""
        return max(0.0, min(self.end, self.test_end) - now)

    def verdict(self, now: float) -> Optional[Tuple[Optional[str], str]]:
        """Return the test that hangs, or None for all of them together, and why; None while there is time."""
        if self.test is not None and now >= self.test_end and self.test_end <= self.end:
            return self.test, f"{self.test} did not end within its time"
        if now >= self.end:
            during = f" while {self.test} ran" if self.test else ""
            return None, f"the time of the whole trial was over{during}"
        return None


class Watch:
    """One trial's observer. ``forward`` is given batches of records; ``hung_up`` is called when the engine is gone."""

    def __init__(
        self, request: Dict[str, Any], forward: Callable[[List[Dict[str, Any]]], None], hung_up: Callable[[], None]
    ) -> None:
        self._forward, self._hung_up = forward, hung_up
        self._started = time.monotonic()
        self._timer = Timer(request, self._started)
        self._lines = Lines()
        self._output = Output()
        self._batch: List[Dict[str, Any]] = []
        self._batch_bytes = 0
        self._verdict: Optional[Tuple[str, Optional[str], str]] = None

    def follow(self, child: int, records: int, output: int, control: int) -> None:
        """Read until the trial has ended, or must: its end record, its death, its time, or records that are none."""
        with selectors.DefaultSelector() as selector:
            selector.register(records, selectors.EVENT_READ, self._read_records)
            selector.register(output, selectors.EVENT_READ, self._read_output)
            selector.register(control, selectors.EVENT_READ, self._look_at_control)
            while self._verdict is None and self._lines.end is None:
                ready = selector.select(min(_LOOK_SECONDS, self._timer.left(time.monotonic())))
                for key, _ in ready:
                    key.data(selector, key.fd)
                if not ready and _is_dead(child):
                    return
                self._look_at_clock()

    def drain(self, records: int, output: int) -> None:
        """Read what is left in the pipes, whose writers are dead by now."""
        while self._verdict is None or self._verdict[0] != "void":
            data = _rest(records)
            if not data:
                break
            self._take(data)
        self._flush()
        while True:
            data = _rest(output)
            if not data:
                return
            self._output.add(data)

    def done(self) -> Dict[str, Any]:
        """Return the ``done`` message but for its trial's number."""
        end, hung, why = self._verdict or self._judge_end()
        seconds = time.monotonic() - self._started
        return {"say": "done", "end": end, "hung": hung, "why": why, "output": self._output.text(), "seconds": seconds}

    def _judge_end(self) -> Tuple[str, Optional[str], str]:
        end = self._lines.end
        if end is None:
            return "died", None, "the process ended without its end record"
        if end.get("status") in _STATUS:
            return "died", None, f"pytest {_STATUS[end['status']]} (status {end['status']}); see its output"
        return ("stopped" if end.get("stopped") else "complete"), None, ""

    def _read_records(self, selector: selectors.BaseSelector, fd: int) -> None:
        data = os.read(fd, _CHUNK)
        if data:
            self._take(data)
        else:
            selector.unregister(fd)

    def _read_output(self, selector: selectors.BaseSelector, fd: int) -> None:
        data = os.read(fd, _CHUNK)
        if data:
            self._output.add(data)
        else:
            selector.unregister(fd)

    def _look_at_control(self, selector: selectors.BaseSelector, fd: int) -> None:
        self._hung_up()
        selector.unregister(fd)  # not hung up: a request that waits for its turn

    def _take(self, data: bytes) -> None:
        try:
            records = self._lines.add(data)
        except BadRecords as error:
            self._verdict = ("void", None, str(error))
            return
        now = time.monotonic()
        for record in records:
            self._timer.note(record, now)
        self._batch += records
        self._batch_bytes += len(data)
        if self._batch_bytes > _BATCH_BYTES:
            self._flush()

    def _flush(self) -> None:
        if self._batch:
            self._forward(self._batch)
        self._batch, self._batch_bytes = [], 0

    def _look_at_clock(self) -> None:
        verdict = self._timer.verdict(time.monotonic())
        if verdict is not None and self._verdict is None and self._lines.end is None:
            self._verdict = ("timeout", *verdict)


def _is_dead(child: int) -> bool:
    """Whether the process has ended; where the system can tell without it, it stays to be reaped by the sweep."""
    if not hasattr(os, "waitid"):
        return os.waitpid(child, os.WNOHANG)[0] != 0
    try:
        return os.waitid(os.P_PID, child, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
    except ChildProcessError:  # a stem's child, which is buried as soon as it is dead
        return not os.path.exists(f"/proc/{child}")


def _rest(fd: int) -> bytes:
    """Read what a pipe still holds, and never wait for more."""
    os.set_blocking(fd, False)
    try:
        return os.read(fd, _CHUNK)
    except BlockingIOError:
        return b""


def _visible(letter: str) -> str:
    if letter in "\n\t" or letter.isprintable():
        return letter
    return chr(0x2400 + ord(letter)) if ord(letter) < 32 else "\ufffd"
