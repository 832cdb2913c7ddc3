"""A stem: a process that has pytest ready for one choice of files, and grows a trial's child out of it by a fork.

It holds the project as it was at the baseline and never runs a candidate: it is another user than the trials are, so
that none of them can reach it. What it has read of the tree it says, because a patch of that needs a younger start.
"""

from __future__ import annotations

import gc
import importlib
import json
import linecache
import os
import signal
import socket
import sys
import threading
from typing import Any, Dict, Generator, List, NoReturn, Optional, Tuple

import pytest

from . import processes
from .child import RECORDS_FD, Surface, call_pytest, leave_at_once, settle
from .recording import Recorder, Records
from .swapping import Bodies, Calls

CONTROL_FD = 3
SESSION, COLLECTED = "session", "collected"
_MOST_WORDS = 64 * 1024 * 1024
_OTHER_PROCESSES = ("subprocess.Popen", "os.fork", "os.forkpty", "os.posix_spawn", "os.spawn", "os.system", "os.exec")


class HeldRecords(Records):
    """Records that wait until there is a trial to which they belong."""

    def __init__(self) -> None:
        super().__init__(-1)
        self.held: List[Dict[str, Any]] = []

    def write(self, record: Dict[str, Any]) -> None:
        """Write a record, or keep it."""
        if self._fd < 0:
            self.held.append(record)
        else:
            super().write(record)

    def open(self, fd: int) -> None:
        """Write what was held, and from here on at once."""
        self._fd = fd
        for record in self.held:
            super().write(record)


class Looked:
    """What was looked at in the tree, and whether other processes were started; an audit hook stays for good."""

    def __init__(self, root: str) -> None:
        self._root = os.path.realpath(root) + os.sep
        self.opened: Dict[str, int] = {}
        self.started = False
        self._awake = True

    def __call__(self, event: str, arguments: Tuple[Any, ...]) -> None:
        """Note an event; ``sys.addaudithook`` wants this signature."""
        if not self._awake:
            return
        if event == "open" and isinstance(arguments[0], (str, bytes)):
            path = os.path.realpath(os.fsdecode(arguments[0]))
            if path.startswith(self._root):
                name = path[len(self._root) :].replace(os.sep, "/")
                self.opened[name] = self.opened.get(name, 0) + 1
        elif event in _OTHER_PROCESSES:
            self.started = True

    def sleep(self) -> None:
        """Note nothing more."""
        self._awake = False


class ForkPoint:
    """The plugin that stops pytest on its way and lets each trial's child go on from there."""

    def __init__(self, job: Dict[str, Any], recorder: Recorder, records: HeldRecords) -> None:
        self._job, self._recorder, self._records = job, recorder, records
        self._looked, self._calls = Looked(job["root"]), Calls()
        self._bodies: Optional[Bodies] = None

    def watch(self) -> None:
        """Begin to note what the project does on the way."""
        sys.addaudithook(self._looked)
        if self._job["level"] == COLLECTED:
            self._calls.start()

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_collection(self, session: pytest.Session) -> Generator[None, Any, Any]:
        """Stop before anything is collected."""
        if self._job["level"] == SESSION:
            self._stop(session)
        return (yield)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> Generator[None, Any, Any]:
        """Stop before the first test runs."""
        if self._job["level"] == COLLECTED:
            self._stop(session)
        return (yield)

    def _stop(self, session: pytest.Session) -> None:
        """Say what is known here, and serve; only children come back from this."""
        alone = self._job["level"] == SESSION or self._calls.stop()
        self._looked.sleep()
        capture: Any = session.config.pluginmanager.getplugin("capturemanager")
        capture.stop_global_capturing()  # each child gets a place of its own for what it prints
        why = "another profiler ran" if not alone else self._obstacle(session)
        control = socket.socket(fileno=CONTROL_FD)
        if not why and self._job["level"] == COLLECTED:
            self._bodies = Bodies(os.path.realpath(self._job["root"]), self._looked.opened, self._calls)
        bodies = () if self._bodies is None else self._bodies.paths
        facts = {"why": why, "opened": sorted(self._looked.opened), "bodies": sorted(bodies)}
        control.sendall(json.dumps(facts).encode())
        if why:
            os._exit(0)
        job = self._serve(control)
        self._records.open(RECORDS_FD)
        self._recorder.aim(job["ids"])
        capture.start_global_capturing()
        capture.suspend_global_capture()

    def _obstacle(self, session: pytest.Session) -> str:
        """Return why no trial may be forked from here; empty where one may."""
        if self._looked.started:
            return "other processes were started"
        if threading.active_count() > 1 or len(os.listdir("/proc/self/task")) > 1:
            return "threads are running"
        if _strange_descriptors():
            return "files are open that trials would share"
        failed = any(record["k"] == "collect" for record in self._records.held)
        if self._job["level"] == COLLECTED and (failed or not session.items):
            return "not everything could be collected"
        return ""

    def _serve(self, control: socket.socket) -> Dict[str, Any]:
        """Fork a child for each request; in the child, return what it is to do."""
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # no child of a trial waits to be buried
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        gc.collect()
        gc.freeze()
        while True:
            word, fds, _, _ = socket.recv_fds(control, 16, 3)
            if not word:
                os._exit(0)
            child = os.fork()
            if child == 0:
                return self._begin(control, *fds)
            for fd in fds:
                os.close(fd)
            control.send(str(child).encode())

    def _begin(self, control: socket.socket, records: int, output: int, told: int) -> Dict[str, Any]:
        """Become a trial: another user, with what it writes going its own ways, and the patch in place."""
        try:
            with os.fdopen(told, "rb") as file:
                job: Dict[str, Any] = json.loads(file.read())
            for fd in _same_as(1):
                os.dup2(output, fd, inheritable=fd < 3)
            control.detach()
            os.dup2(records, RECORDS_FD, inheritable=False)
            os.close(records)
            os.close(output)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            processes.shut_in(job["setup"], float(job["seconds"]))
            self._take_in(job)
        except BaseException:  # noqa: BLE001 - nothing above: the trace goes to the trial's output
            leave_at_once()
        return job

    def _take_in(self, job: Dict[str, Any]) -> None:
        """Forget what was known of the files that have changed; swap bodies, or say that this cannot be done."""
        linecache.clearcache()
        sys.path_importer_cache.clear()
        importlib.invalidate_caches()
        if self._bodies is None:
            return
        for path in job["changed"]:
            with open(os.path.join(job["root"], path), "rb") as file:
                source = file.read()
            if not self._bodies.swap(path, source):
                Records(RECORDS_FD).write({"k": "unswappable"})
                os._exit(0)


def grow(job: Dict[str, Any]) -> NoReturn:
    """Take pytest to the level of the job, serve there, and, in each child, run the trial to its end."""
    records = HeldRecords()
    try:
        settle(job)
        kinds = {name: job[name] for name in ("brief", "shuffled")}
        recorder = Recorder(records, job["root"], job["ids"], job["stop_at_first_failure"], None, **kinds)
        point = ForkPoint(job, recorder, records)
        point.watch()
        call_pytest(job, recorder, [Surface(), point])
    finally:
        leave_at_once()


def _same_as(fd: int) -> List[int]:
    """Return the descriptors that lead to the same file as one of them does, that one included."""
    wanted = _identity(fd)
    return [other for other in _descriptors() if _identity(other) == wanted]


def _strange_descriptors() -> List[int]:
    """Return what the project has opened and would be shared: not what goes nowhere, nor to our own output."""
    ours = (_identity(0), _identity(1), _identity(CONTROL_FD))
    return [fd for fd in _descriptors() if _identity(fd) not in ours]


def _identity(fd: int) -> Tuple[int, int]:
    found = os.fstat(fd)
    return found.st_dev, found.st_ino


def _descriptors() -> List[int]:
    found = []
    for name in os.listdir("/proc/self/fd"):
        try:
            os.fstat(int(name))
        except OSError:  # the one through which they were listed
            continue
        found.append(int(name))
    return found
