"""Held-out targets: a share of the failing tests that no rung is shown, so that a fix is more than their answers."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

LEAST = 4  # failing tests; of fewer none can be spared


@dataclass(frozen=True, slots=True)
class Split:
    """``shown`` may be told to a rung; ``held`` are only scored on."""

    shown: tuple[str, ...]
    held: tuple[str, ...]


def hold_out(targets: tuple[str, ...], share: float) -> Split:
    """Hold back a share of the targets, one at least and never all, chosen by their names alone.

    With fewer than four targets, or a share of nought, none is held back.
    """
    if len(targets) < LEAST or share <= 0:
        return Split(targets, ())
    many = min(len(targets) - 1, max(1, round(share * len(targets))))
    drawn = sorted(targets, key=lambda test: hashlib.sha256(test.encode()).digest())[:many]
    held = frozenset(drawn)
    return Split(tuple(t for t in targets if t not in held), tuple(t for t in targets if t in held))
