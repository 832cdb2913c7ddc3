"""From a candidate to its evidence: the guard first, then the proof of what it lets through."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from pytest_noepicycle.domain.edit_list import Candidate
from pytest_noepicycle.domain.evidence import Evidence, Ruling
from pytest_noepicycle.domain.guard import judge
from pytest_noepicycle.domain.patch import Patch
from pytest_noepicycle.domain.score import Baseline
from pytest_noepicycle.domain.territory import Refusal, Territory
from pytest_noepicycle.stages.checks import IMPOSSIBLE
from pytest_noepicycle.stages.flags import flags
from pytest_noepicycle.stages.verify import Verdict

CHECKS = ("canaries", "perturbed", "reverted", "cold", "disguised", "shuffled")
_TESTS = "test-file"


@dataclass(frozen=True, slots=True)
class Parts:
    """A candidate taken apart: the product's ``patch``, the tests it changes, and what no patch may do."""

    patch: Patch
    tests: tuple[Refusal, ...]
    refused: tuple[Refusal, ...]


def take_apart(candidate: Candidate, territory: Territory) -> Parts:
    """Set the changed tests aside, and name every edit that the guard refuses."""
    found = judge(candidate.patch, territory)
    tests = tuple(refusal for refusal in found if refusal.rule == _TESTS)
    aside = {refusal.path for refusal in tests}
    patch = Patch.of(change for change in candidate.patch.changes if change.path not in aside)
    refused = (*candidate.refused, *(refusal for refusal in found if refusal.rule != _TESTS))
    return Parts(patch, tests, refused)


def evidence(
    candidate: Candidate, territory: Territory, baseline: Baseline, prove: Callable[[Patch], Verdict]
) -> Evidence:
    """Judge a candidate; ``prove`` is called for a patch that the guard lets through, and for no other."""
    parts = take_apart(candidate, territory)
    start = Evidence(
        Ruling.REFUTED,
        eligible=False,
        score=0.0,
        still_failing=baseline.targets,
        guards=len(baseline.guards),
        checks=dict.fromkeys(CHECKS, IMPOSSIBLE),
        changed_tests=tuple(refusal.path for refusal in parts.tests),
        flags=flags(candidate.patch, territory),
        notes=candidate.notes,
    )
    if parts.refused:
        return replace(start, refused=parts.refused, why=_refusals(parts.refused))
    if not parts.patch.changes:
        what = "the patch changes nothing but tests" if parts.tests else "the patch changes nothing"
        return replace(start, refused=parts.tests, why=what)
    return _of_verdict(start, parts, baseline, prove(parts.patch))


def _refusals(refused: Iterable[Refusal]) -> str:
    return "; ".join(f"{refusal.path}: {refusal.why} ({refusal.rule})" for refusal in refused)


def _of_verdict(start: Evidence, parts: Parts, baseline: Baseline, verdict: Verdict) -> Evidence:
    steady = tuple(test for test in baseline.targets if test not in verdict.unsteady)
    still = tuple(test for test in steady if test not in verdict.fixed)
    seen = replace(
        start,
        fixed=verdict.fixed,
        still_failing=still,
        broken=verdict.lost,
        unsteady=verdict.unsteady,
        unperturbed=verdict.unperturbed,
        unknown=verdict.unknown,
        checks={name: verdict.checks.get(name, IMPOSSIBLE) for name in CHECKS},
        notes=(*start.notes, *(f"{name} could not be made: {why}" for name, why in verdict.reasons.items())),
        why=verdict.why,
    )
    if not baseline.targets:
        sound = not verdict.lost and "failed" not in verdict.checks.values()
        return replace(seen, ruling=Ruling.NOTHING_TO_PROVE, eligible=sound)
    bent = _bent(parts.tests, still)
    if bent:
        why = "it changes the tests of what it does not mend"
        return replace(seen, refused=bent, why=f"{why}: {', '.join(refusal.path for refusal in bent)}")
    if not verdict.holds:
        return seen
    score = len(verdict.fixed) / len(steady)
    return replace(seen, ruling=Ruling.PARTIAL if still else Ruling.PROVED, eligible=True, score=score)


def _bent(tests: tuple[Refusal, ...], still: tuple[str, ...]) -> tuple[Refusal, ...]:
    """Return the changed files of tests that fail all the same: there the change stands in for a fix."""
    files = {test.split("::")[0] for test in still}
    return tuple(refusal for refusal in tests if refusal.path in files)
