"""The rungs of a ladder made ready: each with the model, the key and the share of the purse that it needs."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Protocol

from pytest_noepicycle.adapters import keys
from pytest_noepicycle.adapters.messages import MessagesModel
from pytest_noepicycle.domain.ladder import Ladder, Rung
from pytest_noepicycle.domain.redaction import redacted, secrets_in
from pytest_noepicycle.domain.run import Skipped
from pytest_noepicycle.domain.settings import Settings
from pytest_noepicycle.errors import LadderError, ProviderError
from pytest_noepicycle.ports import Answer, Proposer, Question
from pytest_noepicycle.report import terminal
from pytest_noepicycle.rungs.briefed import BriefedRung
from pytest_noepicycle.rungs.handover import Handover, Transfer
from pytest_noepicycle.rungs.preflight import Preflight
from pytest_noepicycle.rungs.search import LocalSearch
from pytest_noepicycle.supervisor.purse import BudgetExhausted, BudgetOverrun, Purse

Seconds = Callable[[], float]
Ask = Callable[[Question], Answer]


def _unheard(text: str) -> None:
    """Say nothing to nobody."""


class Arming(Protocol):
    """Makes the rungs of a run ready; :class:`ProposerFactory` does it for those that ship."""

    def skipped(self) -> tuple[Skipped, ...]:
        """Name the rungs that cannot be used, each with what to set."""
        ...

    def proposers(self, purse: Purse, seconds: Callable[[], float]) -> Mapping[str, Proposer]:
        """Return a proposer for each rung."""
        ...

    def secrets(self) -> tuple[str, ...]:
        """Return the values that must leave this process in no text."""
        ...


Arm = Callable[[Ladder, str, bool], Arming]
"""Takes the ladder, the folder in which a ``.env`` may lie, and whether code from a model may run."""


@dataclass(frozen=True, slots=True)
class ProposerFactory:
    """Makes the proposers of one run; ``tree`` is where a ``.env`` with keys may lie.

    ``transfer`` says what a model is told of the attempts before it, ``note`` hears where that could not be had;
    ``task`` is what the code is for, where somebody said so.
    """

    ladder: Ladder
    tree: str
    runs_model_code: bool
    transfer: Transfer = Transfer.SUMMARY
    note: Callable[[str], None] = _unheard
    task: str = ""

    def skipped(self) -> tuple[Skipped, ...]:
        """Name the rungs that cannot be used, each with what to set."""
        skipped = []
        for rung in self.ladder.rungs.values():
            if rung.kind != "model":
                continue
            if keys.api_key(rung.api_key_env, self.tree) is None:
                skipped.append(Skipped(rung.name, f"no API key: set {rung.api_key_env} in the environment or in .env"))
            elif not self.runs_model_code:
                skipped.append(Skipped(rung.name, "code from a model needs Docker, or --noepi-sandbox process"))
        return tuple(skipped)

    def proposers(self, purse: Purse, seconds: Callable[[], float]) -> dict[str, Proposer]:
        """Return a proposer for each rung; ``seconds`` tells how long a call may take at that moment."""
        over, preflight = self.handover(purse, seconds), Preflight()
        rungs = self.ladder.rungs.values()
        return {rung.name: self._proposer(rung, self.asking(rung, purse, seconds), over, preflight) for rung in rungs}

    def handover(self, purse: Purse, seconds: Seconds) -> Handover:
        """Return what passes on what was tried, briefed by the cheapest model where the transfer asks for it."""
        ask = self.cheapest(purse, seconds, "briefing") if self.transfer is Transfer.SUMMARY else None
        return Handover(self.transfer, ask, (BudgetExhausted, BudgetOverrun, ProviderError), self.note)

    def cheapest(self, purse: Purse, seconds: Seconds, purpose: str) -> Ask | None:
        """Return a function that asks the cheapest model that can be used, or None where there is none."""
        cannot = {skipped.rung for skipped in self.skipped()}
        usable = [rung for rung in self.ladder.rungs.values() if rung.kind != "search" and rung.name not in cannot]
        priced = [rung for rung in usable if rung.price is not None] or usable
        if not priced:
            return None
        rung = min(priced, key=lambda one: one.price.output if one.price else 0.0)
        return self.asking(rung, purse, seconds, purpose)

    def secrets(self) -> tuple[str, ...]:
        """Return the values that must leave this process in no text: the environment's, and the keys in use."""
        names = {rung.api_key_env for rung in self.ladder.rungs.values() if rung.api_key_env}
        used = (keys.api_key(name, self.tree) for name in sorted(names))
        return (*secrets_in(os.environ), *(key for key in used if key))

    def _proposer(self, rung: Rung, ask: Ask, over: Handover, preflight: Preflight) -> Proposer:
        return LocalSearch() if rung.kind == "search" else BriefedRung(ask, rung, over, self.task, preflight)

    def asking(self, rung: Rung, purse: Purse, seconds: Seconds, purpose: str = "propose") -> Ask:
        """Return a function that asks the rung's model, within the purse and without the secrets of this process."""
        model = MessagesModel(rung, keys.api_key(rung.api_key_env, self.tree) or "")
        secrets = self.secrets()

        def ask(question: Question) -> Answer:
            question = replace(
                question, stable=redacted(question.stable, secrets), prompt=redacted(question.prompt, secrets)
            )
            return purse.ask(model, question, rung=rung, purpose=question.purpose or purpose, seconds=seconds())

        return ask


def at_its_servers(ladder: Ladder, paper: terminal.Paper) -> Ladder:
    """Name the server that ANTHROPIC_BASE_URL sends code to, so that prices and warnings are about that one."""
    server = os.environ.get("ANTHROPIC_BASE_URL", "").rstrip("/")
    theirs = [rung for rung in ladder.rungs.values() if rung.kind == "model" and rung.base_url is None]
    if not server or server == "https://api.anthropic.com" or not theirs:
        return ladder
    paper.line(f"noepi: ANTHROPIC_BASE_URL is set: models are asked at {server}", yellow=True)
    moved = {rung.name: replace(rung, base_url=server) for rung in theirs}
    return replace(ladder, rungs={**ladder.rungs, **moved})


def priced(ladder: Ladder, settings: Settings) -> None:
    """Under a money cap an unknown price is an error: it could be any."""
    if settings.budget_usd is None:
        return
    for rung in ladder.rungs.values():
        if rung.kind == "model" and rung.price is None:
            raise LadderError(
                f"{ladder.name}: rungs.{rung.name} has no price, and there is a cap in dollars",
                hint="Add to that rung: price: {input: X, output: Y}   # US dollars per million tokens",
            )
