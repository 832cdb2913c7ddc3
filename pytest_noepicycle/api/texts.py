"""A task without tests: candidates are texts, and a scorer of the caller's, or a model with a rubric, judges them."""

from __future__ import annotations

import contextlib
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pytest_noepicycle.adapters.records import Records
from pytest_noepicycle.api.arguments import LLM_JUDGE, Plan
from pytest_noepicycle.api.arms import LoopArms, ModelArms, for_loop, served, usable, without_search
from pytest_noepicycle.api.chronicle import Chronicle
from pytest_noepicycle.api.scoring import CallersScore
from pytest_noepicycle.api.waiting import Waiting
from pytest_noepicycle.codec import encode
from pytest_noepicycle.domain.budget import Ledger
from pytest_noepicycle.domain.ladder import Ladder
from pytest_noepicycle.domain.loop import Scored
from pytest_noepicycle.domain.run import RunResult, StopReason
from pytest_noepicycle.domain.score import Baseline
from pytest_noepicycle.errors import ScoreError, UsageError
from pytest_noepicycle.ports import Journal
from pytest_noepicycle.proposers import ProposerFactory
from pytest_noepicycle.report.journal import JournalFile
from pytest_noepicycle.rungs.judge import Judge
from pytest_noepicycle.rungs.ways import way_of
from pytest_noepicycle.rungs.writer import WriterRung
from pytest_noepicycle.supervisor import freeform
from pytest_noepicycle.supervisor.purse import Purse
from pytest_noepicycle.supervisor.writing import Desk, Writer, Writing


@dataclass(frozen=True, slots=True)
class Texts:
    """One run of a plan whose scorer judges."""

    plan: Plan
    task: str
    inner_loop: Any
    waiting: Waiting
    chronicle: Chronicle

    def through(self) -> RunResult:
        """Walk the ladder and return the best text.

        :raises UsageError: where no rung can be used.
        :raises ScoreError: where the scorer gave no score; the run so far is its ``result``.
        """
        ladder, began = self._ladder(), time.monotonic()
        shipped = ProposerFactory(ladder, str(Path.cwd()), True)
        models = ModelArms(shipped, self.task, self.plan.transfer, self.chronicle.note)
        with contextlib.ExitStack() as stack:
            run_id, journal = self._journal(stack, models.secrets())
            desk = self._desk(models, journal, began)
            journal.write("run_started", run_id=run_id, ladder=encode(ladder), budget={"tokens": desk.purse.ledger.cap})
            ended = freeform.run(Writing(rung=_entry(ladder, desk.blocked)), desk)
            journal.write("run_ended", stop_reason=str(ended.stop), score=ended.best_score)
        result = self._result(run_id, ended, models, time.monotonic() - began)
        result = self.chronicle.finished(result, ladder, desk.purse.ledger, ended.best or "")
        if ended.failure:
            raise _failed(ended.failure, result)
        return result

    def _desk(self, models: ModelArms, journal: Journal, began: float) -> Desk:
        settings, deadline = self.plan.settings, began + self.plan.settings.time_limit
        ledger = Ledger(settings.budget, settings.budget_usd)
        purse = Purse(ledger, journal, clock=time.monotonic, sleep=time.sleep)

        def left() -> float:
            return deadline - time.monotonic()

        return Desk(
            task=self.task,
            ladder=models.shipped.ladder,
            thresholds=settings.thresholds,
            writers=self._writers(models, purse, left),
            score=self._score(models, purse, left),
            purse=purse,
            journal=journal,
            clock=time.monotonic,
            deadline=deadline,
            blocked=self._blocked(models),
            told=self.chronicle.told,
            warn=self.chronicle.warn,
            cancelled=self.chronicle.cancelled,
        )

    def _ladder(self) -> Ladder:
        if self.inner_loop is not None and self.plan.score_fn != LLM_JUDGE:
            return for_loop(self.plan.ladder)
        ladder = without_search(self.plan.ladder)
        usable(ladder, str(Path.cwd()))
        return served(ladder, self.plan.settings, self.chronicle.warn)

    def _blocked(self, models: ModelArms) -> frozenset[str]:
        if self.inner_loop is not None:
            return frozenset()
        return frozenset(skipped.rung for skipped in models.skipped())

    def _journal(self, stack: contextlib.ExitStack, secrets: tuple[str, ...]) -> tuple[str, Journal]:
        """Return a record's name and journal where a folder for records was named, else one that keeps nothing."""
        folder = self.plan.records
        if folder is None:
            return uuid.uuid4().hex[:12], _Unkept()
        record = Records.of(str(Path.cwd()), folder).new(self.plan.settings.keep_runs)
        journal = JournalFile(Path(record.folder, "decisions.jsonl"), secrets)
        stack.callback(journal.close)
        return record.run_id, journal

    def _writers(self, models: ModelArms, purse: Purse, left: Callable[[], float]) -> dict[str, Writer]:
        ladder = models.shipped.ladder
        rungs = ladder.rungs.values()
        if self.inner_loop is None:
            over = models.handover(purse, left)
            return {rung.name: WriterRung(models.shipped.asking(rung, purse, left), rung, over) for rung in rungs}
        way = way_of(self.inner_loop, prefer_async=self.waiting.given)
        loops = LoopArms(ladder, self.task, "", way, self.waiting, True)
        return {rung.name: loops.loop(rung, purse) for rung in rungs}

    def _score(self, models: ModelArms, purse: Purse, left: Callable[[], float]) -> Callable[[str], Scored]:
        if callable(self.plan.score_fn):
            return CallersScore(self.plan.score_fn, lambda answer: self.waiting(answer, max(1.0, left())))
        ask = models.cheapest(purse, left, "judge")
        if ask is None:
            raise UsageError("llm_judge needs a model, and no rung of the ladder can be asked")
        return Judge(ask, self.task).score

    def _result(self, run_id: str, ended: Writing, models: ModelArms, seconds: float) -> RunResult:
        return RunResult(
            run_id=run_id,
            stop_reason=ended.stop or StopReason.EXHAUSTED,
            baseline=Baseline((), ()),
            score=ended.best_score,
            attempts=ended.attempts,
            skipped=() if self.inner_loop is not None else models.skipped(),
            why=ended.why,
            seconds=seconds,
        )


class _Unkept:
    """A journal that nobody asked for."""

    def write(self, event: str, **fields: Any) -> None:
        """Keep nothing."""


def _entry(ladder: Ladder, blocked: frozenset[str]) -> str:
    entry = ladder.entry(blocked)
    if entry is None:
        raise UsageError(
            f"no rung of the ladder {ladder.name!r} can be used: {', '.join(sorted(blocked))} have no API key, and no "
            "on_plateau edge leads past them",
            hint="Set the key, or lead on_plateau to a rung that can be used.",
        )
    return entry


def _failed(why: str, result: RunResult) -> ScoreError:
    error = ScoreError(why)
    error.result = result
    return error
