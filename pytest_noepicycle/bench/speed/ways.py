"""Ways to run a candidate's test: each is opened once, and then tries one candidate after another."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pytest_noepicycle.bench.speed.subject import PRODUCT, TARGET, TESTS, Subject, checks
from pytest_noepicycle.domain.settings import Settings
from pytest_noepicycle.domain.trial import End, Status
from pytest_noepicycle.errors import NoepiError, SandboxError
from pytest_noepicycle.inside.levels import COLLECTED, FORK, SESSION
from pytest_noepicycle.sandbox import skeleton
from pytest_noepicycle.sandbox.choice import choose
from pytest_noepicycle.sandbox.mirror import reflect
from pytest_noepicycle.sandbox.wire import WorkerBox

DOCKER_RUN = "docker run, as confined"
_MOST_SECONDS = 120.0
_ENOUGH = 16  # trials until every level of a worker is there
_CONFINED = (
    *("--network=none", "--read-only", "--cap-drop=ALL", "--security-opt=no-new-privileges", "--pids-limit=136"),
    *("--memory=2g", "--memory-swap=2g", "--tmpfs=/tmp:exec", f"--user={skeleton.CHILD_UID}", "--ipc=private"),
)

Try = Callable[[int], float | None]
"""Runs the candidate of that number; returns milliseconds that it measured itself, or None to be measured."""


@dataclass(frozen=True, slots=True)
class Way:
    """A row of the table: ``open`` prepares it; a way that is dear is tried ``once``."""

    name: str
    open: Callable[[Subject], Any]
    once: bool = False


def ways(kinds: tuple[str, ...]) -> tuple[Way, ...]:
    """Return every way, the measure of all others first; ``kinds`` of sandboxes are tried at each of their levels."""
    docker = (Way(DOCKER_RUN, _docker_run), Way("docker exec", _docker_exec)) if "docker" in kinds else ()
    levels = ((FORK, False), (SESSION, False), (COLLECTED, True))
    ours = (
        Way(f"worker, {kind}: {level} ({'a body' if body else 'any patch'})", worker(kind, level, body_only=body))
        for kind in kinds
        for level, body in levels
    )
    return Way("python -m pytest", _bare), *docker, Way("mutmut, its own rate", _mutmut, once=True), *ours


@contextmanager
def _bare(subject: Subject) -> Iterator[Try]:
    with _copy(subject) as folder:

        def run(number: int) -> None:
            (folder / PRODUCT).write_text(subject.source(number, body_only=True), encoding="utf-8")
            _must_fail(_run(subject.command, folder))

        yield run


@contextmanager
def _docker_run(subject: Subject) -> Iterator[Try]:
    command = _docker(subject)
    with _copy(subject) as folder:

        def run(number: int) -> None:
            (folder / PRODUCT).write_text(subject.source(number, body_only=True), encoding="utf-8")
            mount = f"--volume={folder}:{subject.folder}:ro"
            _must_fail(_run(["docker", "run", "--rm", mount, *command, *subject.command], folder))

        yield run


@contextmanager
def _docker_exec(subject: Subject) -> Iterator[Try]:
    command, name = _docker(subject), f"noepi-bench-{uuid.uuid4().hex}"
    with _copy(subject) as folder:
        wait = [sys.executable, "-c", f"import time; time.sleep({10 * _MOST_SECONDS})"]
        mount = f"--volume={folder}:{subject.folder}:ro"
        started = _run(["docker", "run", "--detach", "--rm", f"--name={name}", mount, *command, *wait], folder)
        if started.returncode:
            raise SandboxError(started.stderr.strip()[-300:])

        def run(number: int) -> None:
            (folder / PRODUCT).write_text(subject.source(number, body_only=True), encoding="utf-8")
            _must_fail(_run(["docker", "exec", name, *subject.command], folder))

        try:
            yield run
        finally:
            _run(["docker", "rm", "--force", name], folder)


@contextmanager
def _mutmut(subject: Subject) -> Iterator[Try]:
    """Let mutmut change the same file; its test has to pass, so it is one that does. It prints its rate itself."""
    if _run([sys.executable, "-m", "mutmut", "--version"], subject.folder).returncode:
        raise SandboxError("mutmut is not installed in this environment")
    with _copy(subject) as folder:
        (folder / TESTS).write_text(checks(passing=True), encoding="utf-8")
        lines = "[mutmut]", f"source_paths={PRODUCT}", f"also_copy={TESTS}"
        (folder / "setup.cfg").write_text("\n".join(lines), encoding="utf-8")

        def run(number: int) -> float:
            shutil.rmtree(folder / "mutants", ignore_errors=True)
            done = _run([sys.executable, "-m", "mutmut", "run", "--max-children=1"], folder)
            rate = re.search(r"([\d.]+) mutations/second", done.stdout)
            if rate is None or not float(rate[1]):
                raise SandboxError(f"mutmut gave no rate: {(done.stderr or done.stdout).strip()[-300:]}")
            return 1000 / float(rate[1])

        yield run


def worker(kind: str, level: str, *, body_only: bool) -> Callable[[Subject], Any]:
    """Return a way that is a box of that kind whose trials start from that level."""

    @contextmanager
    def opened(subject: Subject) -> Iterator[Try]:
        box = choose(kind, subject.session, Settings()).open(subject.tree)
        try:
            if not isinstance(box, WorkerBox):
                raise SandboxError("the box is no worker's")
            box.deepest = level
            for number in range(_ENOUGH):
                box.run(subject.trial(number, body_only=body_only))
            if box.level != level:
                raise SandboxError(f"trials start from {box.level} here: {_NO_LEVELS}")

            def run(number: int) -> None:
                report = box.run(subject.trial(number, body_only=body_only))
                if report.end is not End.COMPLETE or report.outcomes[TARGET].status is not Status.FAILED:
                    raise SandboxError(f"a trial did not end as it must: {report.end} {report.why}")

            yield run
        finally:
            box.close()

    return opened


_NO_LEVELS = "a stem needs users of their own for the trials (Docker, or root in the process sandbox)"


def _docker(subject: Subject) -> list[str]:
    """Return the options and the image of a container that sees what a box sees."""
    if shutil.which("docker") is None:
        raise SandboxError("there is no docker command here")
    choose("docker", subject.session, Settings()).open(subject.tree).close()  # makes the image
    mirror = reflect(subject.session, subject.tree.root)
    home = "/tmp" if not str(subject.folder).startswith("/tmp/") else "/var/tmp"
    tag = _tag(mirror.links, home)
    mounts = [f"--volume={path}:{path}:ro" for path in mirror.mounts]
    return [*_CONFINED, f"--workdir={subject.folder}", "--env=HOME=/tmp", *mounts, f"pytest-noepicycle-mirror:{tag}"]


def _tag(links: Mapping[str, str], home: str) -> str:
    return skeleton.digest(skeleton.image_tar(links, skeleton.accounts(home=home)))


@contextmanager
def _copy(subject: Subject) -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="noepi-bench-") as place:
        folder = Path(place, "project")
        shutil.copytree(subject.folder, folder)
        Path(place).chmod(0o755)
        yield folder


def _run(command: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command,
        cwd=folder,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=_MOST_SECONDS,
        check=False,
    )


def _must_fail(done: subprocess.CompletedProcess[str]) -> None:
    if done.returncode != 1 or "1 failed" not in done.stdout:
        raise NoepiError(f"the test did not fail as it must: {(done.stderr or done.stdout).strip()[-400:]}")
