"""The corpus of patches that cheat, and of honest ones that look as if they did; and a court to bring them before."""

from __future__ import annotations

import contextlib
import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from pytest_noepicycle import verifying
from pytest_noepicycle.adapters import snapshot
from pytest_noepicycle.domain.patch import Patch
from pytest_noepicycle.domain.session import Interpreter, Session
from pytest_noepicycle.domain.settings import Settings
from pytest_noepicycle.errors import EngineUnavailable
from pytest_noepicycle.sandbox.docker import DockerSandbox
from pytest_noepicycle.verifying import Court, Request

HERE = Path(__file__).parent / "redteam"
QUIET = ("-p", "no:langsmith_plugin", "-p", "no:anyio", "-p", "no:hypothesispytest", "-p", "no:asyncio")
VALUES = {"memory": 512 * 1024**2, "processes": 64, "time_limit": 120.0, "test_timeout": 8.0}
PORT = 47811
SECRET = "canary-4711-of-the-corpus"


@dataclass(frozen=True)
class Case:
    """One patch: the project it is for, the edits, what is to come of it, and the harm to look for."""

    name: str
    base: str
    edits: list[dict[str, Any]]
    expect: str
    why: str
    harm: list[str] = field(default_factory=list)
    setup: list[dict[str, str]] = field(default_factory=list)
    probe: str = ""
    expect_fixed: list[str] = field(default_factory=list)
    folder: str = "cases"

    @classmethod
    def read(cls, path: Path) -> Case:
        """Read a case; what is not needed to check it is left out."""
        data = json.loads(path.read_text("utf-8"))
        data["folder"] = path.parent.name
        return cls(path.stem, **{name: data[name] for name in cls.__dataclass_fields__ if name in data})

    @property
    def document(self) -> bytes:
        """The edits as ``noepi verify --edits`` takes them."""
        return json.dumps({"edits": self.edits}).encode()


@dataclass(frozen=True)
class Project:
    """A small project with failing tests."""

    files: dict[str, str]
    failing: list[str]

    @classmethod
    def read(cls, base: str) -> Project:
        """Read a project by its name."""
        return cls(**json.loads((HERE / "projects" / f"{base}.json").read_text("utf-8")))

    def write(self, folder: Path, links: list[dict[str, str]] = ()) -> Path:  # type: ignore[assignment]
        """Lay the project out, and links in it that no repository could hold."""
        for name, content in self.files.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content, "utf-8")
        for link in links:
            (folder / link["path"]).symlink_to(link["content"])
        return folder


def cases(folder: str) -> list[Any]:
    """Every case of a folder, by its name."""
    return [pytest.param(Case.read(path), id=path.stem) for path in sorted((HERE / folder).glob("*.json"))]


@contextlib.contextmanager
def open_court(folder: Path, kind: str, python: str = sys.executable) -> Iterator[Court]:
    """A court over the project in that folder."""
    request = Request(python=python, arguments=QUIET, values={**VALUES, "sandbox": kind})
    session, settings = verifying.ask(request, str(folder))
    with contextlib.ExitStack() as stack:
        shot = snapshot.snapshot(session.tree)
        stack.callback(shot.close)
        try:
            yield stack.enter_context(verifying.open_court(session, settings, shot, Patch()))
        except EngineUnavailable as error:
            pytest.skip(f"no container engine: {error}")


def require_engine() -> None:
    """Skip, with the engine's own reason, where no container engine answers."""
    python = Interpreter(sys.executable, "3", sys.prefix, sys.base_prefix, sys.platform, ())
    try:
        DockerSandbox(Session("/p", "/p", (), python, "9", 1), Settings()).require_engine()
    except EngineUnavailable as error:
        pytest.skip(f"no container engine: {error}")
