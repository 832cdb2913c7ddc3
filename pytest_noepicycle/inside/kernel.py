"""The few calls to Linux that Python's standard library lacks: namespaces, mounts, capabilities. PYTEST_DONT_REWRITE"""

from __future__ import annotations

import ctypes
import os
import struct
from typing import Any, Iterable, Optional

CLONE_NEWNS = 0x00020000
CLONE_NEWUTS = 0x04000000
CLONE_NEWIPC = 0x08000000
CLONE_NEWUSER = 0x10000000
CLONE_NEWPID = 0x20000000
CLONE_NEWNET = 0x40000000

MS_RDONLY, MS_NOSUID, MS_NODEV, MS_NOEXEC, MS_REMOUNT = 0x1, 0x2, 0x4, 0x8, 0x20
MS_BIND, MS_REC, MS_SLAVE = 0x1000, 0x4000, 0x80000
MNT_DETACH = 0x2

CAP_CHOWN, CAP_DAC_OVERRIDE, CAP_FOWNER, CAP_KILL = 0, 1, 3, 5
CAP_SETGID, CAP_SETUID, CAP_SETPCAP, CAP_SYS_ADMIN = 6, 7, 8, 21

_PR_CAPBSET_DROP, _PR_SET_NO_NEW_PRIVS, _PR_CAP_AMBIENT = 24, 38, 47
_AMBIENT_RAISE, _AMBIENT_CLEAR = 2, 4
_CAPABILITY_V3 = 0x20080522
_SYS_MOUNT_SETATTR = 442  # the same number on every architecture
_AT_FDCWD, _AT_RECURSIVE = -100, 0x8000
_ATTR_RDONLY, _ATTR_NOSUID, _ATTR_NODEV = 0x1, 0x2, 0x4


def libc() -> Any:
    """Return the C library of this process."""
    return ctypes.CDLL(None, use_errno=True)


def call(name: str, *arguments: Any) -> int:
    """Call a function of the C library.

    :raises OSError: with the function's name, where it fails.
    """
    result = int(getattr(libc(), name)(*arguments))
    if result == -1:
        error = ctypes.get_errno()
        raise OSError(error, "{}: {}".format(name, os.strerror(error)))
    return result


def write(path: str, text: str) -> None:
    """Write to a file; in bytes, because where the root changes no codec can be loaded any more."""
    with open(path, "wb", buffering=0) as file:
        file.write(text.encode())


def unshare(flags: int) -> None:
    """Leave the namespaces that ``flags`` name for new ones."""
    call("unshare", flags)


def mount(source: str, target: str, kind: Optional[str] = None, flags: int = 0, data: Optional[str] = None) -> None:
    """Mount ``source`` on ``target``, an existing path.

    :raises OSError: naming the target.
    """
    texts = [None if text is None else os.fsencode(text) for text in (source, target, kind, data)]
    try:
        call("mount", texts[0], texts[1], texts[2], ctypes.c_ulong(flags), texts[3])
    except OSError as error:
        raise OSError(error.errno, "{} ({} on {})".format(error.strerror, source, target)) from None


def read_only(path: str) -> None:
    """Make the mount at ``path``, and all below it, read-only, without setuid programs and devices (Linux 5.12)."""
    attributes = struct.pack("QQQQ", _ATTR_RDONLY | _ATTR_NOSUID | _ATTR_NODEV, 0, 0, 0)
    arguments = (os.fsencode(path), ctypes.c_uint(_AT_RECURSIVE), attributes, ctypes.c_size_t(len(attributes)))
    try:
        call("syscall", ctypes.c_long(_SYS_MOUNT_SETATTR), ctypes.c_int(_AT_FDCWD), *arguments)
    except OSError as error:
        raise OSError(error.errno, "mount_setattr: {} ({})".format(os.strerror(error.errno or 0), path)) from None


def change_root(folder: str) -> None:
    """Make ``folder``, a mount, the root of everything, and let go of the old root."""
    os.chdir(folder)
    call("pivot_root", b".", b".")
    call("umount2", b".", MNT_DETACH)
    os.chdir("/")


def prctl(option: int, *arguments: int) -> int:
    """Change a property of this process."""
    padded = [*arguments, 0, 0, 0, 0][:4]
    return call("prctl", ctypes.c_int(option), *[ctypes.c_ulong(value) for value in padded])


def no_new_privileges() -> None:
    """Gain nothing from setuid programs, for good."""
    prctl(_PR_SET_NO_NEW_PRIVS, 1)


def last_capability() -> int:
    """Return the highest capability that this kernel knows."""
    with open("/proc/sys/kernel/cap_last_cap", "rb") as file:
        return int(file.read())


def bound_capabilities(kept: Iterable[int]) -> None:
    """Give up all capabilities but ``kept`` for every program that is started from here on."""
    for capability in range(last_capability() + 1):
        if capability not in kept:
            prctl(_PR_CAPBSET_DROP, capability)


def set_capabilities(kept: Iterable[int]) -> None:
    """Hold exactly these capabilities, inheritable ones included."""
    low = high = 0
    for capability in kept:
        low, high = (low | 1 << capability, high) if capability < 32 else (low, high | 1 << capability - 32)
    header = struct.pack("Ii", _CAPABILITY_V3, 0)
    call("capset", header, struct.pack("6I", low, low, low, high, high, high))


def keep_through_exec(kept: Iterable[int]) -> None:
    """Let the next program of an ordinary user hold these capabilities too."""
    for capability in kept:
        prctl(_PR_CAP_AMBIENT, _AMBIENT_RAISE, capability)


def drop_all_capabilities() -> None:
    """Hold none, and never any again. Call it while CAP_SETPCAP is still held."""
    prctl(_PR_CAP_AMBIENT, _AMBIENT_CLEAR)
    bound_capabilities(())
    set_capabilities(())
