"""From a candidate to evidence: the guard decides what is proved at all, the verdict decides the rest."""

from __future__ import annotations

import pytest

from pytest_noepicycle.domain.edit_list import Candidate
from pytest_noepicycle.domain.evidence import Evidence, Ruling
from pytest_noepicycle.domain.patch import FileChange, Patch
from pytest_noepicycle.domain.score import Baseline
from pytest_noepicycle.domain.territory import Refusal, Territory
from pytest_noepicycle.stages.judgement import evidence
from pytest_noepicycle.stages.verify import Verdict

ONE, TWO, KEPT = "tests/test_m.py::one", "tests/test_m.py::two", "tests/test_m.py::kept"
LAND = Territory(frozenset({"m.py", "tests/test_m.py", "conftest.py"}))
GOOD = {"cold": "passed", "canaries": "passed", "reverted": "passed", "disguised": "impossible", "perturbed": "passed"}
PRODUCT = FileChange("m.py", b"x = 1\n", b"x = 2\n")
TEST = FileChange("tests/test_m.py", b"x = 1\n", b"x = 2\n")


def judged(
    *changes: FileChange, verdict: Verdict | None = None, targets: tuple[str, ...] = (ONE, TWO), refused=()
) -> Evidence:
    """Judge a candidate; a proof that nobody expects fails the test."""

    def prove(patch: Patch) -> Verdict:
        assert verdict is not None, "nothing was to be run"
        assert patch == Patch.of([PRODUCT])
        return verdict

    return evidence(Candidate(Patch.of(changes), refused), LAND, Baseline(targets, (KEPT,)), prove)


@pytest.mark.parametrize(
    ("verdict", "ruling", "eligible", "score"),
    [
        (Verdict((ONE, TWO), (), GOOD), Ruling.PROVED, True, 1.0),
        (Verdict((ONE,), (), GOOD), Ruling.PARTIAL, True, 0.5),
        (Verdict((ONE,), (), GOOD, (TWO,)), Ruling.PROVED, True, 1.0),
        (Verdict((), (), {**GOOD, "cold": "failed"}), Ruling.REFUTED, False, 0.0),
        (Verdict((ONE, TWO), (KEPT,), GOOD), Ruling.REFUTED, False, 0.0),
        (Verdict((ONE, TWO), (), {**GOOD, "perturbed": "failed"}), Ruling.REFUTED, False, 0.0),
        (Verdict((ONE, TWO), (), {**GOOD, "perturbed": "impossible"}), Ruling.PROVED, True, 1.0),
    ],
    ids=["all", "half", "all that are steady", "nothing", "a guard lost", "a check failed", "a check impossible"],
)
def test_a_ruling_follows_from_the_verdict(verdict: Verdict, ruling: Ruling, eligible: bool, score: float):
    """Whatever is not eligible scores as the baseline."""
    found = judged(PRODUCT, verdict=verdict)
    assert (found.ruling, found.eligible, found.score) == (ruling, eligible, score)
    assert found.solved == (ruling is Ruling.PROVED) == found.good


@pytest.mark.parametrize(("lost", "good"), [((), True), ((KEPT,), False)])
def test_where_nothing_failed_only_the_guards_count(lost: tuple[str, ...], good: bool):
    """There is nothing to prove, and a gate still closes on a regression."""
    found = judged(PRODUCT, verdict=Verdict((), lost, {"cold": "passed"}), targets=())
    assert (found.ruling, found.good) == (Ruling.NOTHING_TO_PROVE, good)


def test_one_refused_edit_refuses_all_and_nothing_runs():
    """The rule is named, be it the guard's or of something that no patch can hold."""
    conftest = FileChange("conftest.py", None, b"x = 1\n")
    found = judged(PRODUCT, conftest, refused=(Refusal("l", "symlink", "a link"),))
    assert [refusal.rule for refusal in found.refused] == ["symlink", "configuration"]
    assert not found.eligible


def test_changed_tests_are_set_aside_and_the_rest_is_proved():
    """The tests of the base judge the product's part."""
    found = judged(PRODUCT, TEST, verdict=Verdict((ONE, TWO), (), GOOD))
    assert found.ruling is Ruling.PROVED
    assert found.changed_tests == ("tests/test_m.py",)
    assert found.refused == ()


def test_a_change_to_the_tests_of_what_still_fails_is_refused():
    """There the change of the test would have been the fix."""
    found = judged(PRODUCT, TEST, verdict=Verdict((ONE,), (), GOOD))
    assert not found.eligible
    assert [refusal.path for refusal in found.refused] == ["tests/test_m.py"]


@pytest.mark.parametrize("changes", [(), (TEST,)], ids=["nothing", "tests alone"])
def test_a_patch_without_a_product_part_gains_nothing(changes: tuple[FileChange, ...]):
    """It is refuted without a run."""
    assert judged(*changes).ruling is Ruling.REFUTED
