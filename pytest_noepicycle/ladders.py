"""The shipped ladders by name, for Python: ``from pytest_noepicycle.ladders import DEFAULT_LADDER``."""

from __future__ import annotations

import warnings

from pytest_noepicycle.adapters.ladder_files import load
from pytest_noepicycle.domain.ladder import Ladder

DEFAULT_LADDER: Ladder
PERFORMANCE_LADDER: Ladder

_NAMES = {"DEFAULT_LADDER": "default", "PERFORMANCE_LADDER": "performance"}


def __getattr__(name: str) -> Ladder:
    """Read a ladder when it is asked for, each time anew, so that its warning is given at every use."""
    if name not in _NAMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    ladder = load(_NAMES[name])
    if ladder.warning:
        warnings.warn(ladder.warning, UserWarning, stacklevel=2)
    return ladder
