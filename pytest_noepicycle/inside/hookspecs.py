"""What other plugins and a project's conftest may say to a repair. PYTEST_DONT_REWRITE"""

from __future__ import annotations

from typing import Any, Dict, Optional

import pytest


@pytest.hookspec(firstresult=True)
def pytest_noepi_protect(path: str) -> Optional[bool]:
    """Forbid an edit of ``path`` (relative to the project, forward slashes) by returning True.

    None leaves the judgement to others. What the guard names as never stays closed, whatever is returned.
    """


@pytest.hookspec
def pytest_noepi_proposers() -> Optional[Dict[str, Any]]:
    """Add kinds of rungs: return a dict from the name of a kind to a function that makes such a rung.

    The function gets the ladder's ``Rung`` and returns an object whose ``propose(context)`` yields ``Proposal``s,
    likeliest first, each a complete patch against the baseline. A ladder's file names the kind: ``kind: mine``. What
    it proposes is judged, tried and proven as anything else is.
    """


@pytest.hookspec(firstresult=True)
def pytest_noepi_score(run: Any, baseline: Any) -> Optional[float]:
    """Replace the score of an attempt that does not mend everything: return a number from 0 to 1, or None.

    ``run`` is the attempt's last candidate, with ``outcomes`` by test id, ``score`` and ``proposal``; ``baseline`` has
    the ``targets`` and the ``guards``. The number moves the signals (plateau, regression), and is kept below 1: that
    something is solved only the tests say.
    """


@pytest.hookspec
def pytest_noepi_decision(state: Any, decision: Any) -> None:
    """Told of every decision: ``state`` is the situation it looked at; both are frozen values."""


@pytest.hookspec
def pytest_noepi_report(result: Any) -> None:
    """Told of the finished run, once, with its ``RunResult``."""
