"""What to watch while the corpus runs: secrets that must stay, files that must not change, a port that nobody calls."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from corpus import PORT, SECRET, Project, open_court

from pytest_noepicycle.sandbox.process import ProcessSandbox, Way
from pytest_noepicycle.verifying import Court


@pytest.fixture(scope="session", autouse=True)
def _way() -> Iterator[None]:
    """With ``NOEPI_WAY=landlock`` or ``nothing`` the process sandbox confines no better than that.

    It shows which cases a weaker way cannot hold; with ``nothing`` only ever on a machine that may be spoilt.
    """
    name = os.environ.get("NOEPI_WAY")
    with pytest.MonkeyPatch.context() as patch:
        if name:
            patch.setattr(ProcessSandbox, "way", Way(name, "NOEPI_WAY asks for it"))
        yield


@pytest.fixture(scope="session")
def surroundings(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Secrets where an attack would look for them: the environment, the home folder, files that steer a CI run."""
    home = tmp_path_factory.mktemp("home")
    (home / ".netrc").write_text(f"machine example.com login a password {SECRET}\n")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HOME", str(home))
        patch.setenv("SOME_TOKEN", SECRET)
        for name in ("GITHUB_ENV", "GITHUB_PATH", "GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY"):
            (home / name).touch()
            patch.setenv(name, str(home / name))
        yield home


@pytest.fixture(scope="session")
def heard() -> Iterator[Callable[[], int]]:
    """A listener on the port that the corpus sends to: how many connections it has seen."""
    seen: list[object] = []
    server = socket.socket()
    server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    server.bind(("127.0.0.1", 0 if os.environ.get("PYTEST_XDIST_WORKER", "gw0") != "gw0" else PORT))
    server.listen()

    def listen() -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _ = server.accept()
                seen.append(connection.getsockname())
                connection.close()

    thread = threading.Thread(target=listen, daemon=True)
    thread.start()
    yield lambda: len(seen)
    server.shutdown(socket.SHUT_RDWR)
    server.close()
    thread.join(5)


@pytest.fixture(scope="session")
def court(tmp_path_factory: pytest.TempPathFactory, surroundings: Path) -> Iterator[Callable[..., Court]]:
    """Courts by project and sandbox, each base run once; skips, with the engine's reason, where Docker is missing."""
    known: dict[tuple[str, str, str], Court] = {}
    with contextlib.ExitStack() as stack:

        def opened(base: str, kind: str, links: list[dict[str, str]]) -> Court:
            key = (base, kind, json.dumps(links))
            if key not in known:
                folder = Project.read(base).write(tmp_path_factory.mktemp(base), links)
                known[key] = stack.enter_context(open_court(folder, kind))
            return known[key]

        yield opened
