"""The first paid question of a run: a lean one, so that an easy task never pays for more."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pytest_noepicycle.domain.run import Attempt
from pytest_noepicycle.rungs.prompt import LEAN, WHOLE, Size


@dataclass(slots=True)
class Preflight:
    """Knows whether the run has asked its first question; all of its rungs share one."""

    asked: bool = False

    def size(self, attempts: Sequence[Attempt]) -> Size:
        """Return how much the next question may hold; it counts as asked."""
        first = not self.asked and not any(attempt.tokens for attempt in attempts)
        self.asked = True
        return LEAN if first else WHOLE
