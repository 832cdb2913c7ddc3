"""A model's rung in a run: told the task and, at a switch, what was tried; lean where nothing was paid for yet."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

from pytest_noepicycle.domain.context import Context
from pytest_noepicycle.domain.ladder import Rung
from pytest_noepicycle.domain.patch import Proposal
from pytest_noepicycle.ports import Answer, Question
from pytest_noepicycle.rungs.agent import AgentRung
from pytest_noepicycle.rungs.handover import Handover
from pytest_noepicycle.rungs.model import ModelOutcome, ModelRung
from pytest_noepicycle.rungs.preflight import Preflight
from pytest_noepicycle.rungs.prompt import LEAN, WHOLE


class BriefedRung:
    """Asks a model for a patch, or an agent; the task comes first in the question, what was handed over comes last."""

    def __init__(
        self,
        ask: Callable[[Question], Answer],
        rung: Rung,
        handover: Handover,
        task: str,
        preflight: Preflight | None = None,
    ) -> None:
        self._ask = ask
        self._rung = rung
        self._handover = handover
        self._task = task
        self._preflight = preflight
        self._told = ""
        self._shot = ModelRung(self._asked, rung)
        self._model = AgentRung(self._asked, rung) if rung.kind == "agent" else self._shot
        self.last_note = self.last_doubt = ""

    def propose(self, context: Context) -> Iterator[Proposal]:
        """Ask for a patch, and remember it for whoever takes over."""
        self._told = self._handover.told(self._rung.name, self._task, context.attempts)
        known = replace(context, attempts=self._handover.shown(self._rung.name, context.attempts))
        size = self._preflight.size(context.attempts) if self._preflight else WHOLE
        self.last_note = self.last_doubt = ""
        asked = self._shot if size is LEAN else self._model  # a first shot is one, whoever makes it
        try:
            yield from self._kept(asked.propose(known, size), len(context.attempts) + 1)
        finally:
            self.last_note, self.last_doubt = _named(asked), asked.last_doubt

    def _kept(self, proposals: Iterable[Proposal], iteration: int) -> Iterator[Proposal]:
        """Pass the proposals on, and remember what they say and change."""
        written: list[str] = []
        for proposal in proposals:
            written.append(f"{proposal.note}\n{proposal.patch.diff().decode('utf-8', 'replace')}")
            self._handover.keep(iteration, "\n\n".join(written))
            yield proposal

    def _asked(self, question: Question) -> Answer:
        stable = "\n\n".join(part for part in (self._task and f"Task: {self._task}", question.stable) if part)
        prompt = "\n\n".join(part for part in (question.prompt, self._told) if part)
        answer = self._ask(replace(question, stable=stable, prompt=prompt))
        if self._preflight:
            self._preflight.answered = True
        return answer


def _named(model: ModelRung) -> str:
    """Return what came of the last answers, with the outcome's name where it is no proposal."""
    outcome = model.last_outcome
    if outcome is None or outcome is ModelOutcome.PROPOSED:
        return model.last_note
    return f"{outcome.replace('_', ' ')}: {model.last_note}"
