"""What one process leaves to the next: descriptors under agreed numbers, and values in files without a name."""

from __future__ import annotations

import fcntl
import json
import os
import sys
import tempfile
from typing import Any, Dict, List, NoReturn, Optional

_START = "import sys; sys.path[:] = [sys.argv[1]] + [p for p in sys.path if p]; from {module} import {name}; {name}()"
_OUT_OF_THE_WAY = 64


def leave(value: Dict[str, Any]) -> int:
    """Write a value to a file without a name, and return its descriptor, ready to be read."""
    with tempfile.TemporaryFile() as file:
        file.write(json.dumps(value).encode())
        file.seek(0)
        return os.dup(file.fileno())


def execute(module: str, name: str, env: Dict[str, str]) -> NoReturn:
    """Become a fresh interpreter that begins in one of our modules and has nothing of the project on its path."""
    folder = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    start = _START.format(module=f"{__package__}.{module}", name=name)
    clean = {key: value for key, value in env.items() if key != "PYTHONPATH"}
    os.execve(sys.executable, [sys.executable, "-s", "-B", "-c", start, folder], clean)


def hold_only(records: int, output: int, job: Optional[int]) -> None:
    """Put the child's descriptors where it looks for them, and close every other."""
    wanted = [os.open(os.devnull, os.O_RDONLY), output, output, records, *([job] if job is not None else [])]
    out_of_the_way = [fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, _OUT_OF_THE_WAY) for fd in wanted]
    for place, fd in enumerate(out_of_the_way):
        os.dup2(fd, place, inheritable=job is not None or place < 3)
    for fd in _open_descriptors():
        if fd >= len(wanted):
            try:
                os.close(fd)
            except OSError:  # the one through which they were listed
                continue


def put(fd: int, place: int) -> None:
    """Give a descriptor a number, under which it outlives the exec."""
    os.dup2(fd, place)
    os.set_inheritable(place, True)  # dup2 does not where the two are one


def _open_descriptors() -> List[int]:
    if os.path.isdir("/proc/self/fd"):
        return [int(name) for name in os.listdir("/proc/self/fd")]
    return list(range(3, 256))
