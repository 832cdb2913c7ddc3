"""The time limit of ``noepi verify``: one for all runs of a proof together, and what it cuts off is not proved."""

from __future__ import annotations

from dataclasses import dataclass

from looping import WorldSnapshot
from toy import World, edit

from pytest_noepicycle.domain.edit_list import Candidate
from pytest_noepicycle.domain.evidence import Evidence, Ruling
from pytest_noepicycle.domain.patch import Patch
from pytest_noepicycle.domain.score import Baseline
from pytest_noepicycle.domain.trial import Limits, Report, Trial
from pytest_noepicycle.stages.running import Clocks
from pytest_noepicycle.verifying import Court

TARGET, GUARD = "test_m.py::a", "test_m.py::b"


@dataclass
class Slow:
    """A world in which each run takes so many seconds of a clock, or all that it is given."""

    world: World
    takes: float
    now: float = 0.0

    def run(self, trial: Trial) -> Report:
        """Run, and let the time pass."""
        self.now += min(self.takes, trial.limits.seconds)
        return self.world.run(trial)


def judged(takes: float, allowance: float) -> tuple[Evidence, float, int]:
    """Return what comes of a right patch, how long all runs took, and how many there were."""
    tests = {TARGET: lambda n: n["a"] == 2, GUARD: lambda n: n["b"] == 1}
    world = World({"m.py": b"a = 1\nb = 1\n"}, tests)
    slow, patch = Slow(world, takes), edit(world, "m.py", b"a = 1", b"a = 2").patch
    court = Court(
        run=slow.run,
        shot=WorldSnapshot(world),
        territory=world.territory(),
        baseline=Baseline((TARGET,), (GUARD,)),
        clocks=Clocks(),
        seconds=20.0,
        allowance=allowance,
        first=world.run(Trial(Patch(), None, Limits(9.0))),
        left_out={},
        sandbox="process",
        clock=lambda: slow.now,
    )
    world.trials.clear()
    return court.judge(Candidate(patch)), slow.now, len(world.trials)


def test_a_proof_within_its_time_is_proved():
    """The limit changes nothing where there is enough of it."""
    found, _, runs = judged(takes=1.0, allowance=60.0)
    assert (found.ruling, runs > 3) == (Ruling.PROVED, True)


def test_all_runs_together_end_at_the_limit_and_nothing_is_proved():
    """Each run would be within its own limit: all of them are not, and what they showed then is no proof."""
    found, seconds, runs = judged(takes=20.0, allowance=30.0)
    assert runs > 3
    assert seconds <= 30.0 + runs
    assert (found.eligible, found.ruling) == (False, Ruling.REFUTED)
    assert "raise --time-limit" in found.why
