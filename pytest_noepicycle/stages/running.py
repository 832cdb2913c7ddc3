"""Running a set of tests to its end, though some of them hang or take the interpreter down."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace

from pytest_noepicycle.domain.trial import End, Limits, Outcome, Report, Status, Trial

Run = Callable[[Trial], Report]
_MOST_ROUNDS = 8


@dataclass(frozen=True, slots=True)
class Clocks:
    """How long a test may take: ten times its time at the baseline, within ``floor`` and ``ceiling`` seconds."""

    durations: Mapping[str, float] = field(default_factory=dict)
    fixed: float | None = None
    floor: float = 5.0
    ceiling: float = 30.0

    def of(self, test: str) -> float:
        """Return the seconds that one test may take."""
        if self.fixed is not None:
            return self.fixed
        return min(self.ceiling, max(self.floor, 10 * self.durations.get(test, 0.0)))

    def limits(self, ids: Iterable[str], seconds: float) -> Limits:
        """Return the limits of a trial of these tests within ``seconds`` altogether."""
        default = self.fixed if self.fixed is not None else self.ceiling
        return Limits(seconds, default, {test: self.of(test) for test in ids})


def bounded(run: Run, clock: Callable[[], float], until: float, *, least: float = 5.0) -> Run:
    """Return a run whose trials together end at ``until`` on the clock; each of them gets ``least`` seconds."""

    def within(trial: Trial) -> Report:
        left = max(least, until - clock())
        return run(replace(trial, limits=replace(trial.limits, seconds=min(trial.limits.seconds, left))))

    return within


def run_all(run: Run, trial: Trial) -> Report:
    """Run a trial, and again for the tests that one which hung or crashed kept from running; join the reports."""
    total = run(trial)
    for _ in range(_MOST_ROUNDS):
        left = _not_reached(total, trial)
        if total.end not in (End.TIMEOUT, End.DIED) or not left or total.seconds >= trial.limits.seconds:
            break
        seconds = trial.limits.seconds - total.seconds
        more = run(replace(trial, ids=left, limits=replace(trial.limits, seconds=seconds)))
        if not any(outcome.status is not Status.MISSING for outcome in more.outcomes.values()):
            break  # nothing came to run: it would be the same again
        total = _joined(total, more)
    return total


def _not_reached(report: Report, trial: Trial) -> tuple[str, ...]:
    wanted = trial.ids if trial.ids is not None else report.collected
    reached = {t for t, o in report.outcomes.items() if o.status is not Status.MISSING}
    return tuple(test for test in wanted if test not in reached)


def _joined(first: Report, second: Report) -> Report:
    outcomes: dict[str, Outcome] = dict(first.outcomes)
    outcomes.update({t: o for t, o in second.outcomes.items() if o.status is not Status.MISSING})
    return replace(
        second,
        outcomes=outcomes,
        hung=second.hung or first.hung,
        unknown=first.unknown + second.unknown,
        collected=first.collected or second.collected,
        coverage={**first.coverage, **second.coverage},
        seconds=first.seconds + second.seconds,
    )
