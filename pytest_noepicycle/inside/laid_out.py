"""The thin half alone, in a project whose environment holds nothing of ours. PYTEST_DONT_REWRITE

Loaded with ``-p``; writes what the session was to the file that ``NOEPI_SESSION_FILE`` names.
"""

from __future__ import annotations

import os
from typing import Any, Generator, List

import pytest

from . import hookspecs, options
from .session import SessionRecorder, write
from .starting import put_off_conftest

FILE = "NOEPI_SESSION_FILE"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Register the options, so that a project's own configuration of them is understood."""
    options.add_options(parser)


def pytest_addhooks(pluginmanager: pytest.PytestPluginManager) -> None:
    """Register the hook specifications, so that a project's conftest may implement them."""
    pluginmanager.add_hookspecs(hookspecs)


@pytest.hookimpl(wrapper=True)
def pytest_load_initial_conftests(
    early_config: pytest.Config, parser: pytest.Parser, args: List[str]
) -> Generator[None, Any, Any]:
    """Let a conftest that cannot be imported fail as the collection of its folder."""
    return (yield from put_off_conftest(early_config, parser, args))


def pytest_configure(config: pytest.Config) -> None:
    """Listen in the controller; workers of xdist report to it."""
    target = os.environ.get(FILE)
    if target and not hasattr(config, "workerinput"):
        values = options.read(config)
        config.pluginmanager.register(_Writer(config, target, values), "noepi-session-writer")


class _Writer(SessionRecorder):
    def __init__(self, config: pytest.Config, target: str, values: dict[str, Any]) -> None:
        super().__init__(config)
        self._target = target
        self._values = values

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: Any, exitstatus: int) -> None:
        """Write the facts; an interrupted session leaves none."""
        if not self.interrupted:
            facts = self.facts(int(exitstatus))
            write(self._target, {**facts, "settings": self._values, "hooks": _own_hooks(self._config)})


def _own_hooks(config: pytest.Config) -> list[str]:
    """Name the project's implementations of our hooks: an engine elsewhere cannot call them."""
    names = [name for name in vars(hookspecs) if name.startswith("pytest_noepi_")]
    return [name for name in names if getattr(config.hook, name).get_hookimpls()]
