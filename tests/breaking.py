"""A repair that is started beside the test, so that it can be broken off in the middle of its work."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from story import QUIET, Story

PATIENCE = 60.0


@contextmanager
def started(
    place: Story, *arguments: str, temporary: Path, env: dict[str, str] | None = None
) -> Iterator[subprocess.Popen[bytes]]:
    """Start a repair as the leader of a group of its own, in which Ctrl-C is not ignored."""
    words = [sys.executable, "-m", "pytest", *QUIET, "--noepi-fix", *arguments]
    own = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    temporary.mkdir()
    with (temporary.parent / "output").open("wb") as output:
        process = subprocess.Popen(
            words,
            cwd=place.project,
            env={**own, "TMPDIR": str(temporary), **(env or {})},
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
        )
        try:
            yield process
        finally:
            process.kill()
            process.wait(PATIENCE)


def events(place: Story) -> list[dict[str, object]]:
    """Return the whole lines of the newest journal."""
    journals = sorted(place.project.glob(".noepi/runs/*/decisions.jsonl"))
    lines = journals[-1].read_bytes().splitlines(keepends=True) if journals else []
    return [json.loads(line) for line in lines if line.endswith(b"\n")]


def wait_until(true: Callable[[], object], what: str) -> None:
    """Poll until something is so; fail after a minute."""
    deadline = time.monotonic() + PATIENCE
    while not true():
        assert time.monotonic() < deadline, what
        time.sleep(0.05)
