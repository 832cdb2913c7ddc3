"""A model that writes a whole candidate: the task, the best so far, and no text of what failed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from pytest_noepicycle.domain.ladder import Rung
from pytest_noepicycle.domain.loop import Draft, LoopContext
from pytest_noepicycle.ports import Answer, Question
from pytest_noepicycle.rungs.handover import Handover

TOOL_NAME = "hand_in"
_TOOL = {
    "type": "object",
    "additionalProperties": False,
    "required": ["approach", "solution"],
    "properties": {
        "approach": {"type": "string", "description": "The idea, in one sentence."},
        "solution": {"type": "string", "description": "The whole solution, ready to be used as it stands."},
    },
}
_SYSTEM = (
    "You solve a task; a scorer judges each solution with a number from 0 to 1. Hand in the whole solution, not a "
    f"part or a change of one, with one call of the tool {TOOL_NAME}, and nothing else: no explanation in it, no fence "
    "around it. If the task asks for code, the solution is the code of one file."
)


@dataclass(frozen=True, slots=True)
class WriterRung:
    """Asks a model for a candidate, once an iteration."""

    ask: Callable[[Question], Answer]
    rung: Rung
    handover: Handover

    def write(self, context: LoopContext) -> Draft:
        """Ask and return the candidate, or why there is none.

        :raises NoepiError: where the question could not be asked or was not answered.
        """
        told = self.handover.told(self.rung.name, context.task, context.attempts)
        answer = self.ask(question(context, self.rung, told))
        text, approach = _text(answer, "solution"), _text(answer, "approach")
        if not text.strip():
            return Draft(None, _without(answer, self.rung))
        self.handover.keep(len(context.attempts) + 1, f"{approach}\n{text}")
        return Draft(text, " ".join(approach.split())[:600])


def question(context: LoopContext, rung: Rung, told: str) -> Question:
    """Return the question for a rung; ``told`` is what was handed over to it."""
    parts = []
    if context.best:
        parts.append(f"Best solution so far (score {context.best_score:.2f}):\n\n{context.best}")
    if told:
        parts.append(told)
    if _own(context, rung):  # a model that takes over begins with a clean mind
        parts.append(context.feedback)
        if context.direction:
            parts.append(f"Look at it another way this time. {context.direction}")
    parts.append(f"Tokens left: {context.tokens_left}.")
    stable = f"Task: {context.task}"
    return Question(_SYSTEM, stable, "\n\n".join(parts), TOOL_NAME, "Hand in.", _TOOL, rung.max_output)


def _own(context: LoopContext, rung: Rung) -> bool:
    """Whether the last attempt was this rung's own: how others fared is the handover's to tell."""
    return bool(context.attempts) and context.attempts[-1].rung == rung.name


def _text(answer: Answer, key: str) -> str:
    value = (answer.data or {}).get(key, "")
    return value if isinstance(value, str) else ""


def _without(answer: Answer, rung: Rung) -> str:
    if answer.end == "max_tokens":
        return f"{rung.model} ran out of room before its answer was complete (max_output is {rung.max_output})"
    if answer.end == "refusal":
        return f"{rung.model} declined: {answer.text}"
    return f"{rung.model} handed in no solution (it ended with {answer.end!r})"
