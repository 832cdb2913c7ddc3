"""The pytest plugin: ordinary run first, then, if it was asked for and something failed, the repair.

PYTEST_DONT_REWRITE
"""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

import pytest

from pytest_noepicycle.inside import hookspecs, options, session


def pytest_addoption(parser: pytest.Parser) -> None:
    """Register the options and their ini twins."""
    options.add_options(parser)


def pytest_addhooks(pluginmanager: pytest.PytestPluginManager) -> None:
    """Register the hook specifications."""
    pluginmanager.add_hookspecs(hookspecs)


def pytest_configure(config: pytest.Config) -> None:
    """Listen to the session where a repair is wanted; under xdist only the controller does."""
    wanted = config.getoption("noepi_fix") or config.getoption("noepi_dry_run")
    if not wanted or hasattr(config, "workerinput") or config.getoption("collectonly", False):
        return
    values = options.read(config)
    _check_ladder(values["ladder"])
    config.pluginmanager.register(Repairer(config, values), "noepi-repairer")


class Repairer(session.SessionRecorder):
    """Remembers the session and, when all of it is over and reported, hands it to the engine."""

    def __init__(self, config: pytest.Config, values: dict[str, Any]) -> None:
        super().__init__(config)
        self._values = values

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> Generator[None, Any, Any]:
        """Let every other plugin finish and report, then repair."""
        result = yield
        if self.failures and not self.interrupted and not _asked_to_stop(session):
            self._repair(session)
        return result

    def _repair(self, session: pytest.Session) -> None:
        from pytest_noepicycle import wiring
        from pytest_noepicycle.errors import NoepiError, UsageError

        screen = session.config.get_terminal_writer()
        try:
            wiring.repair_here(self.facts(int(session.exitstatus)), self._values, session.config.hook, screen)
        except UsageError as error:
            screen.line(f"\nERROR: {error.sentence()}", red=True)
            session.exitstatus = pytest.ExitCode.USAGE_ERROR
        except NoepiError as error:
            screen.line(f"\nnoepi: {error.sentence()}", red=True)


def _asked_to_stop(session: pytest.Session) -> bool:
    """An internal error, or ``pytest.exit``: nothing that a repair could build on."""
    return session.exitstatus == pytest.ExitCode.INTERNAL_ERROR


def _check_ladder(name: str) -> None:
    """A misspelt ladder is a usage error at once; what its file holds is read when something failed."""
    from pathlib import Path

    from pytest_noepicycle.adapters.ladder_files import shipped

    if name not in shipped() and not Path(name).is_file():
        known = ", ".join(shipped())
        raise pytest.UsageError(
            f"--noepi-ladder: there is no ladder {name!r}; shipped are {known}, or name a YAML file"
        )
