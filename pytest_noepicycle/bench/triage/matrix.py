"""What was said of each failure against what it is: a confusion matrix, and the wrong ones by name."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from pytest_noepicycle.bench.outcomes import aligned
from pytest_noepicycle.bench.triage.specimen import Kind

MISSED = "nothing"  # said of a failure that the run does not name


@dataclass(frozen=True, slots=True)
class Said:
    """One failing test: its ``true`` kind, the kind that was ``said``, and the hint that came with it."""

    test: str
    true: Kind
    said: str
    hint: str = ""

    @property
    def right(self) -> bool:
        """Whether what was said is true."""
        return self.said == self.true

    @property
    def unforgivable(self) -> bool:
        """Whether a fault of the code was excused, or not named at all."""
        excused = self.said == MISSED or (self.said in list(Kind) and Kind(self.said).excuses)
        return self.true.of_the_code and excused


def as_text(said: Sequence[Said]) -> str:
    """Return the matrix, one row for each true kind, and below it what is wrong and whether the rule holds."""
    counts = Counter((one.true.value, one.said) for one in said)
    columns = [kind.value for kind in Kind] + [MISSED] * any(one.said == MISSED for one in said)
    rows = [[kind.value, *(str(counts[kind.value, column] or ".") for column in columns)] for kind in Kind]
    parts = [aligned([["true \\ said", *columns], *rows]), _summary(said)]
    wrong = [[one.test, one.true.value, f"said {one.said}", one.hint[:100]] for one in said if not one.right]
    parts += [aligned(wrong)] if wrong else []
    excused = [one.test for one in said if one.unforgivable]
    verdict = ", ".join(excused) if excused else "none"
    return "\n\n".join([*parts, f"faults of the code that were excused: {verdict}"])


def _summary(said: Sequence[Said]) -> str:
    right = sum(one.right for one in said)
    return f"{right} of {len(said)} failures are called what they are"
