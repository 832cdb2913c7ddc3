"""The model rung with a task and a handover: what it is told at a switch, beside the failing tests."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from pytest_noepicycle.domain.context import Context
from pytest_noepicycle.domain.ladder import Rung
from pytest_noepicycle.domain.patch import Proposal
from pytest_noepicycle.ports import Answer, Question
from pytest_noepicycle.rungs.handover import Handover
from pytest_noepicycle.rungs.model import ModelRung
from pytest_noepicycle.rungs.preflight import Preflight
from pytest_noepicycle.rungs.prompt import WHOLE


class BriefedRung:
    """Asks a model for a patch; the task comes first in the question, what was handed over comes last."""

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
        self._model = ModelRung(self._asked, rung)

    @property
    def last_note(self) -> str:
        """Return what came of the last answer."""
        return self._model.last_note

    def propose(self, context: Context) -> Iterator[Proposal]:
        """Ask for a patch, and remember it for whoever takes over."""
        self._told = self._handover.told(self._rung.name, self._task, context.attempts)
        known = replace(context, attempts=self._handover.shown(self._rung.name, context.attempts))
        size = self._preflight.size(context.attempts) if self._preflight else WHOLE
        written: list[str] = []
        for proposal in self._model.propose(known, size):
            written.append(f"{proposal.note}\n{proposal.patch.diff().decode('utf-8', 'replace')}")
            self._handover.keep(len(context.attempts) + 1, "\n\n".join(written))
            yield proposal

    def _asked(self, question: Question) -> Answer:
        stable = "\n\n".join(part for part in (self._task and f"Task: {self._task}", question.stable) if part)
        prompt = "\n\n".join(part for part in (question.prompt, self._told) if part)
        return self._ask(replace(question, stable=stable, prompt=prompt))
