"""A pytest plugin that writes down how each test ended, in the words that a sandbox uses. PYTEST_DONT_REWRITE"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pytest_noepicycle.inside.session import own_id

OPTION = "--layout-outcomes"
_ORDER = ("passed", "xpassed", "xfailed", "skipped", "failed", "error")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Register where to write."""
    parser.addoption(OPTION, default=None)


def pytest_configure(config: pytest.Config) -> None:
    """Listen where all reports arrive: under xdist in the controller."""
    target = config.getoption(OPTION)
    if target and not hasattr(config, "workerinput"):
        config.pluginmanager.register(_Listener(config, Path(target)))


class _Listener:
    """Keeps of each test the worst that was reported of it."""

    def __init__(self, config: pytest.Config, target: Path) -> None:
        self._config, self._target = config, target
        self._seen: dict[str, str] = {}

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Keep a file that could not be collected."""
        if report.failed:
            self._seen[report.nodeid] = "error"

    def pytest_runtest_logreport(self, report: Any) -> None:
        """Keep how a phase ended, if it is worse than what came before."""
        test, now = own_id(report.nodeid, self._config), _word(report)
        before = self._seen.get(test, "passed")
        if report.when == "call" or now != "passed":
            self._seen[test] = max(before, now, key=_ORDER.index)

    def pytest_sessionfinish(self) -> None:
        """Write it down."""
        self._target.write_text(json.dumps(self._seen), "utf-8")


def _word(report: Any) -> str:
    if hasattr(report, "wasxfail"):
        return "xfailed" if report.skipped else "xpassed"
    if report.failed and report.when != "call":
        return "error"
    return str(report.outcome)
