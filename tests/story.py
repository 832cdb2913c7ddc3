"""A test of behaviour as a story: a project, a command, and what was to be seen afterwards."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
from dataclasses import dataclass
from pathlib import Path
from typing import Any

QUIET = ("-p", "no:langsmith_plugin", "-p", "no:asyncio", "-p", "no:hypothesispytest", "-p", "no:anyio")
_SECRETS = ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN")


@dataclass(frozen=True)
class Told:
    """What a command left behind: its status, what it printed, and the newest record of the project."""

    status: int
    text: str
    project: Path

    @property
    def record(self) -> Path:
        """The newest run's folder."""
        return self.project / ".noepi/runs" / (self.project / ".noepi/last").read_text().strip()

    @property
    def result(self) -> dict[str, Any]:
        """The newest run's result."""
        return json.loads((self.record / "result.json").read_text("utf-8"))

    @property
    def events(self) -> list[dict[str, Any]]:
        """The newest run's journal."""
        return [json.loads(line) for line in (self.record / "decisions.jsonl").read_text("utf-8").splitlines()]


@dataclass(frozen=True)
class Story:
    """A project in a folder of its own; every command runs in it and is bounded in time."""

    project: Path

    @classmethod
    def of(cls, folder: Path, files: dict[str, str | bytes]) -> Story:
        """Write the files; text is dedented, bytes stay as they are."""
        folder.mkdir(parents=True, exist_ok=True)
        for name, content in files.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content if isinstance(content, bytes) else textwrap.dedent(content).lstrip("\n").encode())
        return cls(folder)

    def read(self, name: str) -> str:
        """Return a file as text."""
        return (self.project / name).read_text("utf-8")

    def pytest(self, *arguments: str, python: str = sys.executable, **more: Any) -> Told:
        """Run pytest in the project, without the plugins of this repository's own development."""
        return self.command(python, "-m", "pytest", *QUIET, *arguments, **more)

    def fix(self, *arguments: str, sandbox: str = "process", **more: Any) -> Told:
        """Run ``pytest --noepi-fix`` in the project."""
        return self.pytest("--noepi-fix", "--noepi-sandbox", sandbox, *arguments, **more)

    def noepi(self, *arguments: str, **more: Any) -> Told:
        """Run ``noepi`` in the project."""
        return self.command(sys.executable, "-m", "pytest_noepicycle.cli", *arguments, **more)

    def command(self, *words: str, seconds: float = 240, env: dict[str, str] | None = None, cwd: str = ".") -> Told:
        """Run any command in the project."""
        environment = {k: v for k, v in os.environ.items() if k not in _SECRETS and not k.startswith("PYTEST_")}
        done = subprocess.run(
            words,
            cwd=self.project / cwd,
            env={**environment, "COLUMNS": "120", **(env or {})},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=seconds,
            check=False,
        )
        return Told(done.returncode, done.stdout.decode("utf-8", "replace"), self.project)
