"""pytest-noepicycle: ``pytest --noepi-fix`` mends failing tests. PYTEST_DONT_REWRITE"""

from __future__ import annotations

from typing import Any

__all__ = [
    "HistoryEntry",
    "Ladder",
    "LoopContext",
    "NoepiError",
    "RunResult",
    "ScoreError",
    "StopReason",
    "Supervisor",
    "UsageError",
    "__version__",
]

_HOMES = {
    "HistoryEntry": "pytest_noepicycle.domain.run",
    "LoopContext": "pytest_noepicycle.domain.loop",
    "NoepiError": "pytest_noepicycle.errors",
    "ScoreError": "pytest_noepicycle.errors",
    "Supervisor": "pytest_noepicycle.api.supervisor",
    "UsageError": "pytest_noepicycle.errors",
    "Ladder": "pytest_noepicycle.domain.ladder",
    "RunResult": "pytest_noepicycle.domain.run",
    "StopReason": "pytest_noepicycle.domain.run",
}


def __getattr__(name: str) -> Any:
    """Import a public name on its first use: an ordinary pytest run pays for none of them."""
    import importlib

    if name == "__version__":
        return importlib.import_module("importlib.metadata").version("pytest-noepicycle")
    if name in _HOMES:
        return getattr(importlib.import_module(_HOMES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
