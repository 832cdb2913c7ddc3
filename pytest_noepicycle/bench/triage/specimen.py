"""A specimen: a small piece of a project whose failure has a known cause, written with values that a seed draws."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from string import Template

_WORDS = ("amber", "birch", "cedar", "delta", "ember", "fjord", "grove", "hazel", "islet", "larch", "maple", "onyx")


class Kind(StrEnum):
    """What a failure is; those up to ``SHARED`` are faults of the code, and must never be taken for another kind."""

    REAL = "real"
    TIMEOUT = "timeout"
    COLLECTION = "collection"
    SHARED = "shared-state"
    FLAKY = "flaky"
    ORDER = "order-dependent"
    ENVIRONMENT = "environment"
    CONTRADICTION = "contradiction"
    UNREPRODUCED = "unreproduced"

    @property
    def of_the_code(self) -> bool:
        """Whether the code is at fault."""
        return self in (Kind.REAL, Kind.TIMEOUT, Kind.COLLECTION, Kind.SHARED)

    @property
    def excuses(self) -> bool:
        """Whether it says that the code is not at fault and nothing is to be mended."""
        return self in (Kind.FLAKY, Kind.ENVIRONMENT, Kind.UNREPRODUCED)


@dataclass(frozen=True, slots=True)
class Specimen:
    """``product`` becomes the module ``<name>.py`` and ``tests`` the file ``test_<name>.py``; ``more`` are other files.

    ``failing`` are the names of the tests that fail for this reason (those that fail by chance need not); in all
    texts ``$a`` and ``$b`` are numbers, ``$word`` and ``$other`` words.
    """

    name: str
    true: Kind
    product: str
    tests: str
    failing: tuple[str, ...] = ("test_it",)
    more: Mapping[str, str] = field(default_factory=dict)

    def files(self, seed: int) -> dict[str, str]:
        """Return the files, by path."""
        values = _drawn(random.Random(f"{seed}:{self.name}"))
        written = {f"{self.name}.py": self.product, f"test_{self.name}.py": self.tests, **self.more}
        return {path: _filled(text, values) for path, text in written.items() if text}

    @property
    def ids(self) -> tuple[str, ...]:
        """Return the ids of what fails; an empty name stands for the whole file of tests."""
        return tuple(f"test_{self.name}.py" + (f"::{test}" if test else "") for test in self.failing)


@dataclass(frozen=True, slots=True)
class Batch:
    """Specimens that live in one project: ``options`` are for its pytest, ``variables`` for its run outside."""

    name: str
    specimens: tuple[Specimen, ...]
    files: Mapping[str, str] = field(default_factory=dict)
    options: tuple[str, ...] = ()
    variables: Mapping[str, str] = field(default_factory=dict)

    def layout(self, seed: int) -> dict[str, str]:
        """Return every file of the project."""
        made = dict(self.files)
        for specimen in self.specimens:
            made.update(specimen.files(seed))
        return made

    @property
    def truth(self) -> dict[str, Kind]:
        """Return what each failing test is, by its id without parameters."""
        return {test: specimen.true for specimen in self.specimens for test in specimen.ids}


def _drawn(chance: random.Random) -> dict[str, str]:
    one, other = chance.sample(_WORDS, 2)
    a, b = sorted(chance.sample(range(3, 90), 2))
    return {"a": str(a), "b": str(b), "word": one, "other": other}


def _filled(text: str, values: Mapping[str, str]) -> str:
    return Template(text).safe_substitute(values)
