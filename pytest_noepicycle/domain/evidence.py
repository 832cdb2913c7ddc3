"""Evidence for or against a patch: what was refused, what each check showed, and what a reviewer should look at."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from pytest_noepicycle.domain.territory import Refusal


class Ruling(StrEnum):
    """The verdict in one word; :attr:`sentence` says it for people."""

    PROVED = "proved"
    PARTIAL = "partial"
    REFUTED = "refuted"
    NOTHING_TO_PROVE = "nothing_to_prove"

    @property
    def sentence(self) -> str:
        """Return what it means."""
        return _SENTENCES[self]


_SENTENCES: Mapping[Ruling, str] = {
    Ruling.PROVED: "every test that failed passes, nothing else broke, and no check speaks against it",
    Ruling.PARTIAL: "some of the tests that failed pass, nothing else broke, and no check speaks against it",
    Ruling.REFUTED: "this patch is not to be trusted, or gains nothing",
    Ruling.NOTHING_TO_PROVE: "no test failed before, so there is nothing that the patch could have mended",
}


@dataclass(frozen=True, slots=True)
class Flag:
    """A line that a reviewer should read, and why; it speaks against nothing by itself. Line 0 is the whole file."""

    path: str
    line: int
    flag: str
    why: str


@dataclass(frozen=True, slots=True)
class Evidence:
    """All that came of a proof. ``changed_tests`` were part of the patch and were not used."""

    ruling: Ruling
    eligible: bool
    score: float
    why: str = ""
    refused: tuple[Refusal, ...] = ()
    fixed: tuple[str, ...] = ()
    still_failing: tuple[str, ...] = ()
    broken: tuple[str, ...] = ()
    guards: int = 0
    unsteady: tuple[str, ...] = ()
    left_out: Mapping[str, str] = field(default_factory=dict)  # failing tests that are no targets, and why
    unperturbed: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()
    checks: Mapping[str, str] = field(default_factory=dict)
    changed_tests: tuple[str, ...] = ()
    flags: tuple[Flag, ...] = ()
    notes: tuple[str, ...] = ()
    sandbox: str = ""
    seconds: float = 0.0

    @property
    def solved(self) -> bool:
        """Whether the patch mends everything and that is proved."""
        return self.ruling is Ruling.PROVED

    @property
    def good(self) -> bool:
        """Whether a gate should let it through."""
        return self.solved or (self.ruling is Ruling.NOTHING_TO_PROVE and self.eligible)
