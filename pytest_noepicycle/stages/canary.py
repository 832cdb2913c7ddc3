"""Two tests of our own beside the project's: whether a report can be believed at all."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import PurePosixPath

from pytest_noepicycle.domain.trial import Report, Status
from pytest_noepicycle.stages.alike import function_alike, function_of


@dataclass(frozen=True, slots=True)
class Canary:
    """Two tests of our own in the same session: one must fail and one must pass, or no report is believed."""

    path: str
    fails: str = "test_must_fail"
    passes: str = "test_must_pass"

    @classmethod
    def for_tests(cls, tests: tuple[str, ...], salt: str = "") -> Canary:
        """Return a canary beside the first test, in a file that nothing else is called, collected as that test is."""
        folder = PurePosixPath(tests[0].split("::")[0]).parent if tests else PurePosixPath()
        name = hashlib.sha256("|".join([salt, *tests]).encode()).hexdigest()[:12]
        model = function_of(tests)
        names = (function_alike(model, word) for word in ("must_fail", "must_pass"))
        return cls(str(folder / f"test_noepi_{name}.py"), *names)

    @property
    def ids(self) -> tuple[str, str]:
        """Return the ids of the test that must fail and of the one that must pass."""
        return f"{self.path}::{self.fails}", f"{self.path}::{self.passes}"

    @property
    def overlay(self) -> dict[str, bytes]:
        """Return the file to lay over the tree."""
        text = f"def {self.fails}():\n    assert 1 == 2\n\n\ndef {self.passes}():\n    assert 1 == 1\n"
        return {self.path: text.encode()}

    def sings(self, report: Report) -> bool:
        """Whether both ended as they must."""
        outcomes = report.select(self.ids)
        fail, ok = (outcomes[test] for test in self.ids)
        return fail.status is Status.FAILED and ok.passed
