"""The rungs of a run through Python: models with a task and a handover, or the caller's inner loop in their place."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from pytest_noepicycle.adapters.clouds import CLOUDS
from pytest_noepicycle.adapters.keys import api_key
from pytest_noepicycle.domain.context import Context
from pytest_noepicycle.domain.estimate import Estimate
from pytest_noepicycle.domain.ladder import Ladder, Rung
from pytest_noepicycle.domain.run import Skipped
from pytest_noepicycle.domain.settings import Settings
from pytest_noepicycle.errors import UsageError
from pytest_noepicycle.ports import Proposer
from pytest_noepicycle.proposers import Ask, ProposerFactory, Seconds, at_its_servers, priced
from pytest_noepicycle.rungs.foreign import ForeignLoop, ForeignRung, Wait
from pytest_noepicycle.rungs.handover import Handover, Transfer
from pytest_noepicycle.rungs.ways import Way
from pytest_noepicycle.supervisor.purse import Purse
from pytest_noepicycle.supervisor.tab import Tab

NO_MODEL_CODE = "code from a model needs Docker, or sandbox='process'"


@dataclass(frozen=True, slots=True)
class ModelArms:
    """Arms the rungs with models; keys lie in the environment or in ``folder``/.env."""

    shipped: ProposerFactory
    task: str
    transfer: Transfer
    note: Callable[[str], None]

    def skipped(self) -> tuple[Skipped, ...]:
        """Name the rungs that cannot be used, each with what to set."""
        return self.shipped.skipped()

    def secrets(self) -> tuple[str, ...]:
        """Return the values that must leave this process in no text."""
        return self.shipped.secrets()

    def preview(self, context: Context) -> Estimate | None:
        """Return what would be asked and could cost; nothing is asked."""
        return self._told.preview(context)

    def proposers(self, purse: Purse, seconds: Seconds) -> dict[str, Proposer]:
        """Return a proposer of patches for each rung, all of them with the same handover."""
        return self._told.proposers(purse, seconds)

    def handover(self, purse: Purse, seconds: Seconds) -> Handover:
        """Return what passes on what was tried, briefed by the cheapest model where the transfer asks for it."""
        return self._told.handover(purse, seconds)

    def cheapest(self, purse: Purse, seconds: Seconds, purpose: str) -> Ask | None:
        """Return a function that asks the cheapest model that can be used, or None where there is none."""
        return self.shipped.cheapest(purse, seconds, purpose)

    @property
    def _told(self) -> ProposerFactory:
        return replace(self.shipped, transfer=self.transfer, note=self.note, task=self.task)


@dataclass(frozen=True, slots=True)
class LoopArms:
    """Arms every rung with the caller's inner loop: the rungs' names are passed on and nothing else of them."""

    ladder: Ladder
    task: str
    path: str
    way: Way
    wait: Wait
    runs_model_code: bool

    def skipped(self) -> tuple[Skipped, ...]:
        """No rung needs a key; the code that they write needs a sandbox that may run it."""
        return () if self.runs_model_code else tuple(Skipped(name, NO_MODEL_CODE) for name in self.ladder.rungs)

    def secrets(self) -> tuple[str, ...]:
        """Return the values that must leave this process in no text."""
        return ProposerFactory(self.ladder, ".", self.runs_model_code).secrets()

    def preview(self, context: Context) -> Estimate | None:
        """Return nothing: what an inner loop asks is its own business."""
        return None

    def proposers(self, purse: Purse, seconds: Seconds) -> dict[str, Proposer]:
        """Return the inner loop as a proposer of patches for each rung."""
        return {
            rung.name: ForeignRung(self.loop(rung, purse), rung, task=self.task, path=self.path)
            for rung in self.ladder.rungs.values()
        }

    def loop(self, rung: Rung, purse: Purse) -> ForeignLoop:
        """Return the inner loop, charged to a rung."""
        return ForeignLoop(self.way, Tab(purse, rung), self.wait, rung.model)


def without_search(ladder: Ladder) -> Ladder:
    """Return the ladder without its local search, which cannot write from nothing.

    :raises UsageError: where no other rung is left.
    """
    kept = ladder.without("search")
    if kept is None:
        raise UsageError(
            f"the ladder {ladder.name!r} has only a local search, which mends code and cannot write it",
            hint="Take a ladder with a model (ladder='default' and ANTHROPIC_API_KEY), or give an inner_loop.",
        )
    return kept


def usable(ladder: Ladder, folder: str) -> None:
    """See that some rung of the ladder can be asked.

    :raises UsageError: where none can, with what to set.
    """
    with_key = [rung for rung in ladder.rungs.values() if rung.provider not in CLOUDS]
    lacking = [rung for rung in with_key if api_key(rung.api_key_env, folder) is None]
    if len(lacking) == len(ladder.rungs):
        names = " or ".join(dict.fromkeys(rung.api_key_env for rung in lacking))
        raise UsageError(
            f"no rung of the ladder {ladder.name!r} can be used: there is no API key",
            hint=f"Set {names} in the environment or in a .env file here, or give run() an inner_loop.",
        )


def served(ladder: Ladder, settings: Settings, warn: Callable[[str], None]) -> Ladder:
    """Return the ladder with the servers that the environment names, and warn of where the code goes.

    :raises LadderError: where a price is not known there, and there is a cap on money.
    """
    there = at_its_servers(ladder, lambda text: warn(f"noepicycle: {text}"))
    if there.warning and not ladder.warning:  # a ladder that names such a server itself is warned of when it is given
        warn(there.warning)
    priced(there, settings)
    return there


def for_loop(ladder: Ladder) -> Ladder:
    """Return the ladder as an inner loop walks it: prices stay for the cap on money, servers are nobody's business."""
    kept = without_search(ladder)
    rungs = {name: replace(rung, base_url=None, api_key_env="") for name, rung in kept.rungs.items()}
    return Ladder(rungs, name=kept.name, start=kept.start, description=kept.description)
