"""What the sandbox's tests share: an engine if there is one, small projects, and boxes that hold them."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from pytest_noepicycle.adapters.snapshot import TreeSnapshot, snapshot
from pytest_noepicycle.domain.patch import Patch
from pytest_noepicycle.domain.session import Interpreter, Session
from pytest_noepicycle.domain.settings import Settings
from pytest_noepicycle.domain.trial import Limits, Report, Trial
from pytest_noepicycle.errors import EngineUnavailable
from pytest_noepicycle.ports import Box
from pytest_noepicycle.sandbox.docker import DockerSandbox
from pytest_noepicycle.sandbox.process import ProcessSandbox

SETTINGS = Settings(memory=512 * 1024**2, processes=48)
QUIET = ("-p", "no:langsmith_plugin", "-p", "no:anyio", "-p", "no:hypothesispytest", "-p", "no:asyncio")


def this_interpreter() -> Interpreter:
    """The Python that runs these tests, without the folder of this repository."""
    homes = (sys.prefix, sys.base_prefix)
    version = ".".join(map(str, sys.version_info[:3]))
    path = tuple(entry for entry in sys.path if entry.startswith(homes))
    return Interpreter(sys.executable, version, sys.prefix, sys.base_prefix, sys.platform, path)


@dataclass(frozen=True)
class Project:
    """A project on the disk, and the session that failed in it."""

    session: Session
    tree: TreeSnapshot

    def sandbox(self, kind: str, settings: Settings = SETTINGS) -> DockerSandbox | ProcessSandbox:
        """The sandbox of that kind for it."""
        return (DockerSandbox if kind == "docker" else ProcessSandbox)(self.session, settings)

    def open(self, kind: str, settings: Settings = SETTINGS) -> Box:
        """A box of that kind that holds it."""
        return self.sandbox(kind, settings).open(self.tree)


def write_project(folder: Path, files: dict[str, str], interpreter: Interpreter | None = None) -> Project:
    """Write a project and take its snapshot; the caller closes it."""
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, encoding="utf-8")
    root = str(folder)
    session = Session(root, root, QUIET, interpreter or this_interpreter(), pytest.__version__, 1)
    return Project(session, snapshot(root))


def run_trial(box: Box, ids: tuple[str, ...] | None = None, seconds: float = 60.0, **fields: object) -> Report:
    """Run a trial with the given overlay, as text."""
    overlay = {path: str(text).encode() for path, text in dict(fields.pop("overlay", {})).items()}
    limits = Limits(seconds, default_test_seconds=float(str(fields.pop("test_seconds", 30.0))))
    return box.run(replace(Trial(Patch(()), ids, limits, overlay=overlay), **fields))


@pytest.fixture(scope="session")
def engine() -> None:
    """Skip, with the engine's own reason, where no container engine answers."""
    try:
        DockerSandbox(Session("/p", "/p", (), this_interpreter(), "9", 1), SETTINGS).require_engine()
    except EngineUnavailable as error:
        pytest.skip(f"no container engine: {error}")


@pytest.fixture(scope="session")
def namespaces(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Skip, with the kernel's own reason, where it allows no namespaces."""
    project = write_project(tmp_path_factory.mktemp("probe"), {"m.py": ""})
    project.tree.close()
    sandbox = ProcessSandbox(project.session, SETTINGS)
    if sandbox.way.because:
        pytest.skip(sandbox.way.because)


@pytest.fixture(scope="module", params=[pytest.param("docker", marks=pytest.mark.docker), "process"])
def kind(request: pytest.FixtureRequest) -> str:
    """Each kind of sandbox that works here."""
    request.getfixturevalue("engine" if request.param == "docker" else "namespaces")
    return str(request.param)


@pytest.fixture(scope="module")
def make_project(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., Project]]:
    """Write projects in folders of their own."""
    projects = []

    def make(
        files: dict[str, str], name: str = "project", interpreter: Interpreter | None = None, at: Path | None = None
    ) -> Project:
        folder = at or tmp_path_factory.mktemp("work") / name
        projects.append(write_project(folder, files, interpreter))
        return projects[-1]

    yield make
    for project in projects:
        project.tree.close()


@pytest.fixture(scope="session")
def trial() -> Callable[..., Report]:
    """Run a trial in a box: ``trial(box, ids, overlay={path: text}, …)``."""
    return run_trial


@pytest.fixture(scope="session")
def offspring() -> Callable[[int], set[int]]:
    """The living processes that descend from one."""
    return _offspring


@pytest.fixture(scope="session")
def until() -> Callable[[Callable[[], bool]], bool]:
    """Ask again and again, for half a minute at the most, whether something holds."""

    def wait(holds: Callable[[], bool]) -> bool:
        deadline = time.monotonic() + 30.0
        while not holds() and time.monotonic() < deadline:
            time.sleep(0.05)
        return holds()

    return wait


def _offspring(parent: int) -> set[int]:
    owners = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_bytes().rpartition(b")")[2].split()
            except OSError:
                continue
            if fields[0] != b"Z":
                owners[int(entry.name)] = int(fields[1])
    found, waiting = set(), [parent]
    while waiting:
        owner = waiting.pop()
        new = [pid for pid, its in owners.items() if its == owner and pid not in found]
        found.update(new)
        waiting.extend(new)
    return found - {os.getpid()}
