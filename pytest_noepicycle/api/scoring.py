"""The caller's scorer, called here, in the caller's process, and believed only as far as its form is right."""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable
from numbers import Real
from typing import Any

from pytest_noepicycle.domain.loop import Scored
from pytest_noepicycle.errors import NoepiError, ScoreError


class CallersScore:
    """Asks a callable, sync or async, for a number from 0.0 to 1.0."""

    def __init__(self, score_fn: Callable[[str], Any], wait: Callable[[Awaitable[Any]], Any]) -> None:
        self._score_fn = score_fn
        self._wait = wait

    def __call__(self, candidate: str) -> Scored:
        """Return the score of a candidate.

        :raises ScoreError: where the scorer raised, or returned what is no number in that range.
        """
        return Scored(checked(self._asked(candidate)))

    def _asked(self, candidate: str) -> object:
        try:
            answer = self._score_fn(candidate)
            return self._wait(answer) if isinstance(answer, Awaitable) else answer
        except NoepiError:
            raise
        except Exception as error:
            raise ScoreError(f"score_fn raised {type(error).__name__}: {str(error)[:300]}") from error


def checked(value: object) -> float:
    """Return a score as a float.

    :raises ScoreError: where it is none.
    """
    if not isinstance(value, Real):
        raise ScoreError(f"score_fn returned {value!r:.80}, which is not a number")
    score = float(value)
    if math.isnan(score) or not 0.0 <= score <= 1.0:
        raise ScoreError(f"score_fn returned {score}; a score lies between 0.0 and 1.0")
    return score
