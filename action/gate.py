"""The first step: may the Action work on this event at all? Standard library, syntax of Python 3.9.

What it turns down is no failure: the step succeeds, with a notice and the stop reason ``refused``.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import console

ATTEMPTS = 3
MODES = ("fix", "publish", "fix-and-publish", "verify")
_EVENTS = ("push", "schedule", "workflow_dispatch", "pull_request", "workflow_run")
_BOT = "41898282+github-actions[bot]@users.noreply.github.com"


def reason_against(mode: str, prefix: str, environ: Mapping[str, str], event: Mapping[str, Any]) -> str:
    """Return why nothing may be done for this event, or an empty text."""
    name = environ.get("GITHUB_EVENT_NAME", "")
    if name == "pull_request_target":
        return "pull_request_target runs with the rights of the base on code of anybody: use pull_request"
    if name not in _EVENTS:
        return f"the event {name!r} is none of those that this Action works on: {', '.join(_EVENTS)}"
    if mode == "verify":
        return "" if name == "pull_request" else "mode verify compares a pull request with its base: use pull_request"
    return (
        _foreign(name, event, environ.get("GITHUB_REPOSITORY", ""))
        or _own(name, prefix, environ, event)
        or _too_often(environ)
    )


def _foreign(name: str, event: Mapping[str, Any], repository: str) -> str:
    """A fork's code must meet neither the key nor a token that may write."""
    if name == "pull_request" and _home(at(event, "pull_request", "head", "repo")) != repository.lower():
        return "the pull request comes from a fork: there is no key for it, and no right to write"
    if name == "workflow_run":
        if _home(at(event, "workflow_run", "head_repository")) != repository.lower():
            return "the workflow ran for a fork: there is no key for it, and no right to write"
        if at(event, "workflow_run", "event") == "pull_request_target":
            return "the workflow ran for pull_request_target"
    return ""


def _own(name: str, prefix: str, environ: Mapping[str, str], event: Mapping[str, Any]) -> str:
    """A repair of a repair would go in circles."""
    branches = [environ.get("GITHUB_HEAD_REF"), environ.get("GITHUB_REF_NAME")]
    branches.append(at(event, "workflow_run", "head_branch"))
    own = re.compile(re.escape(prefix) + r"-[0-9a-f]{12}")
    for branch in branches:
        if isinstance(branch, str) and own.fullmatch(branch):
            return f"{branch} is a branch of ours"
    commit = at(event, "head_commit") or at(event, "workflow_run", "head_commit") or {}
    ours = at(commit, "committer", "email") == _BOT and "\nNoepi-Fingerprint: " in str(at(commit, "message"))
    return "the commit is one of ours" if ours else ""


def _too_often(environ: Mapping[str, str]) -> str:
    attempt = environ.get("GITHUB_RUN_ATTEMPT", "1")
    if attempt.isdigit() and int(attempt) > ATTEMPTS:
        return f"this commit was attempted {ATTEMPTS} times already: push a new one to try again"
    return ""


def _home(repository: Any) -> str:
    return str(at(repository, "full_name")).lower()


def at(value: Any, *names: str) -> Any:
    """Return what lies under the names, one in the other, or None."""
    for name in names:
        value = value.get(name) if isinstance(value, dict) else None
    return value


def event_of(environ: Mapping[str, str]) -> dict[str, Any]:
    """Return the payload of the event; empty where there is none."""
    path = environ.get("GITHUB_EVENT_PATH", "")
    if not path or not Path(path).is_file():
        return {}
    data = json.loads(Path(path).read_text("utf-8"))
    return data if isinstance(data, dict) else {}


def main() -> int:
    """Judge the event, and tell the other steps."""
    mode = console.setting("mode")
    if mode not in MODES:
        console.command("error", f"mode is {mode!r}: it must be one of {', '.join(MODES)}", title="pytest-noepicycle")
        return 1
    why = reason_against(mode, console.setting("branch"), os.environ, event_of(os.environ))
    if why:
        console.command("notice", f"Nothing was done: {why}.", title="pytest-noepicycle")
        console.summarise(f"**pytest-noepicycle did nothing**: {why}.")
        console.output(go=False, stop_reason="refused")
    else:
        console.output(go=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
