"""Real packages to plant faults in: where they come from, how their own suites are run."""

from __future__ import annotations

import hashlib
import os
import shutil
import signal
import subprocess
import sys
import tarfile
import time
import xml.etree.ElementTree as ElementTree
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pytest_noepicycle.errors import NoepiError

INSTALL_SECONDS = 900.0


class BenchError(NoepiError):
    """The measurement cannot be taken on this machine."""

    hint = "The package index must be reachable, and the package's own suite green, before faults are planted."


@dataclass(frozen=True, slots=True)
class Project:
    """A source distribution that carries its tests.

    ``product`` is the folder whose modules get faults, ``leave_out`` are names in it that do not; ``needs`` is
    installed beside pytest, ``arguments`` go to every pytest call.
    """

    name: str
    version: str
    product: str
    leave_out: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()
    arguments: tuple[str, ...] = ()

    def modules(self, tree: Path) -> dict[str, str]:
        """Return the text of each module that may get a fault, by its path in the tree."""
        files = sorted((tree / self.product).rglob("*.py"))
        wanted = [file for file in files if not set(self.leave_out) & set(file.relative_to(tree).parts)]
        return {file.relative_to(tree).as_posix(): file.read_bytes().decode() for file in wanted}


PROJECTS = (
    Project("toolz", "1.2.0", "toolz", leave_out=("tests", "sandbox", "_version.py")),
    Project("semver", "3.1.2", "src/semver", leave_out=("__about__.py",), needs=("pytest-cov",)),
    Project("cachetools", "8.0.2", "src/cachetools", arguments=("-o", "pythonpath=src")),
)


@dataclass(frozen=True, slots=True)
class SuiteRun:
    """One ordinary run of a suite: pytest's status (None: it took too long), failing tests, seconds."""

    status: int | None
    failing: int
    seconds: float


def fetch(project: Project, folder: Path) -> Path:
    """Download and unpack the source distribution, once, and return its tree."""
    tree = folder / "pristine"
    if tree.is_dir():
        return tree
    sources = folder / "sdist"
    pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-binary", ":all:"]
    _must([*pip, "--dest", str(sources), f"{project.name}=={project.version}"], f"download {project.name}")
    with tarfile.open(next(sources.glob("*.tar.gz"))) as archive:
        archive.extractall(folder / "unpacked", filter="data")
    next((folder / "unpacked").iterdir()).rename(tree)
    return tree


def make_environment(project: Project, folder: Path, engine: str) -> Path:
    """Make a virtual environment with pytest, what the suite needs, and the engine; return its interpreter."""
    done = folder / "venv" / "complete"
    python = folder / "venv" / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    if done.is_file() and done.read_text() == engine:
        return python
    _must([sys.executable, "-m", "venv", "--clear", str(folder / "venv")], "make a virtual environment")
    install = [str(python), "-m", "pip", "install", "--quiet", "pytest", *project.needs]
    _must([*install, *(["-e", engine] if Path(engine).is_dir() else [engine])], f"install what {project.name} needs")
    done.write_text(engine)
    return python


def engine_version(engine: str) -> str:
    """Return what tells one state of the engine from another: a digest of its source, or what pip was asked for."""
    folder = Path(engine) / "pytest_noepicycle"
    if not folder.is_dir():
        return engine
    digest = hashlib.sha256()
    for file in sorted(folder.rglob("*.py")):
        if "bench" not in file.relative_to(folder).parts:
            digest.update(file.read_bytes())
    return digest.hexdigest()[:12]


def _must(command: Sequence[str], what: str) -> None:
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=INSTALL_SECONDS, check=False)
    except subprocess.TimeoutExpired:
        raise BenchError(f"could not {what} within {INSTALL_SECONDS:.0f} s") from None
    if done.returncode != 0:
        raise BenchError(f"could not {what}: {(done.stderr or done.stdout).strip()[-600:]}")


def copy(tree: Path, target: Path, changed: dict[str, str]) -> Path:
    """Lay a fresh copy of a tree out, with some files changed; what lay there before goes."""
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(tree, target, symlinks=True, ignore=shutil.ignore_patterns("__pycache__", ".pytest_cache"))
    for path, text in changed.items():
        (target / path).write_bytes(text.encode())
    return target


def run_suite(project: Project, python: Path, tree: Path, seconds: float) -> SuiteRun:
    """Run the package's own suite as anyone would and count what failed."""
    report = tree.parent / "junit.xml"
    report.unlink(missing_ok=True)
    started = time.monotonic()
    status = run([*pytest_command(project, python), f"--junitxml={report}"], tree, seconds, tree.parent / "suite.log")
    return SuiteRun(status, failing_tests(report), time.monotonic() - started)


def pytest_command(project: Project, python: Path) -> list[str]:
    """Return the command that runs the package's suite in its environment."""
    # langsmith's plugin comes along with langgraph and costs every pytest run half a second.
    options = ["-q", "-p", "no:langsmith_plugin"]
    return [str(python), "-B", "-m", "pytest", *options, *project.arguments]


def failing_tests(report: Path) -> int:
    """Return how many tests a JUnit report counts as failed or in error; none where there is no report."""
    if not report.is_file():
        return 0
    cases = ElementTree.parse(report).getroot().iter("testcase")
    return len({_case(case) for case in cases if case.find("failure") is not None or case.find("error") is not None})


def _case(case: ElementTree.Element) -> tuple[str | None, str | None]:
    return case.get("classname"), case.get("name")


def run(command: Sequence[str], folder: Path, seconds: float, log: Path) -> int | None:
    """Run a command in a folder with its output in a file; None, and nothing left of it, after too long."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("ANTHROPIC", "PYTEST"))}
    with log.open("wb") as output:
        process = subprocess.Popen(
            command,
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            return process.wait(seconds)
        except subprocess.TimeoutExpired:
            return None
        finally:
            _end(process)


def _end(process: subprocess.Popen[bytes]) -> None:
    """Leave nothing of a command and what it started."""
    if process.poll() is None and os.name == "posix":
        os.killpg(process.pid, signal.SIGKILL)
    process.kill()
    process.wait()
