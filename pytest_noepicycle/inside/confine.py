"""Confine a worker without a container engine: with namespaces, or with Landlock where those are forbidden.

:func:`main` starts the worker, :func:`enter` closes the last doors in a trial's own process. PYTEST_DONT_REWRITE
"""

from __future__ import annotations

import json
import os
import resource
import select
import shutil
import signal
import sys
import time
from typing import Any, Mapping

from . import kernel, landlock, loopback, newroot, processes

NAMESPACES = "namespaces"
LANDLOCK = "landlock"
NOTHING = "nothing"
CANNOT_CONFINE = 71  # exit status: the reason is the last line on standard error
REHEARSED = b"confined"  # what a rehearsal says when all went well
_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER = 1, 36
GRACE = 1.0  # seconds for a worker to end by itself after its engine has gone
_SPACES = kernel.CLONE_NEWNS | kernel.CLONE_NEWPID | kernel.CLONE_NEWNET | kernel.CLONE_NEWIPC | kernel.CLONE_NEWUTS
# What the worker needs as root to serve a child of another user; the same that it gets in a container.
ROOT_KEEPS = (
    *(kernel.CAP_CHOWN, kernel.CAP_DAC_OVERRIDE, kernel.CAP_FOWNER),
    *(kernel.CAP_KILL, kernel.CAP_SETGID, kernel.CAP_SETUID),
)
# What it needs as an ordinary user to shut a child of the same user out: a mount namespace for each.
USER_KEEPS = (kernel.CAP_SETPCAP, kernel.CAP_SYS_ADMIN)


def main() -> None:
    """Start the command of the plan (JSON, last argument) confined; live as long as it and its engine do."""
    plan = json.loads(sys.argv[-1])
    try:
        if plan["way"] == NAMESPACES:
            _separate()
            newroot.bring_loopback_up()
            if plan.get("services"):
                loopback.hand_over(**plan["services"])
        processes.prctl(_PR_SET_CHILD_SUBREAPER, 1)
        program = os.fork()
        if program == 0:
            _become(plan)
        status = _watch(program)
        processes.sweep(program)
    except OSError as error:
        status = _refuse(error)
    finally:
        for folder in plan.get("remove", ()):
            shutil.rmtree(folder, ignore_errors=True)
    sys.exit(status)


def enter(config: Mapping[str, Any]) -> None:
    """Confine the calling process for good; called in a trial's child, before any of the project's code.

    ``readonly`` are places to make read-only in a mount namespace of its own; ``processes`` bounds those of an
    ordinary user, who with ``shared_user`` runs others on this machine; ``landlock`` is what Landlock allows.

    :raises OSError: where a door cannot be closed; the trial must not run then.
    """
    if config.get("processes"):
        _limit_processes(int(config["processes"]), bool(config.get("shared_user")))
    if config.get("readonly"):
        kernel.unshare(kernel.CLONE_NEWNS)
        for path in config["readonly"]:
            kernel.read_only(path)
    if config.get("readonly") or os.geteuid() == 0:
        kernel.drop_all_capabilities()
    kernel.no_new_privileges()
    if config.get("landlock"):
        landlock.restrict(config["landlock"])


def _separate() -> None:
    """Leave the machine's namespaces; an ordinary user needs one for users first."""
    if os.geteuid() == 0:
        kernel.unshare(_SPACES)
        return
    user, group = os.geteuid(), os.getegid()
    kernel.unshare(kernel.CLONE_NEWUSER | _SPACES)
    for name, text in (("setgroups", "deny"), ("uid_map", f"{user} {user} 1"), ("gid_map", f"{group} {group} 1")):
        kernel.write("/proc/self/" + name, text)


def _become(plan: Mapping[str, Any]) -> None:
    """Become the command of the plan; does not return."""
    try:
        processes.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if plan["way"] == NAMESPACES:
            newroot.build(plan)
            _shed_capabilities()
        os.execve(plan["command"][0], plan["command"], plan["env"])
    except Exception as error:  # noqa: BLE001 - the engine hears it; this process must never return
        os._exit(_refuse(error))


def _shed_capabilities() -> None:
    if os.geteuid() == 0:
        kernel.bound_capabilities(ROOT_KEEPS)
        return
    _forbid_user_namespaces()
    kernel.set_capabilities(USER_KEEPS)
    kernel.keep_through_exec(USER_KEEPS)


def _forbid_user_namespaces() -> None:
    """Let nobody in here become the root of a further user namespace: it would open much of the kernel."""
    kernel.write("/proc/sys/user/max_user_namespaces", "0")


def _watch(program: int) -> int:
    """Wait for the command; end it where its engine has gone, which shows as a hang-up of standard input."""
    engine = select.poll()
    engine.register(0, 0)
    gone_at = 0.0
    while True:
        ended, status = os.waitpid(program, os.WNOHANG)
        if ended:
            return os.WEXITSTATUS(status) if os.WIFEXITED(status) else 128 + os.WTERMSIG(status)
        if gone_at:
            time.sleep(0.02)
        elif engine.poll(50):
            gone_at = time.monotonic()
        if gone_at and time.monotonic() - gone_at > GRACE:
            os.kill(program, signal.SIGKILL)


def _refuse(error: Exception) -> int:
    reason = getattr(error, "strerror", None) or repr(error)
    os.write(2, ("cannot confine: " + reason + "\n").encode("utf-8", "replace"))
    return CANNOT_CONFINE


def _limit_processes(count: int, shared_user: bool) -> None:
    bound = count + (_running_threads() if shared_user else 0)
    hard = resource.getrlimit(resource.RLIMIT_NPROC)[1]
    bound = bound if hard == resource.RLIM_INFINITY else min(bound, hard)
    resource.setrlimit(resource.RLIMIT_NPROC, (bound, bound))


def _running_threads() -> int:
    """Count what this user runs already, because the kernel counts all of it against the limit."""
    count, own = 0, os.getuid()
    for name in os.listdir("/proc"):
        try:
            if name.isdigit() and os.stat("/proc/" + name).st_uid == own:
                count += len(os.listdir("/proc/" + name + "/task"))
        except (FileNotFoundError, ProcessLookupError):
            continue  # it has ended meanwhile
    return count


def rehearse() -> None:
    """Do in a new box what a trial's child does, and say so: the last argument is its configuration as JSON."""
    config = json.loads(sys.argv[-1])
    child = os.fork()
    if child == 0:
        try:
            if config.get("uid") is None:
                enter(config)
            else:
                os.setgroups([])
                os.setgid(config["uid"])
                os.setuid(config["uid"])
            os.write(1, REHEARSED)
        except OSError as error:
            _refuse(error)
        finally:
            os._exit(0)
    os.waitpid(child, 0)
