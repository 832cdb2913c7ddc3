"""A caller of the Python API: a folder, a key, and a server that answers as its script says."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import model_server
import pytest

# The plugins of this repository's own development would be loaded by every test run of a small project.
_LEAN = "-p no:asyncio -p no:hypothesispytest -p no:anyio -p no:cov -p no:xdist"


def pytest_collection_modifyitems(items) -> None:
    """Where code goes is warned of in every run over the server of the tests, and rightly."""
    for item in items:
        if item.path.parent == Path(__file__).parent and "server" in item.fixturenames:
            item.add_marker(pytest.mark.filterwarnings("ignore:noepicycle. ANTHROPIC_BASE_URL is set:UserWarning"))


@pytest.fixture
def caller(tmp_path, monkeypatch):
    """A folder of the caller's own, with no key in the environment."""
    monkeypatch.chdir(tmp_path)
    for name in ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PYTEST_ADDOPTS", _LEAN)
    return tmp_path


@pytest.fixture
def server(caller, monkeypatch) -> Iterator[model_server.ModelServer]:
    """A server that speaks the Messages API, which the SDK finds by the environment."""
    with model_server.running() as running:
        monkeypatch.setenv("ANTHROPIC_API_KEY", model_server.KEY)
        monkeypatch.setenv("ANTHROPIC_BASE_URL", running.url)
        yield running
