"""The rungs of a ladder made ready: each with the model, the key and the share of the purse that it needs."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from pytest_noepicycle.adapters import clouds, keys
from pytest_noepicycle.adapters.clouds import CLOUDS
from pytest_noepicycle.adapters.messages import MessagesModel
from pytest_noepicycle.domain.context import Context
from pytest_noepicycle.domain.estimate import Estimate, Quote
from pytest_noepicycle.domain.ladder import PRICES, Ladder, Price, Rung
from pytest_noepicycle.domain.redaction import redacted, secrets_in
from pytest_noepicycle.domain.run import Skipped
from pytest_noepicycle.domain.settings import Settings
from pytest_noepicycle.errors import LadderError, ProviderError
from pytest_noepicycle.ports import Answer, Proposer, Question
from pytest_noepicycle.rungs.briefed import BriefedRung
from pytest_noepicycle.rungs.handover import Handover, Transfer, resumed
from pytest_noepicycle.rungs.preflight import Preflight
from pytest_noepicycle.rungs.prompt import LEAN, WHOLE, Size, build
from pytest_noepicycle.rungs.search import LocalSearch
from pytest_noepicycle.supervisor.purse import BudgetExhausted, BudgetOverrun, Purse, worst_case

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

    def preview(self, context: Context) -> Estimate | None:
        """Return what would be asked and could cost, or None where nothing can be said; nothing is asked."""
        ...


Arm = Callable[[Ladder, str, bool], Arming]
"""Takes the ladder, the folder in which a ``.env`` may lie, and whether code from a model may run."""


Kinds = Mapping[str, Callable[[Rung], Proposer]]


def kinds_of(hooks: Any) -> Kinds:
    """Return the kinds of rungs that a project's hooks add, by name; none where there are no hooks."""
    asked = getattr(hooks, "pytest_noepi_proposers", None)
    made: dict[str, Callable[[Rung], Proposer]] = {}
    for kinds in asked() if asked is not None else ():
        made.update(kinds or {})
    return made


@dataclass(frozen=True, slots=True)
class ProposerFactory:
    """Makes the proposers of one run; ``tree`` is where a ``.env`` with keys may lie.

    ``transfer`` says what a model is told of the attempts before it, ``note`` hears where that could not be had;
    ``task`` is what the code is for, where somebody said so; ``earlier`` are the events of a run that is gone
    on with, and ``finished`` how many of its attempts stand.
    """

    ladder: Ladder
    tree: str
    runs_model_code: bool
    transfer: Transfer = Transfer.SUMMARY
    note: Callable[[str], None] = _unheard
    task: str = ""
    earlier: tuple[Mapping[str, Any], ...] = ()
    finished: int = 0
    kinds: Kinds = field(default_factory=dict)

    def skipped(self) -> tuple[Skipped, ...]:
        """Name the rungs that cannot be used, each with what to set."""
        skipped = []
        for rung in self.ladder.rungs.values():
            if not rung.asks and rung.kind not in self.kinds:
                continue
            lacking = self._lacking(rung) if rung.asks else ""
            if lacking:
                skipped.append(Skipped(rung.name, lacking))
            elif not self.runs_model_code:
                skipped.append(Skipped(rung.name, "code from a model needs Docker, or --noepi-sandbox process"))
        return tuple(skipped)

    def _lacking(self, rung: Rung) -> str:
        if rung.provider in CLOUDS:
            return clouds.lacking(rung.provider)
        if keys.api_key(rung.api_key_env, self.tree) is None:
            return f"no API key: set {rung.api_key_env} in the environment or in .env"
        return ""

    def proposers(self, purse: Purse, seconds: Callable[[], float]) -> dict[str, Proposer]:
        """Return a proposer for each rung; ``seconds`` tells how long a call may take at that moment."""
        over, preflight = self.handover(purse, seconds), Preflight()
        rungs = self.ladder.rungs.values()
        return {rung.name: self._proposer(rung, self.asking(rung, purse, seconds), over, preflight) for rung in rungs}

    def handover(self, purse: Purse, seconds: Seconds) -> Handover:
        """Return what passes on what was tried, briefed by the cheapest model where the transfer asks for it."""
        ask = self.cheapest(purse, seconds, "briefing") if self.transfer is Transfer.SUMMARY else None
        asking = {rung.name for rung in self.ladder.rungs.values() if rung.asks}
        over = Handover(self.transfer, ask, (BudgetExhausted, BudgetOverrun, ProviderError), self.note)
        return resumed(over, self.earlier, asking, self.finished)

    def cheapest(self, purse: Purse, seconds: Seconds, purpose: str) -> Ask | None:
        """Return a function that asks the cheapest model that can be used, or None where there is none."""
        cannot = {skipped.rung for skipped in self.skipped()}
        usable = [rung for rung in self.ladder.rungs.values() if rung.asks and rung.name not in cannot]
        priced = [rung for rung in usable if rung.price is not None] or usable
        if not priced:
            return None
        rung = min(priced, key=lambda one: one.price.output if one.price else 0.0)
        return self.asking(rung, purse, seconds, purpose)

    def preview(self, context: Context) -> Estimate | None:
        """Return the very question that would come first, and the most that each rung's next call can take."""
        cannot = {skipped.rung: skipped.why for skipped in self.skipped()}
        asking = [rung for rung in self.ladder.rungs.values() if rung.asks]
        if not asking:
            return None
        first = next((rung for rung in asking if rung.name not in cannot), asking[0])
        lean = _without(self.secrets(), build(context, first, LEAN))
        quotes = tuple(self._quote(rung, context, LEAN if rung is first else WHOLE, cannot) for rung in asking)
        return Estimate(first.name, "\n\n".join((lean.system, lean.stable, lean.prompt)), quotes)

    def _quote(self, rung: Rung, context: Context, size: Size, cannot: Mapping[str, str]) -> Quote:
        question = _without(self.secrets(), build(context, rung, size))
        bound = MessagesModel(rung, "").input_bound(question)
        usd = worst_case(rung.price, bound, question.max_output)
        return Quote(rung.name, rung.model, bound + question.max_output, usd, cannot.get(rung.name, ""))

    def secrets(self) -> tuple[str, ...]:
        """Return the values that must leave this process in no text: the environment's, and the keys in use."""
        names = {rung.api_key_env for rung in self.ladder.rungs.values() if rung.api_key_env}
        used = (keys.api_key(name, self.tree) for name in sorted(names))
        return (*secrets_in(os.environ), *(key for key in used if key))

    def _proposer(self, rung: Rung, ask: Ask, over: Handover, preflight: Preflight) -> Proposer:
        if rung.kind in self.kinds:
            return self.kinds[rung.kind](rung)
        return BriefedRung(ask, rung, over, self.task, preflight) if rung.asks else LocalSearch()

    def asking(self, rung: Rung, purse: Purse, seconds: Seconds, purpose: str = "propose") -> Ask:
        """Return a function that asks the rung's model, within the purse and without the secrets of this process."""
        model = MessagesModel(rung, keys.api_key(rung.api_key_env, self.tree) or "")
        secrets = self.secrets()

        def ask(question: Question) -> Answer:
            question = _without(secrets, question)
            return purse.ask(model, question, rung=rung, purpose=question.purpose or purpose, seconds=seconds())

        return ask


def _without(secrets: tuple[str, ...], question: Question) -> Question:
    """Return a question without secrets in what the project says; what the model said itself stays as it was."""
    turns = tuple(replace(turn, result=redacted(turn.result, secrets)) for turn in question.turns)
    stable, prompt = redacted(question.stable, secrets), redacted(question.prompt, secrets)
    return replace(question, stable=stable, prompt=prompt, turns=turns)


def at_its_servers(ladder: Ladder, tell: Callable[[str], None]) -> Ladder:
    """Name the server that ANTHROPIC_BASE_URL sends code to, so that prices and warnings are about that one.

    What Anthropic asks for a model is no price there; one that was given for the rung itself stays.
    """
    server = os.environ.get("ANTHROPIC_BASE_URL", "").rstrip("/")
    asked = [rung for rung in ladder.rungs.values() if rung.asks and rung.provider == "anthropic"]
    theirs = [rung for rung in asked if rung.base_url is None]
    if not server or server == "https://api.anthropic.com" or not theirs:
        return ladder
    tell(f"ANTHROPIC_BASE_URL is set: models are asked at {server}")
    moved = {rung.name: replace(rung, base_url=server, price=_price_there(rung)) for rung in theirs}
    return replace(ladder, rungs={**ladder.rungs, **moved})


def _price_there(rung: Rung) -> Price | None:
    return None if rung.price == PRICES.get(rung.model) else rung.price


def priced(ladder: Ladder, settings: Settings) -> None:
    """Under a money cap an unknown price is an error: it could be any."""
    if settings.budget_usd is None:
        return
    for rung in ladder.rungs.values():
        if rung.asks and rung.price is None:
            raise LadderError(
                f"{ladder.name}: rungs.{rung.name} has no price, and there is a cap in dollars",
                hint="Add to that rung: price: {input: X, output: Y}   # US dollars per million tokens",
            )
