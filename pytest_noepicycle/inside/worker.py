"""The worker: the one process of a sandbox that the engine talks to; it forks a child for every trial."""

from __future__ import annotations

import json
import os
import platform
import sys
import tempfile
import traceback
from typing import Any, Callable, Dict, List, NoReturn, Optional, Tuple

from . import frames, levels, loopback, processes
from .handover import execute, hold_only, leave, put
from .levels import Levels, Sieve, Stem
from .tree import BadPath, Tree, empty, read_changes
from .warming import preload
from .watch import Watch
from .wire import HungUp, Wire

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


class Worker:
    """A sandbox that is set up: its tree, and how to run a trial in it."""

    def __init__(self, wire: Wire, setup: Dict[str, Any], tree: Tree, warm: bool) -> None:
        self._wire, self._setup, self._tree, self._warm = wire, setup, tree, warm
        self._apart = os.geteuid() == 0 and bool(setup["uid"])
        self._levels = Levels(setup, tree.files)
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
        """Run a trial from the deepest level that suits it; a level that is new is compared with a cold run first."""
        if not self._warm:
            return self._from(None, request, changes)
        due = self._levels.due(request, changes)
        if due is not None:
            self._wire.send({"say": "proving", "trial": request["trial"]})
            self._prove(due, request)
        return self._from(self._levels.choose(request, changes), request, changes)

    def _from(self, stem: Optional[Stem], request: Dict[str, Any], changes: List[Any]) -> Dict[str, Any]:
        """Run a trial from a stem; where the stem cannot take the patch in after all, from a younger one."""
        while stem is not None:
            sieve = Sieve(lambda batch: self._forward(request, batch))
            done = self._once(request, changes, stem, sieve)
            if not sieve.refused and done is not None:
                return dict(done, level=stem.level)
            stem = self._levels.choose(dict(request, deepest=levels.below(stem.level)), changes)
        done = self._once(request, changes, None, lambda batch: self._forward(request, batch))
        return dict(done or {}, level=levels.FORK)

    def _prove(self, key: levels.Key, request: Dict[str, Any]) -> None:
        """Make a stem, and keep it if the tests end in it as they do in a fresh interpreter, nothing being changed."""
        cold = self._levels.cold.get(key[1:])
        if cold is None:
            cold = self._levels.cold[key[1:]] = self._tried(dict(request, cold=True), None, levels.COLD_SECONDS)
        if cold is None:
            self._levels.refuse(key, "a cold run of it takes too long, or does not come to its end")
            return
        stem = self._grow(key, request)
        if stem is not None and self._tried(request, stem, levels.WARM_SECONDS) != cold:
            self._levels.refuse(key, "the tests ended in it otherwise than in a fresh interpreter")

    def _tried(self, request: Dict[str, Any], stem: Optional[Stem], seconds: float) -> Optional[List[Any]]:
        """Return how each test ends at the baseline; None where the trial does not come to its end."""
        records: List[Any] = []
        done = self._once(dict(request, seconds=seconds), [], stem, records.extend)
        return levels.outcomes(records) if done is not None and done["end"] in ("complete", "stopped") else None

    def _grow(self, key: levels.Key, request: Dict[str, Any]) -> Optional[Stem]:
        """Make a stem; none is kept that has left something in the scratch folders, which its trials would miss."""
        job = self._job(request, self._levels.owner)
        try:
            stem = self._levels.grow(key, job)
            if stem is not None and any(os.listdir(job["env"][name]) for name in ("HOME", "TMPDIR")):
                self._levels.refuse(key, "it has left files behind")
                return None
            return stem
        finally:
            self._clean()
            self._tree.restore()

    def _once(
        self, request: Dict[str, Any], changes: List[Any], stem: Optional[Stem], forward: Callable[[List[Any]], None]
    ) -> Optional[Dict[str, Any]]:
        """Run a trial in the patched tree, and leave tree, scratch folders and process table as they were.

        Where trials are another user than the owner of the tree, a walk through all of it would cost more than most
        trials do; it is done for the cold ones, which decide, before and after them.
        """
        thorough = not self._apart or bool(request["cold"])
        if thorough and self._apart:
            self._tree.restore()
        self._tree.apply(changes)
        try:
            watch = Watch(request, forward, self._wire.look)
            return watch.done() if self._observe(request, watch, stem, changes) else None
        finally:
            self._clean()
            self._tree.restore(thorough=thorough)

    def _clean(self) -> None:
        for folder in (self._tmp, *self._setup["empty"]):
            if os.path.isdir(folder):
                empty(folder)

    def _observe(self, request: Dict[str, Any], watch: Watch, stem: Optional[Stem], changes: List[Any]) -> bool:
        """Start a child and watch it to its end; False where the stem has none to give."""
        job = self._job(request)
        records, records_in = os.pipe()
        output, output_in = os.pipe()
        try:
            child = self._start(job, request, stem, changes, records_in, output_in)
            os.close(records_in)
            os.close(output_in)
            try:
                if child:
                    watch.follow(child, records, output, self._wire.fd)
            finally:
                processes.sweep(child, self._levels.pids, self._setup["uid"])
            watch.drain(records, output)
        finally:
            os.close(records)
            os.close(output)
        return bool(child)

    def _start(
        self, job: Dict[str, Any], request: Dict[str, Any], stem: Optional[Stem], changes: List[Any], *pipes: int
    ) -> int:
        """Fork the trial's child, from a stem or from here; return its process id, 0 where there is none."""
        if stem is None:
            child = os.fork()
            if child == 0:
                self._become_child(job, request, *pipes)
            return child
        rights = {name: self._setup[name] for name in ("uid", "gid", "limits", "confine")}
        told = {"ids": job["ids"], "root": job["root"], "changed": stem.changed(changes), "setup": rights}
        child = stem.fork(dict(told, seconds=request["seconds"]), *pipes)
        if not child:
            self._levels.refuse(stem.key, "it does not answer")
        return child

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

    def _job(self, request: Dict[str, Any], owner: Optional[Tuple[int, int]] = None) -> Dict[str, Any]:
        """Make the scratch folders, and put together what the child must know; they are its user's, or an owner's."""
        user = (self._setup["uid"], self._setup["gid"]) if owner is None else owner
        env = dict(self._setup["env"], PYTHONDONTWRITEBYTECODE="1")
        for name, folder in (("HOME", "home"), ("TMPDIR", "tmp")):
            path = os.path.join(self._tmp, folder)
            os.makedirs(path, mode=0o700, exist_ok=True)
            if user[0] is not None:
                os.chown(path, *user)
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
