"""A root of its own for a box: the mirror read-only, a few small writable places, and nothing else of the machine.

Runs as PID 1 of new namespaces, before the worker takes its place. PYTEST_DONT_REWRITE
"""

from __future__ import annotations

import fcntl
import os
import socket
import struct
from typing import Any, Mapping

from . import kernel

BASE = "/tmp"  # any folder that is there; what is mounted on it is seen by this process alone
OLD, NEW = "/old", "/new"
DEVICES = ("null", "zero", "full", "random", "urandom", "tty")
DEVICE_LINKS = {"fd": "/proc/self/fd", "stdin": "/proc/self/fd/0", "stdout": "/proc/self/fd/1"}
SHARED_BYTES = 64 * 1024 * 1024
HOST_NAME = "sandbox"
_SMALL = kernel.MS_NOSUID | kernel.MS_NODEV


def build(plan: Mapping[str, Any]) -> None:
    """Build the root that ``plan`` describes and move into it.

    :raises OSError: where the kernel refuses a step; its text names the step.
    """
    kernel.mount("none", "/", None, kernel.MS_REC | kernel.MS_SLAVE)
    _step_back()
    _lay_mirror(plan)
    _lay_writable(plan)
    _lay_devices()
    _lay_accounts(plan)
    _lay_processes()
    kernel.call("sethostname", HOST_NAME.encode(), len(HOST_NAME))
    _seal()


def _step_back() -> None:
    """Put an empty file system in the place of the root; the old one stays reachable below it."""
    kernel.mount("tmpfs", BASE, "tmpfs", _SMALL, "mode=755,size=16m")
    os.mkdir(BASE + OLD)
    os.mkdir(BASE + NEW)
    kernel.call("pivot_root", BASE.encode(), (BASE + OLD).encode())
    os.chdir("/")
    kernel.mount("tmpfs", NEW, "tmpfs", _SMALL, "mode=755,size=16m")


def _lay_mirror(plan: Mapping[str, Any]) -> None:
    for path, target in plan["links"].items():
        os.makedirs(os.path.dirname(NEW + path), exist_ok=True)
        os.symlink(target, NEW + path)
    inside_tree = plan["keep"]
    for path in plan["mounts"]:
        if path not in inside_tree:
            _show(path, path)
    _show(plan["inside"], plan["inside_at"])
    _tmpfs(plan["tree"], "755", plan["tree_bytes"])
    for path in inside_tree:
        _show(path, path)
    for path in plan["masks"]:
        _hide(NEW + path)


def _show(source: str, path: str) -> None:
    """Bind a file or folder of the old root, read-only."""
    _make_place(NEW + path, folder=os.path.isdir(OLD + source))
    kernel.mount(OLD + source, NEW + path, None, kernel.MS_BIND | kernel.MS_REC)
    kernel.read_only(NEW + path)


def _hide(place: str) -> None:
    if os.path.isdir(place):
        kernel.mount("tmpfs", place, "tmpfs", _SMALL, "mode=000,size=4k")
        kernel.read_only(place)
    elif os.path.lexists(place):
        kernel.mount(OLD + "/dev/null", place, None, kernel.MS_BIND)


def _make_place(path: str, folder: bool) -> None:
    """Make what a mount needs below it; in a mirrored folder it is there already."""
    if os.path.lexists(path):
        return
    os.makedirs(path if folder else os.path.dirname(path), exist_ok=True)
    if not folder:
        kernel.write(path, "")


def _tmpfs(path: str, mode: str, size: int) -> None:
    _make_place(NEW + path, folder=True)
    kernel.mount("tmpfs", NEW + path, "tmpfs", _SMALL, "mode={},size={}".format(mode, size))


def _lay_writable(plan: Mapping[str, Any]) -> None:
    """Lay the scratch folder; /tmp is that, unless a part of the mirror lies in it: then it is shown as it is."""
    if plan["scratch"] == "/tmp":
        _tmpfs("/tmp", "1777", plan["scratch_bytes"])
        os.makedirs(NEW + "/var", exist_ok=True)
        os.symlink("/tmp", NEW + "/var/tmp")
    else:
        _tmpfs(plan["scratch"], "1777", plan["scratch_bytes"])
        os.makedirs(NEW + "/tmp", exist_ok=True)
    os.makedirs(NEW + "/run", exist_ok=True)


def _lay_devices() -> None:
    _tmpfs("/dev", "755", 65536)
    for name in DEVICES:
        _make_place(NEW + "/dev/" + name, folder=False)
        kernel.mount(OLD + "/dev/" + name, NEW + "/dev/" + name, None, kernel.MS_BIND)
    for name, target in {**DEVICE_LINKS, "stderr": "/proc/self/fd/2", "ptmx": "pts/ptmx"}.items():
        os.symlink(target, NEW + "/dev/" + name)
    os.mkdir(NEW + "/dev/pts")
    kernel.mount("devpts", NEW + "/dev/pts", "devpts", _SMALL, "newinstance,ptmxmode=0666,mode=620")
    _tmpfs("/dev/shm", "1777", SHARED_BYTES)


def _lay_accounts(plan: Mapping[str, Any]) -> None:
    """Lay files that name the users of the box, so that looking up oneself works as outside."""
    os.makedirs(NEW + "/etc", exist_ok=True)
    for name, content in plan["accounts"].items():
        path = NEW + "/etc/" + name
        if not os.path.lexists(path):
            kernel.write(path, content)


def _lay_processes() -> None:
    """Lay /proc of the new process namespace."""
    os.mkdir(NEW + "/proc")
    kernel.mount("proc", NEW + "/proc", "proc", _SMALL | kernel.MS_NOEXEC)


def bring_loopback_up() -> None:
    """Give tests the loopback device that they know; it leads nowhere else."""
    up, get_flags, set_flags = 0x1, 0x8913, 0x8914
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as device:
        request = struct.pack("16sh14x", b"lo", 0)
        flags = struct.unpack("16sh14x", fcntl.ioctl(device, get_flags, request))[1]
        fcntl.ioctl(device, set_flags, struct.pack("16sh14x", b"lo", flags | up))


def _seal() -> None:
    """Make the frame read-only, but not what is mounted in it, and let go of the old root."""
    for place in (NEW, NEW + "/dev"):
        kernel.mount("none", place, None, kernel.MS_REMOUNT | kernel.MS_BIND | kernel.MS_RDONLY | _SMALL)
    kernel.change_root(NEW)
    os.umask(0o022)
