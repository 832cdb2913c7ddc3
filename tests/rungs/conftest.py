"""The tests' model server, as a fixture."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest

_HOME = Path(__file__).parents[1] / "model_server.py"


def _module():
    """Load the server's module by its path: the tests are no package."""
    if "noepi_model_server" not in sys.modules:
        spec = importlib.util.spec_from_file_location("noepi_model_server", _HOME)
        module = importlib.util.module_from_spec(spec)
        sys.modules["noepi_model_server"] = module
        spec.loader.exec_module(module)
    return sys.modules["noepi_model_server"]


@pytest.fixture
def server():
    """Run a server that speaks the Messages API, for one test."""
    with _module().running() as running:
        yield running
