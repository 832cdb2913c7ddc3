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
from typing import Any, Dict, List, Set

_PR_SET_PDEATHSIG = 1
_PR_SET_DUMPABLE = 4
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
    prctl(_PR_SET_NO_NEW_PRIVS, 1)
    prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def can_confine() -> bool:
    """Whether the module that confines a child was laid out."""
    return importlib.util.find_spec(f"{__package__}.confine") is not None


def sweep(child: int) -> None:
    """Kill a trial's processes, whatever session they have moved to, and reap them.

    :raises Unkillable: where some are left; the whole sandbox must then go.
    """
    deadline = time.monotonic() + _SWEEP_SECONDS
    while True:
        _kill_all(child)
        if _reap() and not descendants(os.getpid()):
            return
        if time.monotonic() > deadline:
            raise Unkillable(f"processes of the trial are still alive after {_SWEEP_SECONDS:.0f} s")
        time.sleep(0.002)


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
