"""What a container is made of: how it is confined, what it sees, how the worker gets into it."""

from __future__ import annotations

import io
import tarfile
import tempfile
from pathlib import Path
from typing import Any

from pytest_noepicycle.domain.settings import Settings
from pytest_noepicycle.sandbox.layout import lay_out_inside, worker_command
from pytest_noepicycle.sandbox.mirror import Mirror
from pytest_noepicycle.sandbox.surroundings import MIB, Space

INSIDE_AT = "/priv/noepi"
# PID 1 serves children of another user: it gives them their files and ends their processes. They hold none of these.
CAPABILITIES = ("CHOWN", "DAC_OVERRIDE", "FOWNER", "KILL", "SETGID", "SETUID")

# Unpacks the half that runs inside from standard input, and becomes the worker.
_BOOT = """
import io, os, sys, tarfile
size, content = int(sys.argv[1]), b""
while len(content) < size:
    chunk = os.read(0, size - len(content))
    if not chunk:
        sys.exit("nothing to run came")
    content += chunk
tarfile.open(fileobj=io.BytesIO(content)).extractall(sys.argv[2])
os.execv(sys.executable, [sys.executable, *sys.argv[3:]])
"""


def host_config(mirror: Mirror, settings: Settings, space: Space, scratch: str) -> dict[str, Any]:
    """Return how a container is confined, in the words of the engine's API. Every box gets exactly this."""
    return {
        "NetworkMode": "none",
        "ReadonlyRootfs": True,
        "Privileged": False,
        "CapDrop": ["ALL"],
        "CapAdd": list(CAPABILITIES),
        "SecurityOpt": ["no-new-privileges", *_labels()],
        "PidsLimit": settings.processes + 8,
        "Memory": settings.memory,
        "MemorySwap": settings.memory,
        "ShmSize": 64 * MIB,
        "IpcMode": "private",
        "Ulimits": [{"Name": "core", "Soft": 0, "Hard": 0}, {"Name": "nofile", "Soft": 1024, "Hard": 1024}],
        "LogConfig": {"Type": "none"},
        "AutoRemove": True,
        "Init": False,
        "Tmpfs": _writable(mirror, space, scratch),
        "Mounts": [bind(path, path) for path in mirror.mounts]
        + [bind("/dev/null", path) for path in mirror.masks if not Path(path).is_dir()],
    }


def boot_command(python: str, size: int) -> list[str]:
    """Return the command of a container: it reads :func:`inside_tar` of ``size`` bytes, and becomes the worker."""
    boot = ["-I", "-S", "-B", "-W", "ignore", "-c", _BOOT, str(size), INSIDE_AT]
    return [python, *boot, *worker_command(python, INSIDE_AT)[1:]]


def inside_tar() -> bytes:
    """Return the half that runs inside, as a tar."""
    buffer = io.BytesIO()
    with tempfile.TemporaryDirectory(prefix="noepi-inside-") as folder, tarfile.open(fileobj=buffer, mode="w") as tar:
        half = lay_out_inside(Path(folder))
        tar.add(half, arcname=".", filter=_owned_by_root)
    return buffer.getvalue()


def bind(source: str, target: str) -> dict[str, Any]:
    """Return a read-only mount of a file or folder that must be there."""
    return {"Type": "bind", "Source": source, "Target": target, "ReadOnly": True}


def _writable(mirror: Mirror, space: Space, scratch: str) -> dict[str, str]:
    hidden = {path: "ro,nosuid,nodev,mode=000,size=4k" for path in mirror.masks if Path(path).is_dir()}
    return {
        mirror.tree: f"exec,nosuid,nodev,mode=755,size={space.tree}",
        scratch: f"exec,nosuid,nodev,mode=1777,size={space.scratch}",
        INSIDE_AT: f"nosuid,nodev,mode=755,size={8 * MIB}",
        **hidden,
    }


def _labels() -> list[str]:
    """Where SELinux rules, a container may read the host's files only without a label; relabelling /usr is worse."""
    return ["label=disable"] if Path("/sys/fs/selinux").is_dir() else []


def _owned_by_root(member: tarfile.TarInfo) -> tarfile.TarInfo:
    member.uid = member.gid = 0
    member.uname = member.gname = ""
    member.mode = 0o755 if member.isdir() else 0o444
    return member
