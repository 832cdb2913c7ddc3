"""The worker: the one process of a sandbox that the engine talks to; it forks a child for every trial."""

from __future__ import annotations

import json
import os
import platform
import sys
import tempfile
import traceback
from typing import Any, Dict, List, NoReturn, Optional, Tuple

from . import frames, loopback, processes
from .handover import execute, hold_only, leave, put
from .tree import BadPath, Tree, empty, read_changes
from .warming import preload
from .watch import Watch

_SETUP_FD = 4
_DEFAULTS: Dict[str, Any] = {
    "rootdir": None,
    "cwd": None,
    "args": [],
    "testpaths": [],
    "sys_path": [],
    "env": {},
    "plugins": [],
    "uid": None,
    "gid": None,
    "limits": {},
    "keep": [],
    "tmp": None,
    "empty": [],
    "confine": None,
    "services": None,
}


class HungUp(Exception):
    """The engine is gone."""


class Wire:
    """The worker's end of the wire; nothing else of the process holds these descriptors."""

    def __init__(self, read: int, write: int) -> None:
        self.fd, self._write = read, write
        self._early = b""

    def receive(self) -> Tuple[Dict[str, Any], bytes]:
        """Wait for a frame.

        :raises HungUp: where none will come.
        """
        text, blob = frames.sizes(self._exactly(frames.HEAD_SIZE))
        return frames.decode(self._exactly(text)), self._exactly(blob)

    def send(self, message: Dict[str, Any]) -> None:
        """Send a frame."""
        data = memoryview(frames.encode(message))
        while data:
            try:
                data = data[os.write(self._write, data) :]
            except BrokenPipeError as error:
                raise HungUp from error

    def look(self) -> None:
        """Read what has come, when something has.

        :raises HungUp: where that is the end.
        """
        data = os.read(self.fd, 1)
        if not data:
            raise HungUp
        self._early += data

    def _exactly(self, size: int) -> bytes:
        """Read so many bytes and no more: a fresh interpreter may take over at the next one."""
        data = bytearray(self._early[:size])
        self._early = self._early[size:]
        while len(data) < size:
            part = os.read(self.fd, size - len(data))
            if not part:
                raise HungUp
            data += part
        return bytes(data)


class Worker:
    """A sandbox that is set up: its tree, and how to run a trial in it."""

    def __init__(self, wire: Wire, setup: Dict[str, Any], tree: Tree, warm: bool) -> None:
        self._wire, self._setup, self._tree, self._warm = wire, setup, tree, warm
        self._private_tmp = "" if setup["tmp"] else tempfile.mkdtemp(prefix="noepi-")
        self._tmp = setup["tmp"] or self._private_tmp
        if self._private_tmp:
            os.chmod(self._private_tmp, 0o755)  # the child may have another uid

    def serve(self) -> None:
        """Run trials until the engine hangs up."""
        while True:
            request, blob = self._wire.receive()
            try:
                changes = read_changes(request["files"], blob)
                done = self._run(request, changes)
            except (BadPath, KeyError, TypeError) as error:
                self._wire.send({"say": "error", "why": f"a request that cannot be served: {error!r}"})
                continue
            self._wire.send(dict(done, trial=request["trial"]))

    def close(self) -> None:
        """Leave no scratch folder of our own behind."""
        if self._private_tmp:
            empty(self._private_tmp)
            os.rmdir(self._private_tmp)

    def _run(self, request: Dict[str, Any], changes: List[Any]) -> Dict[str, Any]:
        """Run a trial in the patched tree, and leave tree, scratch folders and process table as they were."""
        self._tree.apply(changes)
        try:
            watch = Watch(request, lambda batch: self._forward(request, batch), self._wire.look)
            self._observe(request, watch)
            return watch.done()
        finally:
            for folder in (self._tmp, *self._setup["empty"]):
                if os.path.isdir(folder):
                    empty(folder)
            self._tree.restore()

    def _observe(self, request: Dict[str, Any], watch: Watch) -> None:
        job = self._job(request)
        records, records_in = os.pipe()
        output, output_in = os.pipe()
        child = os.fork()
        if child == 0:
            self._become_child(job, request, records_in, output_in)
        os.close(records_in)
        os.close(output_in)
        try:
            try:
                watch.follow(child, records, output, self._wire.fd)
            finally:
                processes.sweep(child)
            watch.drain(records, output)
        finally:
            os.close(records)
            os.close(output)

    def _become_child(self, job: Dict[str, Any], request: Dict[str, Any], records: int, output: int) -> NoReturn:
        """Turn the fork into the trial: it never returns, and holds nothing of the worker's."""
        try:
            cold = request["cold"] or not self._warm
            hold_only(records, output, leave(job) if cold else None)
            processes.shut_in(self._setup, float(request["seconds"]))
            if cold:
                execute("child", "start_cold", job["env"])
            from .child import run

            run(job)
        except BaseException:  # noqa: BLE001 - nothing above: the trace goes to the trial's output
            traceback.print_exc()
        finally:
            os._exit(71)

    def _job(self, request: Dict[str, Any]) -> Dict[str, Any]:
        """Make the scratch folders, and put together what the child must know."""
        env = dict(self._setup["env"], PYTHONDONTWRITEBYTECODE="1")
        for name, folder in (("HOME", "home"), ("TMPDIR", "tmp")):
            path = os.path.join(self._tmp, folder)
            os.makedirs(path, mode=0o700, exist_ok=True)
            if self._setup["uid"] is not None:
                os.chown(path, self._setup["uid"], self._setup["gid"])
            env[name] = path
        named = ("ids", "coverage", "trace", "stop_at_first_failure")
        kept = ("root", "rootdir", "cwd", "args", "testpaths", "sys_path")
        job = {**{name: self._setup[name] for name in kept}, **{name: request[name] for name in named}, "env": env}
        brief = bool(request.get("brief")) and not request["cold"]
        return {**job, "brief": brief, "shuffled": bool(request.get("shuffled"))}

    def _forward(self, request: Dict[str, Any], batch: List[Dict[str, Any]]) -> None:
        self._wire.send({"say": "records", "trial": request["trial"], "records": batch})


def main() -> None:
    """Read the set-up, and go on as a fresh interpreter in the environment that it names.

    Warm children then have the hash seed, locale and encodings of a cold run, which an interpreter reads only once.
    """
    wire = Wire(0, 1)
    try:
        setup, _ = wire.receive()
        setup = _complete(setup)
    except HungUp:
        return
    except (BadPath, KeyError, TypeError, frames.BadFrame) as error:
        wire.send({"say": "error", "why": f"the set-up cannot be used: {error}"})
        return
    put(leave(setup), _SETUP_FD)
    execute("worker", "go_on", setup["env"])


def go_on() -> None:
    """Serve with the set-up that :func:`main` has left, until the engine hangs up."""
    with os.fdopen(_SETUP_FD, "rb") as file:
        setup = json.loads(file.read())
    processes.harden_worker()
    os.umask(0o022)
    wire = _move_away()
    worker = None
    try:
        worker = _open(wire, setup)
        worker.serve()
    except HungUp:
        return
    except Exception as error:  # noqa: BLE001 - the engine is told in its own language
        traceback.print_exc()
        wire.send({"say": "error", "why": f"the worker has failed: {type(error).__name__}: {error}"})
    finally:
        if worker is not None:
            worker.close()


def _open(wire: Wire, setup: Dict[str, Any]) -> Worker:
    if setup["services"]:
        loopback.hand_over(**setup["services"])  # before anything that is not ours
    warm = preload(setup)
    spool = tempfile.TemporaryFile()  # noqa: SIM115 - lives as long as the worker, and has no name
    while True:
        request, chunk = wire.receive()
        if request.get("do") != "tar":
            raise BadPath("the tree must be sent before anything else")
        if not chunk:
            break
        spool.write(chunk)
    spool.seek(0)
    tree = Tree(setup["root"], setup["keep"], spool)
    tree.lay_out()
    pytest: Optional[Any] = sys.modules.get("pytest")
    facts = {"python": platform.python_version(), "pid": os.getpid(), "warm": warm}
    facts["pytest"] = getattr(pytest, "__version__", None)
    wire.send({"say": "ready", "facts": facts})
    return Worker(wire, setup, tree, warm)


def _complete(setup: Dict[str, Any]) -> Dict[str, Any]:
    if setup.get("do") != "setup" or not os.path.isabs(setup["root"]):
        raise BadPath("the first request must be a set-up with an absolute root")
    full = {**_DEFAULTS, "rootdir": setup["root"], "cwd": setup["root"], **setup}
    if full["confine"] is not None and not processes.can_confine():
        raise BadPath("the module that confines a child is not there")
    return full


def _move_away() -> Wire:
    """Keep the wire on descriptors that nobody knows: what prints goes to standard error."""
    wire = Wire(os.dup(0), os.dup(1))
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    return wire
