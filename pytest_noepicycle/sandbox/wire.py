"""The engine's end of the wire: a box behind a channel to a worker, all of whose words are judged before use."""

from __future__ import annotations

import os
import selectors
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol

from pytest_noepicycle.domain.session import Session
from pytest_noepicycle.domain.trial import End, Report, Trial
from pytest_noepicycle.errors import SandboxError
from pytest_noepicycle.inside import frames, levels
from pytest_noepicycle.ports import Snapshot
from pytest_noepicycle.sandbox.fold import Closing, Untrusted, fold, read_closing
from pytest_noepicycle.sandbox.layout import pytest_arguments

START_SECONDS = 60.0
GRACE_SECONDS = 5.0
_LEAVE_SECONDS = 5.0
_CHUNK = 256 * 1024


class ChannelClosed(Exception):
    """The other side is gone, or did not answer in time."""


class Channel(Protocol):
    """Bytes to and from a worker. Deadlines are moments of ``time.monotonic``."""

    @property
    def reason(self) -> str:
        """Return what is known of why it closed, the worker's last words on standard error among it."""
        ...

    def send(self, data: bytes, deadline: float) -> None:
        """Send all of it.

        :raises ChannelClosed: where that cannot be done before the deadline.
        """
        ...

    def receive(self, size: int, deadline: float) -> bytes:
        """Return between one byte and ``size`` bytes, as soon as there are some.

        :raises ChannelClosed: at the deadline, or where none will come.
        """
        ...

    def kill(self) -> None:
        """End the worker and all that it started, and free what the channel holds; may be called twice."""
        ...


class PipeChannel:
    """A channel over the pipes of a child process, whose standard error ends up in ``errors`` if it is a file."""

    def __init__(self, process: subprocess.Popen[bytes], errors: Path | None = None) -> None:
        if process.stdin is None or process.stdout is None:
            raise ValueError("the worker must be started with stdin=PIPE and stdout=PIPE")
        self._process, self._errors = process, errors
        self._stdin, self._stdout = process.stdin, process.stdout
        os.set_blocking(self._stdin.fileno(), False)
        os.set_blocking(self._stdout.fileno(), False)

    @property
    def reason(self) -> str:
        """Return the process's exit status and the end of its standard error."""
        status = self._process.poll()
        words = self._errors.read_bytes()[-4096:].decode("utf-8", "replace") if self._errors else ""
        return f"{'still running' if status is None else f'ended with status {status}'} {words}".strip()

    def send(self, data: bytes, deadline: float) -> None:
        """Write all of it, waiting for room in the pipe."""
        view = memoryview(data)
        while view:
            self._wait(self._stdin, selectors.EVENT_WRITE, deadline)
            try:
                view = view[os.write(self._stdin.fileno(), view[:_CHUNK]) :]
            except BlockingIOError:
                continue
            except (BrokenPipeError, ConnectionResetError) as error:
                raise ChannelClosed("the worker has closed its input") from error

    def receive(self, size: int, deadline: float) -> bytes:
        """Read what there is, waiting for the first byte."""
        while True:
            self._wait(self._stdout, selectors.EVENT_READ, deadline)
            try:
                data = os.read(self._stdout.fileno(), size)
            except BlockingIOError:
                continue
            if not data:
                raise ChannelClosed("the worker has closed its output")
            return data

    def kill(self) -> None:
        """Close its input, upon which a worker kills what it started; end it by force if it stays."""
        self._stdin.close()
        try:
            self._process.wait(timeout=_LEAVE_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._stdout.close()

    @staticmethod
    def _wait(file: Any, event: int, deadline: float) -> None:
        if file.closed:
            raise ChannelClosed("the channel was closed")
        with selectors.DefaultSelector() as selector:
            selector.register(file, event)
            if not selector.select(max(0.0, deadline - time.monotonic())):
                raise ChannelClosed("the worker did not answer in time")


class WorkerBox:
    """A box that is a worker at the other end of a channel; :func:`start` makes one."""

    def __init__(self, channel: Channel, session: Session, snapshot: Snapshot, setup: Mapping[str, Any]) -> None:
        self._channel, self._snapshot = channel, snapshot
        self._setup = {**_from_session(session, snapshot), **setup, "do": "setup"}
        self._trial = 0
        self._gone = ""
        self.facts: Mapping[str, Any] = {}
        self.deepest = levels.COLLECTED
        """The deepest level from which the worker may start a trial."""
        self.level = ""
        """The one from which it has started the last."""

    def open(self) -> None:
        """Send the set-up and the tree, and wait until the worker is ready.

        :raises SandboxError: with the worker's own words; the channel is then closed.
        """
        deadline = time.monotonic() + START_SECONDS
        try:
            self._send(self._setup, b"", deadline)
            with Path(self._snapshot.archive).open("rb") as archive:
                while chunk := archive.read(_CHUNK):
                    self._send({"do": "tar"}, chunk, deadline)
            self._send({"do": "tar"}, b"", deadline)
            self.facts = self._ready(deadline)
        except (ChannelClosed, frames.BadFrame, OSError) as error:
            why = self._why(str(error))
            self.close()
            raise SandboxError(f"The sandbox's worker did not start: {why}") from error
        except BaseException:
            self.close()
            raise

    def run(self, trial: Trial) -> Report:
        """Run a trial; what goes wrong with the worker itself ends in ``End.LOST``."""
        self._trial += 1
        started = time.monotonic()
        deadline = started + trial.limits.seconds + GRACE_SECONDS
        try:
            if self._gone:
                raise ChannelClosed(self._gone)
            self._send(*self._request(trial), deadline)
            records, closing = self._answer(deadline)
        except (ChannelClosed, frames.BadFrame, Untrusted, OSError) as error:
            self._gone = self._gone or self._why(str(error))
            self._channel.kill()
            return fold((), trial.ids, Closing(End.LOST, why=self._gone, seconds=time.monotonic() - started))
        except BaseException:  # Ctrl-C leaves an answer half read: the box is of no use any more
            self._gone = "interrupted"
            self._channel.kill()
            raise
        return fold(records, trial.ids, closing)

    def close(self) -> None:
        """End the worker; may be called twice."""
        self._gone = self._gone or "closed"
        self._channel.kill()

    def _send(self, message: Mapping[str, Any], blob: bytes, deadline: float) -> None:
        self._channel.send(frames.encode(dict(message), blob), deadline)

    def _request(self, trial: Trial) -> tuple[dict[str, Any], bytes]:
        contents = {**trial.patch.files(), **trial.overlay}
        limits = trial.limits
        request = {
            "do": "run",
            "trial": self._trial,
            "files": [[path, -1 if content is None else len(content)] for path, content in contents.items()],
            "ids": None if trial.ids is None else list(trial.ids),
            "coverage": trial.coverage,
            "cold": trial.cold,
            "stop_at_first_failure": trial.stop_at_first_failure,
            "brief": trial.brief,
            "shuffled": trial.shuffled,
            "deepest": self.deepest,
            "seconds": limits.seconds,
            "default_test_seconds": limits.default_test_seconds,
            "test_seconds": dict(limits.test_seconds),
            "trace": self._sources(contents) if trial.coverage else [],
        }
        return request, b"".join(content for content in contents.values() if content is not None)

    def _sources(self, contents: Mapping[str, bytes | None]) -> list[str]:
        known = self._snapshot.files | {path for path, content in contents.items() if content is not None}
        return sorted(path for path in known if path.endswith(".py"))

    def _ready(self, deadline: float) -> Mapping[str, Any]:
        message = self._message(deadline)
        if message.get("say") == "ready" and isinstance(message.get("facts"), dict):
            return dict(message["facts"])
        raise ChannelClosed(str(message.get("why", message))[:2000])

    def _answer(self, deadline: float) -> tuple[list[Any], Closing]:
        records: list[Any] = []
        message = self._message(deadline)
        if message.get("say") == "proving":
            deadline += levels.PROVING_SECONDS
            message = self._message(deadline)
        while True:
            if message.get("say") == "error":
                raise ChannelClosed(str(message.get("why"))[:2000])
            if message.get("trial") != self._trial:
                raise Untrusted("an answer to a trial that is not running")
            if message.get("say") == "done":
                self.level = str(message.get("level", ""))
                return records, read_closing(message)
            if message.get("say") != "records" or not isinstance(message.get("records"), list):
                raise Untrusted("an answer of no known kind")
            records.extend(message["records"])
            message = self._message(deadline)

    def _message(self, deadline: float) -> dict[str, Any]:
        text, blob = frames.sizes(self._exactly(frames.HEAD_SIZE, deadline))
        message = frames.decode(self._exactly(text, deadline))
        self._exactly(blob, deadline)
        return message

    def _exactly(self, size: int, deadline: float) -> bytes:
        parts = bytearray()
        while len(parts) < size:
            parts += self._channel.receive(size - len(parts), deadline)
        return bytes(parts)

    def _why(self, what: str) -> str:
        reason = self._channel.reason
        return f"{what} ({reason})" if reason else what


def start(channel: Channel, session: Session, snapshot: Snapshot, setup: Mapping[str, Any]) -> WorkerBox:
    """Return an open box; ``setup`` adds to, or replaces, what follows from the session (see ``inside.frames``).

    :raises SandboxError: with the worker's own words, when it is not ready within a minute.
    """
    box = WorkerBox(channel, session, snapshot, setup)
    box.open()
    return box


def _from_session(session: Session, snapshot: Snapshot) -> dict[str, Any]:
    return {
        "root": snapshot.root,
        "rootdir": session.rootdir,
        "cwd": session.invocation_dir,
        "args": list(pytest_arguments(session)),
        "testpaths": list(session.testpaths),
        "sys_path": list(session.interpreter.sys_path),
        "plugins": sorted({plugin.distribution for plugin in session.plugins if plugin.distribution}),
    }
