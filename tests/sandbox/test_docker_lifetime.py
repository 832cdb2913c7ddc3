"""A box does not outlive its client, whatever the client dies of and whatever the box is doing."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from pytest_noepicycle.sandbox.docker import LABEL

CLIENT = """
import sys, importlib.util
from pathlib import Path
spec = importlib.util.spec_from_file_location("shared", sys.argv[1])
shared = importlib.util.module_from_spec(spec)
sys.modules["shared"] = shared
spec.loader.exec_module(shared)
project = shared.write_project(Path(sys.argv[2]), {"test_m.py": "def test_m():\\n    while True: pass\\n"})
box = project.open(sys.argv[3])
print("open", flush=True)
if sys.argv[4] == "busy":
    shared.run_trial(box, seconds=600.0, test_seconds=600.0)
sys.stdin.read()
"""


def containers(pid: int) -> list[str]:
    """The containers that a process made, in whatever state."""
    import docker

    client = docker.from_env(timeout=10)
    try:
        return [one["Id"] for one in client.api.containers(all=True, filters={"label": f"{LABEL}={pid}"})]
    finally:
        client.close()


@pytest.mark.parametrize("state", ["idle", "busy"])
def test_a_killed_client_leaves_nothing(kind, state, tmp_path, offspring, until):
    """After kill -9 of the client its container and its processes go by themselves."""
    arguments = [str(Path(__file__).with_name("conftest.py")), str(tmp_path / "project"), kind, state]
    client = subprocess.Popen(
        [sys.executable, "-c", CLIENT, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "TMPDIR": str(tmp_path)},
    )
    with client:
        try:
            assert client.stdout.readline() == b"open\n"
            if state == "busy" and kind == "process":
                assert until(lambda: len(offspring(client.pid)) >= 3)
            boxes, processes = containers(client.pid) if kind == "docker" else [], offspring(client.pid)
            assert boxes or processes
        finally:
            client.send_signal(signal.SIGKILL)
    assert until(lambda: not any(Path(f"/proc/{pid}").exists() for pid in processes))
    if kind == "docker":
        assert until(lambda: containers(client.pid) == [])
