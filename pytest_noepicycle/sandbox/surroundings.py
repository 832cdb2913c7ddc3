"""The environment of a box: a list of what may enter, so that keys and tokens stay outside without being named."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pytest_noepicycle.domain.session import Session
from pytest_noepicycle.domain.settings import Settings
from pytest_noepicycle.sandbox.mirror import Mirror, within

MIB = 1024 * 1024
SCRATCH_PLACES = ("/tmp", "/var/tmp", "/scratch")
LET_THROUGH = ("LANG", "LANGUAGE", "TZ", "PYTHONUTF8", "PYTHONIOENCODING", "PYTEST_ADDOPTS", "PYTHONWARNINGS")
FOLDER_LISTS = ("PYTHONPATH", "LD_LIBRARY_PATH")  # some interpreters find their own library through the second
# Not even by name: no project's tests need the key that pays for the repair.
NEVER = frozenset({"ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"})
FIXED = {"PYTHONHASHSEED": "0", "PYTHONDONTWRITEBYTECODE": "1"}


def environment(
    session: Session,
    settings: Settings,
    outer: Mapping[str, str],
    *,
    visible: Callable[[str], bool] = lambda path: True,
    scratch: str = "/tmp",
) -> dict[str, str]:
    """Return the variables that the project's code gets: ``outer`` is ours, ``visible`` tells what a box can see."""
    python = session.interpreter
    named = [name for name in settings.env if name not in NEVER]
    chosen = {name: outer[name] for name in (*LET_THROUGH, *named) if name in outer}
    chosen |= {name: value for name, value in outer.items() if name.startswith("LC_")}
    for name in FOLDER_LISTS:
        if folders := [path for path in outer.get(name, "").split(os.pathsep) if path and visible(path)]:
            chosen[name] = os.pathsep.join(folders)
    if python.prefix != python.base_prefix:
        chosen["VIRTUAL_ENV"] = python.prefix
    programs = [f"{python.prefix}/bin", f"{python.base_prefix}/bin", "/usr/local/bin", "/usr/bin", "/bin"]
    return {"PATH": os.pathsep.join(dict.fromkeys(programs)), **chosen, **FIXED, "HOME": scratch, "TMPDIR": scratch}


@dataclass(frozen=True, slots=True)
class Space:
    """How many bytes a box may write, to its tree and to its scratch folder; both lie in memory."""

    tree: int
    scratch: int

    @classmethod
    def fitting(cls, archive: str, settings: Settings) -> Space:
        """Return room for the tree twice over, and for scratch a part of the memory (beside the worker's own copy)."""
        size = Path(archive).stat().st_size
        return cls(2 * size + 64 * MIB, size + max(16 * MIB, min(512 * MIB, settings.memory // 4)))

    @property
    def largest_file(self) -> int:
        """Return the bytes that no file of a box can exceed."""
        return max(self.tree, self.scratch)


def scratch_place(mirror: Mirror) -> str:
    """Return where a box may write: no place in which something is mounted, because it is emptied after each trial."""
    taken = (mirror.tree, *mirror.mounts, *mirror.masks)
    return next(place for place in SCRATCH_PLACES if not any(within(path, place) for path in taken))


def setup(mirror: Mirror, space: Space, scratch: str, env: Mapping[str, str]) -> dict[str, Any]:
    """Return what a worker is told about its box, whatever the box is made of (see ``inside.frames``)."""
    return {
        "env": dict(env),
        "limits": {"file_size": space.largest_file},
        "keep": list(mirror.keep),
        "tmp": scratch,
        "empty": ["/dev/shm"],
    }
