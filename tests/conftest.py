"""Fixtures that every room's tests share."""

from __future__ import annotations

import importlib.metadata
import os
import subprocess
import venv
from collections.abc import Callable, Iterator
from pathlib import Path

import model_server
import pytest
from story import Story


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave what takes minutes to the step of CI that asks for it."""
    if os.environ.get("NOEPI_SLOW"):
        return
    reason = "takes long: .ci/run has it as a step of its own, by NOEPI_SLOW=1 pytest -m slow"
    for item in items:
        if item.get_closest_marker("slow"):
            item.add_marker(pytest.mark.skip(reason=reason))


@pytest.fixture
def server() -> Iterator[model_server.ModelServer]:
    """Run a server that speaks the Messages API, for one test."""
    with model_server.running() as running:
        yield running


@pytest.fixture
def story(tmp_path: Path) -> Callable[[dict[str, str | bytes]], Story]:
    """Return a function that makes a project of files."""
    return lambda files: Story.of(tmp_path / "project", files)


@pytest.fixture(scope="session")
def bare_python(tmp_path_factory: pytest.TempPathFactory) -> str:
    """An interpreter whose environment holds pytest and what pytest needs, and nothing of ours.

    Made from the files of this environment, so that no test waits for a package index.
    """
    folder = tmp_path_factory.mktemp("bare")
    venv.create(folder / "env", with_pip=False, symlinks=os.name != "nt")
    python = folder / "env" / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    asked = [str(python), "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"]
    site = Path(subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip())
    for name in ("pytest", "pluggy", "iniconfig", "packaging", "pygments"):
        for file in importlib.metadata.distribution(name).files or ():
            source = Path(str(file.locate()))
            target = site / file
            if ".." not in file.parts and source.is_file() and source.suffix != ".pyc":
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(source.read_bytes())
    return str(python)
