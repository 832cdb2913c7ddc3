"""Landlock and a small seccomp filter: read what the mirror lists, write to the scratch folder, no sockets.

For machines that forbid namespaces to ordinary users. PYTEST_DONT_REWRITE
"""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import stat
import struct
from typing import Any, List, Mapping, Optional, Tuple

from . import kernel

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446  # the same numbers on every architecture
_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIR = 1 << 0, 1 << 1, 1 << 2, 1 << 3
_TRUNCATE, _IOCTL_DEV = 1 << 14, 1 << 15
_READ = _EXECUTE | _READ_FILE | _READ_DIR
_ONLY_FILES = _EXECUTE | _WRITE_FILE | _READ_FILE | _TRUNCATE | _IOCTL_DEV
_RIGHTS_BY_ABI = {1: (1 << 13) - 1, 2: (1 << 14) - 1, 3: (1 << 15) - 1, 4: (1 << 15) - 1}
_ALL_RIGHTS = (1 << 16) - 1
_TCP, _SCOPES = 0b11, 0b11
SCOPES_SINCE, TCP_SINCE = 6, 4

# Per machine: seccomp's name of the architecture, then the calls socket, kill and io_uring_setup.
_CALLS = {"x86_64": (0xC000003E, 41, 62, 425), "aarch64": (0xC00000B7, 198, 129, 425)}
_LOAD, _EQUAL, _AT_LEAST, _RETURN = 0x20, 0x15, 0x35, 0x06
_ALLOW, _KILL, _ERRNO = 0x7FFF0000, 0x80000000, 0x00050000
_X32 = 0x40000000
_PR_SET_SECCOMP, _FILTER_MODE = 22, 2

Step = Tuple[int, int, int, int]


def version() -> int:
    """Return the version of Landlock that this kernel speaks; 0 where it speaks none."""
    try:
        return _syscall(_CREATE_RULESET, None, 0, 1)
    except OSError:
        return 0


def filters_sockets() -> bool:
    """Whether sockets can be forbidden on this machine."""
    return platform.machine() in _CALLS


def restrict(allowed: Mapping[str, Any]) -> None:
    """Confine this process and all that it starts, for good: ``read`` and ``write`` are lists of paths.

    Needs no_new_privileges first.

    :raises OSError: where the kernel refuses.
    """
    abi = version()
    rights = _RIGHTS_BY_ABI.get(abi, _ALL_RIGHTS)
    ruleset = _new_ruleset(abi, rights)
    try:
        for path in allowed["read"]:
            _allow(ruleset, path, _READ)
        for path in allowed["write"]:
            _allow(ruleset, path, rights)
        _syscall(_RESTRICT_SELF, ruleset, 0)
    finally:
        os.close(ruleset)
    if filters_sockets():
        _filter_calls(socket_filter(platform.machine(), keep_signals_in=abi < SCOPES_SINCE))


def socket_filter(machine: str, keep_signals_in: bool) -> List[Step]:
    """Return a program that forbids new sockets and io_uring; with ``keep_signals_in`` also a signal to everybody.

    Landlock knows TCP alone: a datagram, or a connection to an engine's socket, would leave the box.
    """
    arch, socket, kill, io_uring = _CALLS[machine]
    allow: List[Step] = [(_RETURN, 0, 0, _ALLOW)]
    deny = (_RETURN, 0, 0, _ERRNO | errno.EACCES)
    program: List[Step] = [(_LOAD, 0, 0, 4), (_EQUAL, 1, 0, arch), (_RETURN, 0, 0, _KILL), (_LOAD, 0, 0, 0)]
    if machine == "x86_64":
        program += [(_AT_LEAST, 0, 1, _X32), deny]
    program += [(_EQUAL, 0, 1, socket), deny, (_EQUAL, 0, 1, io_uring), (_RETURN, 0, 0, _ERRNO | errno.ENOSYS)]
    if keep_signals_in:
        program += [(_EQUAL, 0, 3, kill), (_LOAD, 0, 0, 16), (_EQUAL, 0, 1, 0xFFFFFFFF), deny]
    return program + allow


def _new_ruleset(abi: int, rights: int) -> int:
    attributes = struct.pack("Q", rights)
    if abi >= TCP_SINCE:
        attributes += struct.pack("Q", _TCP)
    if abi >= SCOPES_SINCE:
        attributes += struct.pack("Q", _SCOPES)
    return _syscall(_CREATE_RULESET, attributes, len(attributes), 0)


def _allow(ruleset: int, path: str, rights: int) -> None:
    try:
        place = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except FileNotFoundError:
        return
    try:
        is_folder = stat.S_ISDIR(os.fstat(place).st_mode)
        rule = struct.pack("=Qi", rights if is_folder else rights & _ONLY_FILES, place)
        _syscall(_ADD_RULE, ruleset, 1, rule, 0)
    finally:
        os.close(place)


def _filter_calls(program: List[Step]) -> None:
    code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *step) for step in program))
    header = struct.pack("HxxxxxxQ", len(program), ctypes.addressof(code))
    kernel.call("prctl", _PR_SET_SECCOMP, _FILTER_MODE, header, 0, 0)


def _syscall(number: int, *arguments: Optional[Any]) -> int:
    plain = [ctypes.c_long(value) if isinstance(value, int) else value for value in arguments]
    return kernel.call("syscall", ctypes.c_long(number), *plain)
