"""What an inner loop is told, and what it hands in: candidates here are texts, whatever makes them."""

from __future__ import annotations

import ast
import hashlib
import warnings
from collections.abc import Sequence
from dataclasses import dataclass

from pytest_noepicycle.domain.run import Attempt

DIRECTIONS = (
    "Write down, one by one, what the task demands, and check the best candidate against each before you change it.",
    "Take another algorithm or another data structure than so far, from a blank page.",
    "Go through the edges: nothing, one, many, duplicates, negative and very large values, wrong types.",
    "Write the plainest version that could be right, without any optimisation, even if it is long.",
    "Take the expected results as given and work backwards from them to what must be computed.",
)
"""Ways of looking that cost no token to name; each stalled attempt is given the next one."""

REPAIR_DIRECTIONS = (
    "Do not mend where the wrong value shows: follow it back to the line that first makes it wrong.",
    "Suspect the callers and what they pass, not the function that raised.",
    "Go through the edges: nothing, one, many, the first and the last, negative values, equal values, wrong types.",
    "Look for what is shared or kept: a default that is changed, a cache, the order of calls, a value that is a view.",
    "Compare with a function beside it that does the same kind of thing and is right; what is different?",
)
"""The same for a fault in code that is there."""


@dataclass(frozen=True, slots=True)
class LoopContext:
    """All that an inner loop gets to know of one iteration.

    ``best`` is the best candidate so far (empty before the first), ``best_score`` its score in [0, 1]; ``feedback``
    says what the last one came to; ``model`` is the name that the ladder stands at; ``tokens_left`` and
    ``seconds_left`` are what is left of the budget; ``attempts`` are told by their effects, without their text;
    ``constraints`` must go on holding; ``direction`` is a way of looking that was not tried yet, or empty.
    """

    task: str
    best: str = ""
    best_score: float = 0.0
    feedback: str = ""
    model: str = ""
    tokens_left: int = 0
    attempts: tuple[Attempt, ...] = ()
    constraints: tuple[str, ...] = ()
    direction: str = ""
    seconds_left: float = 600.0


@dataclass(frozen=True, slots=True)
class Draft:
    """One candidate as it was handed in: no ``text`` where there was none, and a ``note`` on how or why not."""

    text: str | None
    note: str = ""


@dataclass(frozen=True, slots=True)
class Scored:
    """A candidate's score in [0, 1], and what the next attempt may be told of it."""

    score: float
    feedback: str = ""


def direction(attempts: Sequence[Attempt], ways: Sequence[str] = DIRECTIONS) -> str:
    """Return the way of looking for the next attempt: none while there is gain, then a new one each time."""
    stalled = 0
    for attempt in reversed(attempts):
        if attempt.delta > 0:
            break
        stalled += 1
    return ways[(stalled - 1) % len(ways)] if stalled else ""


def effect_of(text: str) -> str:
    """Name a candidate so that a repeat is seen: Python by its syntax tree, other texts by their words."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what the compiler thinks of a candidate's style
            form = ast.dump(ast.parse(text))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        form = " ".join(text.split())
    return hashlib.sha256(form.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def constraints(attempts: Sequence[Attempt]) -> tuple[str, ...]:
    """Return what must go on holding: each passing test that some attempt has broken."""
    broken = dict.fromkeys(test for attempt in attempts for test in attempt.broken)
    return tuple(f"{test} passes now and must go on passing" for test in broken)
