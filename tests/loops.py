"""Inner loops and scorers that follow a script."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from pytest_noepicycle import LoopContext


@dataclass
class Loop:
    """An inner loop that hands in one scored text after another: ``0.5`` becomes a text that scores 0.5.

    The last one is handed in again for ever; ``tokens`` is what each takes.
    """

    scores: Sequence[float]
    tokens: int = 10
    seen: list[LoopContext] = field(default_factory=list)

    def __call__(self, context: LoopContext) -> tuple[str, int]:
        """Hand in the next text, each different from those before."""
        self.seen.append(context)
        score = self.scores[min(len(self.seen), len(self.scores)) - 1]
        return f"{score} number {len(self.seen)}", self.tokens

    @property
    def models(self) -> list[str]:
        """The models that it was told, in their order."""
        return [context.model for context in self.seen]


def first_number(text: str) -> float:
    """Score a text of :class:`Loop` by the number that it begins with."""
    return float(text.split()[0])


def hands_in(server: Any, *texts: str, approach: str = "an idea", **more: Any) -> None:
    """Script answers of a model that hands in whole texts."""
    for text in texts:
        server.uses_tool({"approach": approach, "solution": text}, name="hand_in", **more)


def briefs(server: Any, text: str) -> None:
    """Script the answer to a request for a briefing."""
    server.uses_tool({"approaches_tried": text}, name="brief")
