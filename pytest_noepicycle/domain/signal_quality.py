"""How much a score can tell: few tests and yes-or-no scores say little, and the thresholds take account of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from pytest_noepicycle.domain.settings import Thresholds

FEW_TESTS = 5


def is_binary(scores: Sequence[float]) -> bool:
    """Whether all that was seen so far, twice at least, is 0.0 or 1.0."""
    return len(scores) > 1 and set(scores) <= {0.0, 1.0}


def widened(thresholds: Thresholds) -> Thresholds:
    """Return the thresholds for a binary score: twice as many attempts before a plateau is seen."""
    return replace(thresholds, plateau_window=2 * thresholds.plateau_window)


def binary_warning(thresholds: Thresholds) -> str:
    """Return what is said when the window is widened."""
    return (
        "⚠ noepicycle: Binary scoring signal detected (possible low test coverage). "
        f"Widening plateau_window from {thresholds.plateau_window} to {widened(thresholds).plateau_window} "
        "for more reliable convergence detection. Consider adding more tests or using "
        'score_fn="llm_judge" for a smoother signal.'
    )


def coverage_warning(tests: int) -> str:
    """Return what is said of a small number of tests."""
    only = "Only 1 test judges" if tests == 1 else f"Only {tests} tests judge"
    return (
        f"⚠ noepicycle: Low test coverage. {only} the solution; convergence detection is most reliable with "
        f"{FEW_TESTS} or more. With fewer, scores are coarse and a solution may pass by chance. Consider adding tests."
    )
