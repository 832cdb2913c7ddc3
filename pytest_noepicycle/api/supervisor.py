"""The Supervisor: give it a task and what judges it, and it walks a ladder of models until more buys nothing."""

from __future__ import annotations

import asyncio
import sys
import warnings
from collections.abc import Callable, Mapping
from dataclasses import replace
from os import PathLike
from typing import Any

from pytest_noepicycle.api.arguments import Plan, judged_by, ladder_of, settings_of, task_of, transfer_of
from pytest_noepicycle.api.chronicle import Chronicle
from pytest_noepicycle.api.solving import Solving
from pytest_noepicycle.api.texts import Texts
from pytest_noepicycle.api.waiting import Waiting
from pytest_noepicycle.domain.ladder import Ladder
from pytest_noepicycle.domain.run import RunResult
from pytest_noepicycle.domain.settings import Thresholds
from pytest_noepicycle.errors import UsageError
from pytest_noepicycle.proposers import priced

_DEFAULTS = Thresholds()


class Supervisor:
    """Solves tasks within a budget, and stops when more spending buys nothing.

    Exactly one of the two judges. ``test_code`` is the text of a test file that imports from ``solution``: the
    candidate is the text of ``solution.py``, run in a sandbox, and a cold run of all tests alone says solved.
    ``score_fn`` takes a candidate (any string) and returns a number from 0.0 to 1.0; it may be async. It runs in this
    process, with all its rights: a scorer that executes candidates has to confine them itself. ``"llm_judge"`` has a
    model judge by a rubric, within the budget.

    ``budget_cap`` is in tokens of all kinds, ``budget_usd`` in dollars, ``time_limit`` in seconds. ``ladder`` is a
    shipped name, a path, a :class:`Ladder`, or a dict of rungs. ``context_transfer`` says what a model is told that
    takes over: ``summary``, ``reset`` or ``full``. ``sandbox`` is ``auto``, ``docker`` or ``process``; code from a
    model needs Docker, or ``process`` by name. The thresholds are those of the README; ``success_threshold`` is the
    score at which a scorer's task counts as solved, and never takes the place of tests. With ``dir`` runs are
    recorded in that folder. ``python`` is the interpreter that runs the tests; pytest must be installed in it. With
    ``dry_run`` a task with tests is only looked at: nothing is asked.

    :raises UsageError: for any argument that is wrong, with a sentence; a wrong ladder is a :class:`LadderError`.
    """

    def __init__(
        self,
        *,
        test_code: str | None = None,
        score_fn: Callable[[str], Any] | str | None = None,
        budget_cap: int = 50_000,
        budget_usd: float | None = None,
        time_limit: float = 1200.0,
        ladder: str | PathLike[str] | Ladder | Mapping[str, Any] = "default",
        context_transfer: str = "summary",
        sandbox: str = "auto",
        delta_threshold: float = _DEFAULTS.delta_threshold,
        plateau_window: int = _DEFAULTS.plateau_window,
        fixation_threshold: int = _DEFAULTS.fixation_threshold,
        grace_period: int = _DEFAULTS.grace_period,
        budget_low_pct: float = _DEFAULTS.budget_low_pct,
        budget_stop_pct: float = _DEFAULTS.budget_stop_pct,
        success_threshold: float = _DEFAULTS.success_threshold,
        workers: int = 0,
        image: str | None = None,
        dir: str | PathLike[str] | None = None,
        python: str = sys.executable,
        dry_run: bool = False,
    ) -> None:
        judged_by(test_code, score_fn)
        movement = delta_threshold, plateau_window, fixation_threshold, grace_period
        thresholds = Thresholds(*movement, budget_low_pct, budget_stop_pct, success_threshold)
        settings, records = settings_of(
            thresholds,
            budget_cap=budget_cap,
            budget_usd=budget_usd,
            time_limit=time_limit,
            sandbox=sandbox,
            workers=workers,
            image=image,
            dir=dir,
        )
        transfer = transfer_of(context_transfer)
        self._plan = Plan(test_code, score_fn, ladder_of(ladder), settings, transfer, records, python)
        if dry_run and test_code is None:
            raise UsageError(
                "dry_run looks at a task with tests, and here score_fn judges: there is nothing to look at",
                hint="Give test_code, or leave dry_run out and cap the run with budget_cap and budget_usd.",
            )
        if dry_run:
            self._plan = replace(self._plan, settings=replace(settings, dry_run=True))
        priced(self._plan.ladder, settings)
        if self._plan.ladder.warning:
            warnings.warn(self._plan.ladder.warning, UserWarning, stacklevel=2)

    def run(self, task: str, inner_loop: Any = None) -> RunResult:
        """Solve a task and return the best solution that was found, why it ended, what it cost, and its history.

        ``inner_loop`` takes the place of the ladder's models, whose names are only passed on to it: a callable (sync
        or async) that takes one :class:`LoopContext` and returns a candidate or ``(candidate, tokens)``; a callable
        with the keywords ``task``, ``previous_solution``, ``previous_feedback`` and ``model``; or an object with
        LangGraph's ``invoke`` or ``ainvoke``. It is charged afterwards: another iteration starts only while the
        dearest so far still fits, and one that takes more than is left ends the run and is named in a warning.

        :raises UsageError: where nothing can be asked, with what to set.
        :raises ScoreError: where the scorer gave no score; the run so far is the error's ``result``.
        """
        with Waiting() as waiting:
            return self._through(task, inner_loop, waiting)

    async def arun(self, task: str, inner_loop: Any = None) -> RunResult:
        """Solve a task as :meth:`run` does, without blocking the event loop, on which what is async is awaited.

        Cancelled, it ends at its next step; what was spent until then is spent.
        """
        waiting = Waiting(asyncio.get_running_loop())
        work = asyncio.ensure_future(asyncio.to_thread(self._through, task, inner_loop, waiting))
        try:
            return await asyncio.shield(work)
        except asyncio.CancelledError:
            waiting.cancel()
            await asyncio.gather(work, return_exceptions=True)  # nothing of the run outlives it
            raise

    def _through(self, task: str, inner_loop: Any, waiting: Waiting) -> RunResult:
        chronicle = Chronicle(lambda: waiting.cancelled)
        kind = Solving if self._plan.test_code is not None else Texts
        return kind(self._plan, task_of(task), inner_loop, waiting, chronicle).through()
