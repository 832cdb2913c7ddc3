"""The first paid question of a run: a lean one, so that an easy task never pays for more."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pytest_noepicycle.domain.run import Attempt
from pytest_noepicycle.rungs.prompt import LEAN, WHOLE, Size


@dataclass(slots=True)
class Preflight:
    """Knows whether a question of this run was answered; all of its rungs share one."""

    answered: bool = False

    def size(self, attempts: Sequence[Attempt]) -> Size:
        """Return how much the next question may hold."""
        return WHOLE if self.answered or any(attempt.tokens for attempt in attempts) else LEAN
