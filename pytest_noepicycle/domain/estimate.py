"""What a run would ask and could cost, told before anything is asked."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Quote:
    """One rung's next call: ``tokens`` is the most that it can take, ``usd`` its dearest, None for an unknown price.

    ``lacking`` says why the rung cannot be asked here, and what to do; empty where it can.
    """

    rung: str
    model: str
    tokens: int
    usd: float | None
    lacking: str = ""


@dataclass(frozen=True, slots=True)
class Estimate:
    """What the first question to a model would say, word for word, and a quote for each rung that asks one."""

    first: str
    question: str
    quotes: tuple[Quote, ...]
