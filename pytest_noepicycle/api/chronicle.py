"""What happened in a run, kept for its history while it goes on, and told to the caller where it must be."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from pytest_noepicycle.domain.budget import Ledger
from pytest_noepicycle.domain.decision import Decision, Situation
from pytest_noepicycle.domain.history import history
from pytest_noepicycle.domain.ladder import Ladder
from pytest_noepicycle.domain.run import RunResult


@dataclass(slots=True)
class Chronicle:
    """Takes the place of a project's hooks: hears every decision, and ends a run that was cancelled."""

    cancelled: Callable[[], bool]
    decisions: dict[int, Decision] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)

    def told(self, situation: Situation, decision: Decision) -> None:
        """Keep a decision under the number of attempts that it looked at; the last one holds."""
        self.decisions[len(situation.attempts)] = decision

    def warn(self, text: str) -> None:
        """Warn the caller, and keep the warning for the result."""
        self.warnings.append(text)
        warnings.warn(text, UserWarning, stacklevel=2)

    def note(self, text: str) -> None:
        """Keep for the result what is no matter for a warning."""
        self.warnings.append(text)

    def pytest_noepi_protect(self, path: str) -> bool | None:
        """Protect nothing beyond what the guard protects."""

    def pytest_noepi_decision(self, state: Situation, decision: Decision) -> None:
        """Hear a decision of the engine.

        :raises KeyboardInterrupt: where the run was cancelled; the engine then proves its best and ends.
        """
        self.told(state, decision)
        if self.cancelled():
            raise KeyboardInterrupt

    def pytest_noepi_score(self, run: Any, baseline: Any) -> float | None:
        """Leave the score to the tests."""

    def pytest_noepi_report(self, result: Any) -> None:
        """Nothing to add to the report."""

    def finished(self, result: RunResult, ladder: Ladder, ledger: Ledger, solution: str) -> RunResult:
        """Return the result with its solution, its costs and its history."""
        if ledger.overrun:
            self.warn(_overshoot(ledger))
        return replace(
            result,
            solution=solution,
            tokens_spent=ledger.spent,
            cost_usd=ledger.spent_usd,
            history=history(result.attempts, self.decisions, ladder, result.stop_reason),
            warnings=(*result.warnings, *self.warnings),
        )


def _overshoot(ledger: Ledger) -> str:
    over = [entry for entry in ledger.entries if entry.outgrew]
    named = ", ".join(f"{entry.call} took {entry.tokens} where {entry.reserved_tokens} were left" for entry in over)
    return f"noepicycle: the budget was overshot: {named} (in all {ledger.spent} of {ledger.cap} tokens); the run ended"
