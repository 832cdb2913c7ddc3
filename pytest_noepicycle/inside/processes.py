"""Processes on trial: what they may take, how they are shut in, and how every last one is ended."""

from __future__ import annotations

import ctypes
import importlib.util
import os
import resource
import signal
import sys
import time
from importlib import import_module
from typing import Any, Dict, FrozenSet, List, Optional, Set

_PR_SET_PDEATHSIG = 1
_PR_SET_DUMPABLE = 4
_PR_SET_KEEPCAPS = 8
_PR_SET_CHILD_SUBREAPER = 36
_PR_SET_NO_NEW_PRIVS = 38
_SWEEP_SECONDS = 10.0
_OPEN_FILES = 1024


class Unkillable(Exception):
    """Something of a trial is still alive after all that could be done."""


def _find_prctl() -> Any:
    """Return Linux's prctl, or None elsewhere; looked up once, because a child has no time for it."""
    if not sys.platform.startswith("linux"):
        return None
    return getattr(ctypes.CDLL(None, use_errno=True), "prctl", None)


_prctl = _find_prctl()


def prctl(option: int, value: int) -> bool:
    """Set a process option; False where the system has none."""
    return _prctl is not None and _prctl(option, ctypes.c_ulong(value), 0, 0, 0) == 0


def harden_worker() -> None:
    """Make this process deaf to its children's signals, closed to their eyes, and the heir of their orphans."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGPIPE):
        signal.signal(number, signal.SIG_IGN)
    prctl(_PR_SET_CHILD_SUBREAPER, 1)
    prctl(_PR_SET_DUMPABLE, 0)


def shut_in(setup: Dict[str, Any], seconds: float) -> None:
    """Give up, in a child that is about to run a trial, all rights that the trial does not need.

    Its limits come from ``setup["limits"]``; its processor time is twice ``seconds``, and ten.
    """
    os.setsid()
    prctl(_PR_SET_DUMPABLE, 1)  # the worker's own would keep the child from its own /proc files
    _offer_to_oom_killer()
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGPIPE):
        signal.signal(number, signal.SIG_DFL)
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)  # as every Python has it
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.umask(0o022)
    _limit(setup, seconds)
    if setup["confine"] is not None:
        import_module(".confine", __package__).enter(setup["confine"])
    if setup["uid"] is not None:
        _become(setup["uid"], setup["gid"])
        if os.getpid() != 1 and _prctl is not None:
            import_module(".kernel", __package__).set_capabilities(())  # a stem's child would keep them
    prctl(_PR_SET_NO_NEW_PRIVS, 1)
    prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def can_confine() -> bool:
    """Whether the module that confines a child was laid out."""
    return importlib.util.find_spec(f"{__package__}.confine") is not None


def sweep(child: int, spared: FrozenSet[int] = frozenset(), uid: Optional[int] = None) -> None:
    """Kill a trial's processes, whatever session they have moved to, and reap them.

    Only where there is something to be ``spared`` is ``uid`` needed: the user that all of the trial's processes have.

    :raises Unkillable: where some are left; the whole sandbox must then go.
    """
    deadline = time.monotonic() + _SWEEP_SECONDS
    while True:
        if spared and uid is not None:
            _kill_all_of(uid)
        else:
            _kill_all(child)
        alone = _reap()
        left = descendants(os.getpid()) - spared
        if not left and (alone or spared):
            return
        for pid in left if spared else ():
            _kill(pid)
        if time.monotonic() > deadline:
            raise Unkillable(f"processes of the trial are still alive after {_SWEEP_SECONDS:.0f} s")
        time.sleep(0.0005)


def keep_apart(uid: int, gid: int) -> None:
    """Become, in a fork of a worker, a user who can make a child another user, and nothing else that root can."""
    from . import kernel

    os.setsid()
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        signal.signal(number, signal.SIG_DFL)
    os.umask(0o022)
    kernel.prctl(_PR_SET_KEEPCAPS, 1)
    _become(uid, gid)
    kernel.set_capabilities((kernel.CAP_SETGID, kernel.CAP_SETUID))
    prctl(_PR_SET_DUMPABLE, 0)
    prctl(_PR_SET_NO_NEW_PRIVS, 1)
    prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def end(pid: int) -> None:
    """Kill a child and bury it."""
    _kill(pid)
    try:
        os.waitpid(pid, 0)
    except ChildProcessError:  # a sweep has found it dead before
        return


def descendants(parent: int) -> Set[int]:
    """Return the living processes that descend from ``parent``; none where there is no /proc."""
    children: Dict[int, List[int]] = {}
    for pid, owner in _parents():
        children.setdefault(owner, []).append(pid)
    found: Set[int] = set()
    waiting = [parent]
    while waiting:
        for pid in children.get(waiting.pop(), ()):
            if pid not in found:
                found.add(pid)
                waiting.append(pid)
    return found


def _parents() -> List[Any]:
    pairs = []
    for name in os.listdir("/proc") if os.path.isdir("/proc") else ():
        if name.isdigit():
            try:
                with open("/proc/" + name + "/stat", "rb") as file:
                    fields = file.read().rpartition(b")")[2].split()
            except OSError:  # it has ended meanwhile
                continue
            if fields and fields[0] not in (b"Z", b"X"):
                pairs.append((int(name), int(fields[1])))
    return pairs


def _kill_all(child: int) -> None:
    if os.getpid() == 1:
        _kill(-1)
        return
    _kill(-child)
    _kill(child)
    for pid in descendants(os.getpid()):
        _kill(pid)


def _kill_all_of(uid: int) -> None:
    """Kill every process of a user at once, and none of another: for a moment this one has that user's rights only."""
    os.seteuid(uid)
    try:
        _kill(-1)
    finally:
        os.seteuid(0)


def _kill(target: int) -> None:
    try:
        os.kill(target, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):  # gone already
        return


def _reap() -> bool:
    """Collect the dead; True when no child is left at all."""
    while True:
        try:
            pid, _ = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return True
        if pid == 0:
            return False


def _offer_to_oom_killer() -> None:
    try:
        with open("/proc/self/oom_score_adj", "w") as file:
            file.write("1000")
    except OSError:  # no Linux, or not allowed: the kernel then chooses by size
        return


def _limit(setup: Dict[str, Any], seconds: float) -> None:
    limits = setup["limits"]
    wanted = {
        "RLIMIT_CORE": 0,
        "RLIMIT_NOFILE": _OPEN_FILES,
        "RLIMIT_CPU": int(seconds * 2 + 10),
        "RLIMIT_FSIZE": limits.get("file_size"),
        "RLIMIT_DATA": limits.get("memory"),
        "RLIMIT_NPROC": limits.get("processes") if setup["uid"] is not None else None,
    }
    for name, value in wanted.items():
        if value is not None and hasattr(resource, name):
            _lower(getattr(resource, name), int(value))


def _lower(kind: int, value: int) -> None:
    """Lower a limit for good; it cannot be raised above what this process was given."""
    hard = resource.getrlimit(kind)[1]
    value = value if hard == resource.RLIM_INFINITY else min(value, hard)
    resource.setrlimit(kind, (value, value))


def _become(uid: int, gid: int) -> None:
    os.setgroups([])
    os.setgid(gid)
    os.setuid(uid)
