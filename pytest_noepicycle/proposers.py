"""The rungs of a ladder made ready: each with the model, the key and the share of the purse that it needs."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, replace

from pytest_noepicycle.adapters import keys
from pytest_noepicycle.adapters.messages import MessagesModel
from pytest_noepicycle.domain.ladder import Ladder, Rung
from pytest_noepicycle.domain.redaction import redacted, secrets_in
from pytest_noepicycle.domain.run import Skipped
from pytest_noepicycle.domain.settings import Settings
from pytest_noepicycle.errors import LadderError
from pytest_noepicycle.ports import Answer, Proposer, Question
from pytest_noepicycle.report import terminal
from pytest_noepicycle.rungs.model import ModelRung
from pytest_noepicycle.rungs.search import LocalSearch
from pytest_noepicycle.supervisor.purse import Purse


@dataclass(frozen=True, slots=True)
class ProposerFactory:
    """Makes the proposers of one run; ``tree`` is where a ``.env`` with keys may lie."""

    ladder: Ladder
    tree: str
    runs_model_code: bool

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
        return {rung.name: self._proposer(rung, purse, seconds) for rung in self.ladder.rungs.values()}

    def secrets(self) -> tuple[str, ...]:
        """Return the values that must leave this process in no text: the environment's, and the keys in use."""
        names = {rung.api_key_env for rung in self.ladder.rungs.values() if rung.api_key_env}
        used = (keys.api_key(name, self.tree) for name in sorted(names))
        return (*secrets_in(os.environ), *(key for key in used if key))

    def _proposer(self, rung: Rung, purse: Purse, seconds: Callable[[], float]) -> Proposer:
        if rung.kind == "search":
            return LocalSearch()
        model = MessagesModel(rung, keys.api_key(rung.api_key_env, self.tree) or "")
        secrets = self.secrets()

        def ask(question: Question) -> Answer:
            question = replace(
                question, stable=redacted(question.stable, secrets), prompt=redacted(question.prompt, secrets)
            )
            return purse.ask(model, question, rung=rung, purpose="propose", seconds=seconds())

        return ModelRung(ask, rung)


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
