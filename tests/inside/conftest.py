"""A real worker as a plain child process, without any sandbox around it."""

from __future__ import annotations

import io
import os
import subprocess
import sys
import tarfile
import textwrap
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from pytest_noepicycle.domain.patch import FileChange, Patch
from pytest_noepicycle.domain.session import Interpreter, Plugin, Session
from pytest_noepicycle.domain.trial import Limits, Report, Trial
from pytest_noepicycle.sandbox.layout import lay_out_inside, worker_command
from pytest_noepicycle.sandbox.wire import PipeChannel, WorkerBox, start


@dataclass(frozen=True)
class FolderSnapshot:
    """A folder as the snapshot of a tree."""

    root: str
    archive: str
    files: frozenset[str]
    links: frozenset[str] = frozenset()

    def read(self, path: str) -> bytes | None:
        """Read from the folder."""
        file = Path(self.root, path)
        return file.read_bytes() if file.is_file() else None


@dataclass
class Rig:
    """A project, its worker and a short way to run trials in it."""

    folder: Path
    box: WorkerBox
    process: subprocess.Popen[bytes]
    original: dict[str, bytes] = field(default_factory=dict)

    def run(self, *ids: str, change: Mapping[str, str | None] | None = None, **options: object) -> Report:
        """Run tests (none named: all of them) with files changed."""
        changes = [
            FileChange(path, self.original.get(path), None if text is None else textwrap.dedent(text).encode())
            for path, text in (change or {}).items()
        ]
        limits = Limits(options.pop("seconds", 30.0), options.pop("test_seconds", 20.0))
        return self.box.run(Trial(Patch.of(changes), ids or None, limits, **options))

    def statuses(self, *ids: str, **options: object) -> dict[str, str]:
        """Run tests; return each one's status by the last part of its id."""
        report = self.run(*ids, **options)
        return {name.split("::", 1)[-1]: outcome.status.value for name, outcome in report.outcomes.items()}

    def tree(self) -> dict[str, bytes]:
        """Return what lies in the worker's tree."""
        return {str(p.relative_to(self.folder)): p.read_bytes() for p in self.folder.rglob("*") if p.is_file()}


def session_of(
    folder: Path, args: tuple[str, ...], ini: str | None, plugins: tuple[str, ...], cwd: str = "."
) -> Session:
    """Return the session that a run in that folder, called from ``cwd`` in it, would have left behind."""
    interpreter = Interpreter(sys.executable, "", "", "", sys.platform, (str(folder), *[p for p in sys.path if p]))
    return Session(
        str(folder),
        os.path.normpath(folder / cwd),
        args,
        interpreter,
        pytest.__version__,
        exit_status=1,
        inipath=ini,
        plugins=tuple(Plugin(name, name) for name in plugins),
    )


def archive_of(files: Mapping[str, bytes], target: Path) -> Path:
    """Write a tar of some files."""
    with tarfile.open(target, "w") as tar:
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
    return target


@pytest.fixture(scope="module")
def inside_half(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The laid-out half."""
    return lay_out_inside(tmp_path_factory.mktemp("half"))


@pytest.fixture(scope="module")
def make_rig(inside_half: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., Rig]]:
    """Make a rig from files; all workers are ended afterwards."""
    rigs: list[Rig] = []

    def make(
        files: Mapping[str, str],
        *,
        args: tuple[str, ...] = (),
        env: Mapping[str, str] | None = None,
        plugins: tuple[str, ...] = (),
        cwd: str = ".",
        **setup: object,
    ) -> Rig:
        base = tmp_path_factory.mktemp("rig")
        original = {name: textwrap.dedent(text).encode() for name, text in files.items()}
        folder = base / "tree"
        snapshot = FolderSnapshot(str(folder), str(archive_of(original, base / "tree.tar")), frozenset(original))
        ini = next((str(folder / name) for name in ("pytest.ini", "setup.cfg") if name in files), None)
        with (base / "errors").open("wb") as errors:
            process = subprocess.Popen(
                worker_command(sys.executable, inside_half),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                start_new_session=True,
                env={"PATH": os.environ["PATH"]},
            )
        variables = {"PATH": os.environ["PATH"], "LANG": "C.UTF-8", "PYTHONHASHSEED": "0", **(env or {})}
        if not plugins:
            variables["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
        setup = {"env": variables, "limits": {"file_size": 1 << 28}, "tmp": str(base / "scratch"), **setup}
        box = start(PipeChannel(process, base / "errors"), session_of(folder, args, ini, plugins, cwd), snapshot, setup)
        rigs.append(Rig(folder, box, process, original))
        return rigs[-1]

    yield make
    for rig in rigs:
        rig.box.close()
