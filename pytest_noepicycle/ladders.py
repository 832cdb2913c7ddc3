"""The shipped ladders by name, for Python: ``from pytest_noepicycle.ladders import DEFAULT_LADDER``."""

from __future__ import annotations

import warnings

from pytest_noepicycle.adapters.ladder_files import load
from pytest_noepicycle.domain.ladder import Ladder, Rung

DEFAULT_LADDER: Ladder
PERFORMANCE_LADDER: Ladder

_NAMES = {"DEFAULT_LADDER": "default", "PERFORMANCE_LADDER": "performance"}
_DEEPSEEK = (
    "noepicycle: the ladder {name!r} sends code to DeepSeek, which is subject to Chinese data jurisdiction. "
    "Do not use it with proprietary, sensitive or regulated code; the default ladder uses Claude models only."
)


def __getattr__(name: str) -> Ladder:
    """Read a ladder when it is asked for, each time anew, so that its warning is given at every use."""
    if name not in _NAMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    ladder = load(_NAMES[name])
    warn(ladder, stacklevel=3)
    return ladder


def warning(ladder: Ladder) -> str | None:
    """Return what must be said before a ladder is used, or None: where its code goes, if that is no small matter."""
    if any(_is_deepseek(rung) for rung in ladder.rungs.values()):
        return _DEEPSEEK.format(name=ladder.name)
    return None


def warn(ladder: Ladder, *, stacklevel: int = 2) -> None:
    """Warn about a ladder where there is something to warn about."""
    text = warning(ladder)
    if text is not None:
        warnings.warn(text, UserWarning, stacklevel=stacklevel)


def _is_deepseek(rung: Rung) -> bool:
    """Whether the rung talks to DeepSeek's own servers; a DeepSeek model on one's own machine is another matter."""
    return "deepseek.com" in (rung.base_url or "").lower()
