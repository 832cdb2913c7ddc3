"""How long to wait before asking a busy server again."""

from __future__ import annotations

import random


def wait_before_retry(attempt: int, first: float = 0.5, longest: float = 30.0) -> float:
    """Return seconds: twice as long at each attempt, spread by up to a half so that clients do not return together."""
    seconds = min(longest, first * 2**attempt)
    return seconds * random.uniform(0.5, 1.5)
