"""pytest-noepicycle: ``pytest --noepi-fix`` mends failing tests. PYTEST_DONT_REWRITE"""

from __future__ import annotations

from typing import Any

__all__ = ["Ladder", "RunResult", "StopReason", "__version__"]

_HOMES = {
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
