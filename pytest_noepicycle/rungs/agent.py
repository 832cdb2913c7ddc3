"""The agent rung: a model that looks around and runs tests before it proposes, within its steps and the budget."""

from __future__ import annotations

from dataclasses import replace

from pytest_noepicycle.domain.context import Context
from pytest_noepicycle.domain.run import Attempt
from pytest_noepicycle.ports import Answer, Question, Turn
from pytest_noepicycle.rungs import edits, prompt
from pytest_noepicycle.rungs.agent_tools import TOOLS, Toolbox
from pytest_noepicycle.rungs.model import REPEATED, ModelOutcome, ModelRung, Reading, read, without_data

_SYSTEM = f"""{prompt.OPENING}

In each turn call exactly one tool. Look around with read_file and search, try edits out with run_tests, and as soon as
you know what to change hand it in with {prompt.TOOL_NAME}: that ends the conversation. Every turn costs tokens, so take
as few as you can.
{prompt.RULES}"""


class AgentRung(ModelRung):
    """Converses with a model that has tools. Each turn is a call of its own, reserved with all that it repeats."""

    def _question(self, context: Context, size: prompt.Size) -> Question:
        question = prompt.build(context, self._rung, size)
        history = _history(context.attempts)
        told = f"{question.prompt}\n{history}You have {self._rung.steps} turns, the proposal included."
        return replace(question, system=_SYSTEM, prompt=told, purpose="agent", more_tools=TOOLS)

    def _attempt(self, question: Question, context: Context, tried: frozenset[str]) -> Reading:
        """Serve the model's calls until it proposes, ends, or has used its steps up."""
        box, why = Toolbox(context), ""
        for left in range(self._rung.steps - 1, -1, -1):
            answer = self._ask(question)
            if not answer.tool:
                return Reading(*without_data(answer, self._rung))
            reading, result = self._served(answer, box, context, tried)
            if reading is not None:
                return reading
            why = result.partition("\n")[0] if answer.tool == prompt.TOOL_NAME else why
            told = f"{prompt.Fence(result).around('result', answer.tool, result)}\n{_pressed(left)}"
            question = replace(question, turns=(*question.turns, Turn(answer.said, answer.call, told)))
        note = f"no proposal within {self._rung.steps} turns"
        return Reading(ModelOutcome.STEPS_USED_UP, f"{note}: {why}" if why else note)

    def _served(
        self, answer: Answer, box: Toolbox, context: Context, tried: frozenset[str]
    ) -> tuple[Reading | None, str]:
        """Return what a proposal came to, or the result of a call that is none or cannot be used."""
        if answer.tool != prompt.TOOL_NAME:
            return None, box.serve(answer.tool, answer.data)
        try:
            reading = read(answer, context, tried, self._rung)
        except edits.Mismatch as mismatch:
            return None, str(mismatch)
        if reading is REPEATED:
            return None, "This very patch was tried before, and did not help. Propose another one."
        return reading, ""


def _history(attempts: tuple[Attempt, ...]) -> str:
    """Tell how the scores of the loop around it have gone."""
    if not attempts:
        return ""
    return f"Scores so far, 1.00 being all tests mended: {' '.join(f'{one.score:.2f}' for one in attempts[-12:])}.\n"


def _pressed(left: int) -> str:
    if left == 1:
        return f"This is your last turn: call {prompt.TOOL_NAME} now."
    return f"{left} turns are left."
