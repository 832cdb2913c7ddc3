"""What other plugins and a project's conftest may say to a repair. PYTEST_DONT_REWRITE"""

from __future__ import annotations

from typing import Any, Optional

import pytest


@pytest.hookspec(firstresult=True)
def pytest_noepi_protect(path: str) -> Optional[bool]:
    """Forbid an edit of ``path`` (relative to the project, forward slashes) by returning True.

    None leaves the judgement to others. What the guard names as never stays closed, whatever is returned.
    """


@pytest.hookspec
def pytest_noepi_decision(state: Any, decision: Any) -> None:
    """Told of every decision: ``state`` is the situation it looked at; both are frozen values."""


@pytest.hookspec
def pytest_noepi_report(result: Any) -> None:
    """Told of the finished run, once, with its ``RunResult``."""
