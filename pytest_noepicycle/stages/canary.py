"""Two tests of our own beside the project's: whether a report can be believed at all."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import PurePosixPath

from pytest_noepicycle.domain.trial import Outcome, Report, Status
from pytest_noepicycle.stages.alike import function_alike, function_of

_MOST = 4


@dataclass(frozen=True, slots=True)
class Canary:
    """Two tests of our own in the same session: one must fail and one must pass, or no report is believed."""

    path: str
    fails: str = "test_must_fail"
    passes: str = "test_must_pass"
    endings: tuple[str, ...] = ("",)

    @classmethod
    def for_tests(cls, tests: tuple[str, ...], salt: str = "") -> Canary:
        """Return a canary beside the first test, in a file that nothing else is called, collected as that test is."""
        folder = PurePosixPath(tests[0].split("::")[0]).parent if tests else PurePosixPath()
        name = hashlib.sha256("|".join([salt, *tests]).encode()).hexdigest()[:12]
        model = function_of(tests)
        fails, passes = (function_alike(model, word) for word in ("must_fail", "must_pass"))
        return cls(str(folder / f"test_noepi_{name}.py"), fails, passes, _endings(tests))

    @property
    def ids(self) -> tuple[str, ...]:
        """Return the ids that the test which must fail and the one which must pass may have."""
        return (*self._ids(self.fails), *self._ids(self.passes))

    def _ids(self, name: str) -> tuple[str, ...]:
        return tuple(f"{self.path}::{name}{ending}" for ending in self.endings)

    @property
    def overlay(self) -> dict[str, bytes]:
        """Return the file to lay over the tree."""
        text = f"def {self.fails}():\n    assert 1 == 2\n\n\ndef {self.passes}():\n    assert 1 == 1\n"
        return {self.path: text.encode()}

    def sings(self, report: Report) -> bool:
        """Whether both ended as they must."""
        fail, ok = self._seen(report, self.fails), self._seen(report, self.passes)
        failed = bool(fail) and all(outcome.status is Status.FAILED for outcome in fail)
        return failed and bool(ok) and all(outcome.passed for outcome in ok)

    def silent(self, report: Report) -> bool:
        """Whether neither was run: the project collects no test of that form, or none of ours."""
        return not self._seen(report, self.fails) and not self._seen(report, self.passes)

    def _seen(self, report: Report, name: str) -> list[Outcome]:
        outcomes = report.select(self._ids(name)).values()
        return [outcome for outcome in outcomes if outcome.status is not Status.MISSING]


def _endings(tests: tuple[str, ...]) -> tuple[str, ...]:
    """Return what may stand behind the name of any test: nothing, or the parameters that a plugin gives to each.

    Of ``test_a[red-1-2]`` the last parameters alone may be the plugin's, as where every test is to be repeated.
    """
    given = [test.partition("[")[2].rstrip("]").split("-") for test in tests[:1] if test.endswith("]")]
    tails = ("-".join(parts[start:]) for parts in given for start in range(max(0, len(parts) - _MOST), len(parts)))
    return ("", *(f"[{tail}]" for tail in tails))
