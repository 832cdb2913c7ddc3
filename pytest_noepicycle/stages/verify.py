"""The verdict: cold, fresh, on a pristine tree plus the patch. Nothing else may say solved."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from pytest_noepicycle.domain.patch import Patch
from pytest_noepicycle.domain.score import Baseline
from pytest_noepicycle.domain.trial import End, Report, Status, Trial
from pytest_noepicycle.stages.canary import Canary
from pytest_noepicycle.stages.checks import FAILED, IMPOSSIBLE, MEANING, PASSED
from pytest_noepicycle.stages.disguise import Disguise, disguise
from pytest_noepicycle.stages.order import Order, signature_of
from pytest_noepicycle.stages.perturb import Perturbed, perturb
from pytest_noepicycle.stages.running import Clocks, Run, run_all
from pytest_noepicycle.stages.test_source import Read

_FEW = 12  # guards lost by chance are few; more of them are lost
COLD_RUNS = 6
"""Runs of the whole suite in a proof: as it is, reverted, disguised, perturbed, shuffled with the patch and without."""
_IMPOSSIBLE: Mapping[str, str] = {
    "disguised": "no test can be given another name: they are not plain functions, or know their names",
    "perturbed": "no expectation of a target can be changed so that the right code must fail",
}


@dataclass(frozen=True, slots=True)
class Verdict:
    """``fixed`` and ``lost`` as a cold run of everything showed them; ``checks`` by name: passed, failed, impossible.

    ``unsteady`` are guards that fail without the patch as well, or fail and pass with it, and targets that pass
    without it.
    """

    fixed: tuple[str, ...]
    lost: tuple[str, ...]
    checks: Mapping[str, str] = field(default_factory=dict)
    unsteady: tuple[str, ...] = ()
    why: str = ""
    unperturbed: tuple[str, ...] = ()  # targets whose expectations could not be changed
    unknown: tuple[str, ...] = ()  # ids that the baseline does not know: they never score
    reasons: Mapping[str, str] = field(default_factory=dict)  # by its name, why a check was impossible

    @property
    def holds(self) -> bool:
        """Whether something was fixed, no guard was lost and no check failed; an impossible one is only said."""
        return bool(self.fixed) and not self.lost and FAILED not in self.checks.values()


def verify(
    patch: Patch,
    baseline: Baseline,
    run: Run,
    clocks: Clocks,
    *,
    seconds: float,
    read: Read | None = None,
    collected: tuple[str, ...] = (),
    hanging: frozenset[str] = frozenset(),
) -> Verdict:
    """Prove or refute a patch. ``run`` opens a fresh box for each trial; ``seconds`` bounds each of them.

    ``read`` reads the baseline's files: without it no expectation can be perturbed and no test disguised.
    ``collected`` are the baseline's ids in pytest's order, ``hanging`` the targets that hung there: any other
    test that hangs ends the proof.
    """
    return _Proof(patch, baseline, run, clocks, seconds, read, collected, hanging).verdict()


@dataclass(frozen=True, slots=True)
class _Deeper:
    """What the run without the patch has shown: targets that pass there by ``chance``, disguised ones and their
    canaries that are ``sound``, and with which signatures the others fail; ``unperturbed`` are those without
    another expectation.
    """

    chance: tuple[str, ...]
    sound: frozenset[str]
    failures: Mapping[str, str]
    unperturbed: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Proof:
    """What a proof is taken of and with."""

    patch: Patch
    baseline: Baseline
    run: Run
    clocks: Clocks
    seconds: float
    read: Read | None
    collected: tuple[str, ...]
    hanging: frozenset[str]

    def verdict(self) -> Verdict:
        """Run everything cold; only where that gains and loses nothing, look for what else could explain it."""
        canary = Canary.for_tests(self.baseline.targets or self.baseline.guards, self.patch.digest)
        ids = (*self.baseline.targets, *self.baseline.guards, *canary.ids)
        report = self._try(self.patch, ids, canary.overlay)
        whole = report.end is End.COMPLETE or (report.end is End.TIMEOUT and bool(self.hanging))
        passing = report.passing()
        fixed = tuple(test for test in self.baseline.targets if whole and test in passing)
        lost, unsteady = self._steady(self._lost(report, whole), report)
        gained = bool(fixed) or not self.baseline.targets
        checks = {
            "cold": PASSED if whole and gained and not lost else FAILED,
            "canaries": PASSED if canary.sings(report) else FAILED,
        }
        unperturbed: tuple[str, ...] = ()
        reasons: dict[str, str] = {}
        if fixed and not lost and self._unheard(canary, report):
            checks["canaries"], reasons["canaries"] = IMPOSSIBLE, "the project collects no test of ours"
        if fixed and FAILED not in checks.values():
            found = self._look_deeper(fixed, checks, reasons)
            fixed = tuple(test for test in fixed if test not in found.chance)
            unsteady, unperturbed = (*unsteady, *found.chance), found.unperturbed
            if FAILED not in checks.values():
                self._shuffled(fixed, unsteady, report, found.failures, checks, reasons)
        if checks["canaries"] == IMPOSSIBLE and PASSED not in (checks.get("disguised"), checks.get("perturbed")):
            checks["canaries"] = FAILED  # then nothing at all has shown that a failure would be seen
        why = _why(report, fixed, (lost, unsteady), self.baseline, checks, whole=whole)
        return Verdict(fixed, lost, checks, unsteady, why, unperturbed, report.unknown, reasons)

    def _unheard(self, canary: Canary, report: Report) -> bool:
        """Whether the canaries are silent without the patch as well, so that their silence says nothing of it."""
        return canary.silent(report) and canary.silent(self._try(Patch(), canary.ids, canary.overlay))

    def _lost(self, report: Report, whole: bool) -> tuple[str, ...]:
        """Return the guards that do not pass; of a run that broke off, only the one that it broke off in."""
        if not whole:
            return tuple(test for test in self.baseline.guards if test == report.hung)
        passing = report.passing()
        return tuple(test for test in self.baseline.guards if test not in passing)

    def _look_deeper(self, fixed: tuple[str, ...], checks: dict[str, str], reasons: dict[str, str]) -> _Deeper:
        """Revert, disguise and perturb, in this order; the first check that fails is the last that is made."""
        read = self.read or (lambda path: None)
        known = self.collected or (*self.baseline.targets, *self.baseline.guards)
        masked = disguise(fixed, known, read, salt=self.patch.digest)
        found = self._reverted(fixed, masked, checks)
        left = tuple(test for test in fixed if test not in found.chance)
        if FAILED not in checks.values():
            self._disguised(left, masked, found.sound, checks)
        if FAILED in checks.values():
            return found
        plan = perturb(left, read, renumber=bool(self.collected))
        self._perturbed(plan, checks)
        for name, why in _IMPOSSIBLE.items():
            if checks[name] == IMPOSSIBLE:
                reasons[name] = why
        return replace(found, unperturbed=plan.impossible)

    def _reverted(self, fixed: tuple[str, ...], masked: Disguise, checks: dict[str, str]) -> _Deeper:
        """Without the patch the targets must fail again; those that pass now prove nothing either way.

        Disguised targets are fit for use that fail without the patch as well, in a file whose guards pass in disguise.
        """
        steady = masked.of(self.baseline.guards)
        ids = (*fixed, *masked.of(fixed), *steady, *masked.canaries)
        report = self._try(Patch(), ids, masked.overlay)
        passing = report.passing()
        chance = tuple(test for test in fixed if test in passing)
        checks["reverted"] = PASSED if report.end is not End.LOST and len(chance) < len(fixed) else FAILED
        spoilt = {test.split("::")[0] for test in steady if test not in passing}
        found = report.select(masked.of(fixed))
        usual = (Status.FAILED, Status.ERROR, Status.TIMEOUT)
        fit = frozenset(t for t, o in found.items() if o.status in usual and t.split("::")[0] not in spoilt)
        loud = frozenset(t for t, o in report.select(masked.canaries).items() if o.status is Status.FAILED)
        return _Deeper(chance, fit | loud, failures={t: signature_of(o) for t, o in report.select(fixed).items()})

    def _shuffled(
        self,
        fixed: tuple[str, ...],
        unsteady: tuple[str, ...],
        first: Report,
        failures: Mapping[str, str],
        checks: dict[str, str],
        reasons: dict[str, str],
    ) -> None:
        """Run everything once more with the patch, in another order, where the proof has time for it."""
        if COLD_RUNS * first.seconds > self.seconds:
            checks["shuffled"], why = IMPOSSIBLE, "the proof had no time for another run of the whole suite"
        else:
            wanted = {*fixed, *self.baseline.guards}.difference(unsteady)
            usual = (*self.collected, *self.baseline.targets, *self.baseline.guards)
            order = Order(tuple(dict.fromkeys(test for test in usual if test in wanted)), fixed, failures)
            checks["shuffled"], why = order.check(self.patch, self._in_order)
        if why:
            reasons["shuffled"] = why

    def _in_order(self, patch: Patch, ids: Iterable[str]) -> Report:
        return self._try(patch, ids, shuffled=True)

    def _disguised(
        self, fixed: tuple[str, ...], masked: Disguise, sound: frozenset[str], checks: dict[str, str]
    ) -> None:
        """Once more green, cold: under other names where that is sound, else under their own."""
        hidden = tuple(test for test in masked.of(fixed) if test in sound)
        plain = tuple(test for test in fixed if masked.ids.get(test) not in sound)
        places = {test.split("::")[0] for test in hidden}
        canaries = tuple(c for c in masked.canaries if c in sound and c.split("::")[0] in places)
        passing, steady = frozenset[str](), True
        for ids, overlay in ((plain, {}), ((*hidden, *canaries), masked.overlay if hidden else {})):
            if ids:
                report = self._try(self.patch, ids, overlay)
                passing |= report.passing()
                steady = steady and report.end in (End.COMPLETE, End.TIMEOUT)
                red = all(o.status is Status.FAILED for o in report.select(c for c in canaries if c in ids).values())
                checks["canaries"] = checks["canaries"] if red else FAILED
        if not steady or frozenset(plain) - passing:
            checks["cold"] = FAILED
        checks["disguised"] = IMPOSSIBLE if not hidden else FAILED if frozenset(hidden) - passing else PASSED

    def _perturbed(self, plan: Perturbed, checks: dict[str, str]) -> None:
        """With other expectations each target must fail, and be seen to."""
        if not plan.targets:
            checks["perturbed"] = IMPOSSIBLE
            return
        report = self._try(self.patch, plan.ids(), plan.overlay)
        statuses = [self._status(report, plan, test) for test in plan.targets]
        failed = (Status.FAILED, Status.ERROR)
        if Status.PASSED in statuses or report.end in (End.VOID, End.DIED, End.LOST):
            checks["perturbed"] = FAILED
        elif all(status in failed for status in statuses):
            checks["perturbed"] = PASSED
        else:
            checks["perturbed"] = self._unseen(plan)

    def _unseen(self, plan: Perturbed) -> str:
        """Some target was not seen to fail: our doing if it is not seen without the patch either."""
        report = self._try(Patch(), plan.ids(), plan.overlay)
        failed = (Status.FAILED, Status.ERROR)
        seen = all(self._status(report, plan, test) in failed for test in plan.targets)
        return FAILED if seen else IMPOSSIBLE

    def _status(self, report: Report, plan: Perturbed, test: str) -> Status:
        name = plan.now(test, self.collected, report.collected)
        return report.select([name])[name].status if name is not None else Status.MISSING

    def _try(
        self,
        patch: Patch,
        ids: Iterable[str],
        overlay: Mapping[str, bytes] | None = None,
        *,
        shuffled: bool = False,
    ) -> Report:
        """Run cold in a fresh box; go on after a hang only where that is known of the test."""
        wanted = tuple(ids)
        limits = self.clocks.limits(wanted, self.seconds)
        trial = Trial(patch, wanted, limits, overlay=overlay or {}, cold=True, shuffled=shuffled)
        if not patch.changes:
            return run_all(self.run, trial)
        return run_all(self.run, trial) if self.hanging else self.run(trial)

    def _steady(self, lost: tuple[str, ...], first: Report) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Tell guards that the patch loses from those that are lost by chance.

        One that fails without the patch as well proves nothing; nor does one that passes in a second run of all.
        """
        if not lost or first.end is not End.COMPLETE:
            return lost, ()  # it hung, and of that it was sure
        passing = self._try(Patch(), lost).passing()
        really = tuple(test for test in lost if test in passing)
        if really and len(really) <= _FEW:
            again = self._try(self.patch, (*self.baseline.targets, *self.baseline.guards)).passing()
            really = tuple(test for test in really if test not in again)
        return really, tuple(test for test in lost if test not in really)


def _why(
    report: Report,
    fixed: tuple[str, ...],
    others: tuple[tuple[str, ...], tuple[str, ...]],
    baseline: Baseline,
    checks: Mapping[str, str],
    *,
    whole: bool,
) -> str:
    lost, unsteady = others
    if not whole:
        return f"the cold run did not come to its end ({report.end}{': ' + report.why if report.why else ''})"
    if lost:
        return f"{len(lost)} tests that passed before fail with it: {', '.join(lost[:3])}"
    failed = [MEANING[name] for name, value in checks.items() if value == FAILED and (fixed or name != "cold")]
    if failed:
        return "; ".join(failed)
    still = [test for test in baseline.targets if test not in fixed and test not in unsteady]
    if still:
        return f"{len(still)} of {len(baseline.targets)} targets still fail in a cold run: {', '.join(still[:3])}"
    return ""
