"""The score: how many targets pass now, less the guards that no longer do, over all targets."""

from __future__ import annotations

from dataclasses import dataclass, replace

from pytest_noepicycle.domain.trial import End, Report


@dataclass(frozen=True, slots=True)
class Baseline:
    """The two lists frozen before anything is tried: ``targets`` to mend, ``guards`` to keep.

    ``unchecked`` passed outside the sandbox and not in it; ``held`` are targets that are scored on and shown to
    no rung.
    """

    targets: tuple[str, ...]
    guards: tuple[str, ...]
    unchecked: tuple[str, ...] = ()
    held: tuple[str, ...] = ()

    @property
    def shown(self) -> Baseline:
        """Return the lists as a rung may know them: without what is held out."""
        held = set(self.held)
        return replace(self, targets=tuple(test for test in self.targets if test not in held), held=())


@dataclass(frozen=True, slots=True)
class Score:
    """``value`` lies in [0, 1]; ``fixed`` and ``lost`` are ids of targets and guards."""

    value: float
    fixed: frozenset[str]
    lost: frozenset[str]
    complete: bool

    @property
    def solved(self) -> bool:
        """Whether every target passes and no guard is lost, in a trial that came to its end."""
        return self.complete and self.value == 1.0 and not self.lost


def score(baseline: Baseline, report: Report, *, guards_run: frozenset[str] | None = None) -> Score:
    """Judge a report. ``guards_run`` are the guards it was asked to run (all, if None).

    Missing, skipped, xfailed, errored and timed out all count as not passing.
    """
    passing = report.passing()
    fixed = frozenset(baseline.targets) & passing
    guards = frozenset(baseline.guards) if guards_run is None else guards_run
    lost = guards - passing
    value = max(0, len(fixed) - len(lost)) / len(baseline.targets) if baseline.targets else 0.0
    return Score(value, fixed, lost, report.end is End.COMPLETE)
