"""The facts of a session that does not take place: no conftest, plugin or test of the project is loaded.

PYTEST_DONT_REWRITE. Loaded with ``-p`` where a tree may hold code that must not run outside a sandbox.
"""

from __future__ import annotations

import os
from importlib import metadata
from typing import Any, Dict, List

import pytest

from . import options
from .session import SessionRecorder, write

FILE = "NOEPI_SESSION_FILE"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Register the options, so that the project's own settings of them are read."""
    options.add_options(parser)


@pytest.hookimpl(tryfirst=True)
def pytest_cmdline_main(config: pytest.Config) -> int:
    """Write what is known before anything is collected, and end."""
    facts = SessionRecorder(config).facts(0)
    settings: Dict[str, Any] = options.read(config)
    write(os.environ[FILE], {**facts, "plugins": _installed(), "settings": settings})
    return 0


def _installed() -> List[Dict[str, str]]:
    """Return the plugins that an ordinary run would load, from what is installed and without loading them."""
    found = []
    for distribution in metadata.distributions():
        for entry in distribution.entry_points:
            if entry.group == "pytest11":
                name = distribution.metadata["Name"] or ""
                found.append({"name": entry.name, "distribution": name, "version": distribution.version})
    return found
