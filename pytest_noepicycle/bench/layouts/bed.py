"""An environment with one version of pytest, and a layout laid out in it."""

from __future__ import annotations

import contextlib
import json
import shutil
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from pytest_noepicycle.bench import projects
from pytest_noepicycle.bench.layouts import listener
from pytest_noepicycle.bench.layouts.layout import Layout
from pytest_noepicycle.bench.projects import BenchError, Project

SECONDS = 300.0  # for any one command
NEEDS = (
    *("pytest-asyncio", "pytest-cov", "pytest-django", "pytest-mock", "pytest-random-order", "pytest-randomly"),
    *("pytest-timeout", "pytest-xdist", "hypothesis", "django", "setuptools>=71"),
)
PLUGINS = ("asyncio", "django", "hypothesispytest", "pytest_cov", "pytest_mock", "random_order", "randomly", "timeout")
"""Plugins that are active only in the layouts that name them; those of xdist do nothing unless they are asked to."""
_COMPANIONS = ("langsmith_plugin", "anyio")  # come along with what the engine needs


@dataclass(frozen=True, slots=True)
class Bed:
    """A layout in an environment: ``folder`` holds its tree, ``python`` runs it."""

    layout: Layout
    folder: Path
    python: Path
    before: dict[str, bytes]

    @property
    def tree(self) -> Path:
        """The project's folder."""
        return self.folder / "tree"

    @property
    def arguments(self) -> tuple[str, ...]:
        """What every pytest call is given."""
        named = tuple(arg.format(link=self.folder / "link") for arg in self.layout.args)
        unwanted = [name for name in (*PLUGINS, *_COMPANIONS) if name not in self.layout.plugins]
        return (*(word for name in unwanted for word in ("-p", f"no:{name}")), *named)

    def pytest(self, *more: str) -> int | None:
        """Run pytest as a user would; return its status, None after too long. What it says is kept in ``log``."""
        command = [str(self.python), "-B", "-m", "pytest", *self.arguments, *more]
        return projects.run(command, self.tree / self.layout.cwd, SECONDS, self.log)

    def outcomes(self, *more: str) -> tuple[int | None, dict[str, str]]:
        """Return the status of an ordinary run, and how each test ended in it, by its id."""
        target = self.folder / "outcomes.json"
        target.unlink(missing_ok=True)
        status = self.pytest("-p", listener.__name__, listener.OPTION, str(target), *more)
        return status, dict(json.loads(target.read_text("utf-8"))) if target.exists() else {}

    def restore(self) -> None:
        """Put the files back as they were laid out, and take the record of a repair away."""
        for path, content in self.before.items():
            (self.tree / path).write_bytes(content)
        shutil.rmtree(self.tree / ".noepi", ignore_errors=True)

    def now(self) -> dict[str, bytes]:
        """Return the bytes of the files that the layout has laid out."""
        return {path: (self.tree / path).read_bytes() for path in self.before if (self.tree / path).is_file()}

    @property
    def log(self) -> Path:
        """Where the last command's output lies."""
        return self.folder / "log.txt"


def environment(pytest_major: int, cache: Path, engine: str) -> Path:
    """Return an interpreter with the newest pytest of that major version, the plugins and the engine; made once.

    :raises BenchError: where the package index does not answer.
    """
    wanted = f"pytest>={pytest_major},<{pytest_major + 1}"
    made = Project(f"the layouts under pytest {pytest_major}", "", "", needs=(wanted, *NEEDS))
    folder = cache / f"pytest-{pytest_major}"
    folder.mkdir(parents=True, exist_ok=True)
    return projects.make_environment(made, folder, engine)


@contextlib.contextmanager
def laid_out(layout: Layout, folder: Path, python: Path) -> Iterator[Bed]:
    """Lay a layout out afresh in a folder, and install its product where it wants that; uninstall it afterwards."""
    shutil.rmtree(folder, ignore_errors=True)
    try:
        bed = Bed(layout, folder, python, layout.lay_out(folder / "tree"))
        (folder / "link").symlink_to(bed.tree)
        with _installed(bed):
            yield bed
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextlib.contextmanager
def _installed(bed: Bed) -> Iterator[None]:
    if not bed.layout.install:
        yield
        return
    name = tomllib.loads((bed.tree / "pyproject.toml").read_text("utf-8"))["project"]["name"]
    how = ["-e"] if bed.layout.install == "editable" else []
    try:
        _pip(bed, "install", "--no-deps", "--no-build-isolation", *how, str(bed.tree))
        for rest in ("build", "dist"):
            shutil.rmtree(bed.tree / rest, ignore_errors=True)
        yield
    finally:
        _pip(bed, "uninstall", "--yes", name)


def _pip(bed: Bed, *words: str) -> None:
    command: Sequence[str] = [str(bed.python), "-m", "pip", "-q", "--disable-pip-version-check", *words]
    if projects.run(command, bed.folder, SECONDS, bed.log) != 0:
        raise BenchError(f"pip {words[0]} of {bed.layout.name} failed: {bed.log.read_text('utf-8', 'replace')[-500:]}")
