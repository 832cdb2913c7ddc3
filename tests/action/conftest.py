"""Fixtures of the Action's room: a GitHub on this machine, and finished runs to publish."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from action.github_server import GitHubServer, serving
from action.records_to_publish import FILES

# The steps of the Action are programs in one folder, which import each other by their plain names.
sys.path.append(str(Path(__file__).parents[2] / "action"))


@pytest.fixture
def github(tmp_path: Path) -> Iterator[GitHubServer]:
    """A repository with one failing test, on a server of its own."""
    with serving(tmp_path / "hub") as server:
        server.commit("main", FILES, "First")
        yield server
