"""The tests in another order: what they need of each other, and what a patch remembers from one to the next."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from pytest_noepicycle.domain.patch import Patch
from pytest_noepicycle.domain.trial import End, Outcome, Report
from pytest_noepicycle.stages.checks import FAILED, IMPOSSIBLE, PASSED

Run = Callable[[Patch, Sequence[str]], Report]
"""Runs tests cold in the order given, with a patch in place."""


@dataclass(frozen=True, slots=True)
class Order:
    """A suite to be run in another order. ``tests`` stand as pytest collects them, ``mended`` are those to look at.

    ``failures`` are the signatures with which the mended ones fail without the patch, each run as it usually is.
    """

    tests: tuple[str, ...]
    mended: tuple[str, ...]
    failures: Mapping[str, str]

    def check(self, patch: Patch, run: Run) -> tuple[str, str]:
        """Return passed, failed or impossible, and of the last the reason.

        One run where all is well. A test that fails is held against the patch only if nothing fails in that order
        without it, it fails there as it always did, and it fails in a second run as well.
        """
        order = shuffled(self.tests, self.mended, seed=patch.digest)
        if order == self.tests:
            return IMPOSSIBLE, "a single test has no other order"
        report = run(patch, order)
        red = _red(report, order)
        if not red:
            return _unless_put_back(report, self.tests)
        if report.end is End.TIMEOUT and report.hung is None:
            return IMPOSSIBLE, "the time was over before every test had run in another order"
        why = self._why_not_its_doing(red, run(Patch(), order), order)
        if why:
            return IMPOSSIBLE, why
        return (FAILED, "") if red & _red(run(patch, order), order) else (PASSED, "")

    def _why_not_its_doing(self, red: frozenset[str], base: Report, order: Sequence[str]) -> str:
        """Return how the suite itself depends on the order, or nothing."""
        if base.end in (End.DIED, End.VOID, End.LOST):
            return f"the suite does not come to its end in another order without the patch either ({base.end})"
        mended = frozenset(self.mended)
        spoilt = sorted(_red(base, order) - mended)
        if spoilt:
            return f"{len(spoilt)} tests fail in another order without the patch as well: {', '.join(spoilt[:3])}"
        changed = sorted(test for test in red & mended if self._fails_otherwise(test, base))
        return f"in another order {', '.join(changed[:3])} fails otherwise without the patch" if changed else ""

    def _fails_otherwise(self, test: str, base: Report) -> bool:
        return signature_of(base.select([test])[test]) != self.failures.get(test, "")


def signature_of(outcome: Outcome) -> str:
    """Return what tells one way to fail from another."""
    return outcome.failure.signature if outcome.failure else str(outcome.status)


def shuffled(tests: Iterable[str], mended: Iterable[str], *, seed: str) -> tuple[str, ...]:
    """Return ids in an order that ``seed`` chooses: files, in them classes, in those tests, each kept together.

    Where chance leaves the ``mended`` tests as they stood to each other, everything is turned round instead: what
    one of them leaves behind for the next is what this is to show.
    """
    before = tuple(dict.fromkeys(tests))
    after = tuple(_mixed(before, 0, random.Random(seed)))
    watched = frozenset(mended)
    kept = [test for test in before if test in watched]
    if after == before or (len(kept) > 1 and [test for test in after if test in watched] == kept):
        return before[::-1]
    return after


def _mixed(tests: Sequence[str], depth: int, dice: random.Random) -> list[str]:
    blocks: dict[str, list[str]] = {}
    for test in tests:
        blocks.setdefault(_block(test, depth), []).append(test)
    chosen = list(blocks.values())
    dice.shuffle(chosen)
    return [test for block in chosen for test in (block if len(block) == 1 else _mixed(block, depth + 1, dice))]


def _block(test: str, depth: int) -> str:
    """Return the file, class or inner class that holds a test at that depth; below them, the test itself."""
    holders = test.partition("[")[0].split("::")[:-1] or [test]
    return "::".join(holders[: depth + 1]) if depth < len(holders) else test


def _red(report: Report, tests: Iterable[str]) -> frozenset[str]:
    return frozenset(tests) - report.passing()


def _unless_put_back(report: Report, tests: Sequence[str]) -> tuple[str, str]:
    """Say so where a plugin or conftest of the project has restored the usual order."""
    ran = [test for test in report.collected if test in frozenset(tests)]
    usual = [test for test in tests if test in frozenset(ran)]
    if len(ran) > 1 and ran == usual:
        return IMPOSSIBLE, "the project puts its tests in an order of its own"
    return PASSED, ""
