"""A repository with a workflow, run by ``act`` on this machine against the GitHub of the tests.

Artifacts go through stand-ins of the two artifact actions, which copy a folder: the real ones talk to services that are
not here. Everything else is what a runner would do.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml
from action.github_server import REPOSITORY, TOKEN, GitHubServer

ROOT = Path(__file__).parents[2]
KEY = "sk-ant-not-a-real-key-0123456789"
_UPLOAD = 'mkdir -p "$STORE/$NAME" && cp -R "$FROM/." "$STORE/$NAME/"'
_DOWNLOAD = 'mkdir -p "$FROM" && cp -R "$STORE/$NAME/." "$FROM/"'


def act_program() -> str | None:
    """Return the program, or None where it is not installed."""
    return shutil.which("act", path=str(Path(sys.executable).parent)) or shutil.which("act")


@dataclass(frozen=True)
class Ran:
    """What a run of a workflow left: its status, all that was printed, and the runner's own records."""

    status: int
    text: str
    records: list[dict[str, Any]] = field(default_factory=list)

    def output(self, name: str) -> list[str]:
        """Return the values that steps have set for an output, in their order."""
        return [r["arg"] for r in self.records if r.get("command") == "set-output" and r.get("name") == name]

    @property
    def summaries(self) -> str:
        """Return the job summaries."""
        return "\n".join(str(r.get("content", "")) for r in self.records if r.get("command") == "summary")

    def said(self, step: str) -> str:
        """Return what a step of the Action has printed."""
        return "\n".join(str(r.get("msg", "")) for r in self.records if (r.get("stepID") or [""])[-1] == step)


@dataclass(frozen=True)
class Acting:
    """A checkout with its workflow, an interpreter for the project, and where artifacts lie."""

    folder: Path
    github: GitHubServer
    python: Path

    @property
    def store(self) -> Path:
        """Where the stand-ins keep artifacts."""
        return self.folder.parent / "artifacts"

    def checkout(self, workflow: str) -> str:
        """Lay the head of main out, with a workflow beside it, and return the commit."""
        shutil.rmtree(self.folder, ignore_errors=True)
        self._git("clone", "-q", str(self.github.bare), str(self.folder))
        target = self.folder / ".github/workflows/tests.yml"
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(workflow, "utf-8")
        return self._git("-C", str(self.folder), "rev-parse", "HEAD")

    def fetch(self, branch: str) -> None:
        """Take another branch's files into the checkout, as a pull request's."""
        self._git("-C", str(self.folder), "checkout", "-q", branch)

    def run(self, event: str = "push", *options: str, secrets: Mapping[str, str] | None = None) -> Ran:
        """Run the workflow for an event, bounded in time."""
        given = {"GITHUB_TOKEN": TOKEN, **(secrets or {})}
        words = [
            str(act_program()),
            event,
            *options,
            "-W",
            ".github/workflows/tests.yml",
            "-P",
            "ubuntu-latest=-self-hosted",
        ]
        words += ["--rm", "--no-cache-server", "--json", "--action-cache-path", str(self.folder.parent / "cache")]
        words += [word for name, value in given.items() for word in ("-s", f"{name}={value}")]
        words += [word for name, value in self._runner().items() for word in ("--env", f"{name}={value}")]
        words += [
            word for name, place in self._stand_ins().items() for word in ("--local-repository", f"{name}={place}")
        ]
        path = f"{self.python.parent}{os.pathsep}{os.environ['PATH']}"
        env = {"PATH": path, "HOME": str(self.folder.parent), "STORE": str(self.store), **_passed()}
        done = subprocess.run(words, cwd=self.folder, env=env, capture_output=True, timeout=900, check=False)
        text = (done.stdout + done.stderr).decode("utf-8", "replace")
        records = [json.loads(line) for line in text.splitlines() if line.startswith("{")]
        return Ran(done.returncode, text, records)

    def _runner(self) -> dict[str, str]:
        return {
            "GITHUB_REPOSITORY": REPOSITORY,
            "GITHUB_SERVER_URL": self.github.url,
            "GITHUB_API_URL": self.github.api,
            "GITHUB_WORKFLOW_REF": f"{REPOSITORY}/.github/workflows/tests.yml@refs/heads/main",
            "GITHUB_REF": "refs/heads/main",
            "GITHUB_REF_NAME": "main",
            "GITHUB_RUN_ID": "4711",
            "GIT_TERMINAL_PROMPT": "0",
            "STORE": str(self.store),
        }

    def _stand_ins(self) -> dict[str, Path]:
        """Return a folder for every action that a workflow may use: ours as it is, the others as little as can be."""
        uses = {step["uses"] for step in _steps(yaml.safe_load((ROOT / "action.yml").read_text())) if "uses" in step}
        found = {name: self._stand_in(name) for name in sorted(uses)}
        workflow = yaml.safe_load((self.folder / ".github/workflows/tests.yml").read_text())
        for job in workflow["jobs"].values():
            for step in job["steps"]:
                name = step.get("uses", "")
                if "setup-python" in name:
                    found[name] = self._stand_in(name)
                elif name.startswith("pytest-noepicycle/"):
                    found[name] = self._this_action()
        return found

    def _this_action(self) -> Path:
        """Return a copy of what a release holds, without what lies about in a checkout."""
        target = self.folder.parent / "this-action"
        if not target.exists():
            target.mkdir()
            for name in ("action.yml", "pyproject.toml", "README.md", "LICENSE"):
                shutil.copyfile(ROOT / name, target / name)
            for name in ("action", "ladders", "pytest_noepicycle"):
                shutil.copytree(ROOT / name, target / name, ignore=shutil.ignore_patterns("__pycache__"))
        return target

    def _stand_in(self, name: str) -> Path:
        kind = name.partition("@")[0].rpartition("/")[2]
        script = {"upload-artifact": _UPLOAD, "download-artifact": _DOWNLOAD}.get(kind, "true")
        env = {"NAME": "${{ inputs.name }}", "FROM": "${{ inputs.path }}"}
        inputs = {
            key: {"required": False} for key in ("name", "path", "if-no-files-found", "overwrite", "python-version")
        }
        step = {"shell": "bash", "env": env, "run": script}
        document = {
            "name": kind,
            "description": kind,
            "inputs": inputs,
            "runs": {"using": "composite", "steps": [step]},
        }
        folder = self.folder.parent / "stand-ins" / kind
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "action.yml").write_text(yaml.safe_dump(document), "utf-8")
        return folder

    def _git(self, *words: str) -> str:
        done = subprocess.run(["git", *words], capture_output=True, text=True, check=True, timeout=60)
        return done.stdout.strip()


def _steps(action: Mapping[str, Any]) -> list[dict[str, Any]]:
    return list(action["runs"]["steps"])


def _passed() -> dict[str, str]:
    """Return what pip and Docker need to know of this machine."""
    kept = ("PIP_", "DOCKER_", "SSL_", "REQUESTS_")
    passed = {name: value for name, value in os.environ.items() if name.startswith(kept)}
    return {"PIP_CACHE_DIR": str(Path.home() / ".cache/pip"), **passed}
