"""Ending: why a run stops where nothing is left that a patch could mend; the weightiest of the findings says it."""

from __future__ import annotations

from collections.abc import Iterable, Sized

from pytest_noepicycle.domain.run import Finding, StopReason
from pytest_noepicycle.stages.triage import NO_TIME

_NAMED = 3  # tests of the company that are named

_BY_KIND = (
    ("contradiction", StopReason.TEST_SUSPECT, ""),
    ("shared-state", StopReason.EXHAUSTED, "what fails only after other tests cannot be mended by a search yet"),
    ("collection", StopReason.TEST_SUSPECT, ""),
    ("environment", StopReason.ENVIRONMENT, ""),
    ("unreproduced", StopReason.ENVIRONMENT, "what failed outside the sandbox could not be seen to fail in it"),
)


def ending(findings: Iterable[Finding]) -> tuple[StopReason, str]:
    """Return the reason and, where its own sentence does not say it all, why; of no findings they pass by chance."""
    found = tuple(findings)
    late = [finding for finding in found if finding.cause == NO_TIME]
    if late:
        return StopReason.TIME_LIMIT, f"{_counted(late)} did not come to run again within the time"
    kinds = {finding.kind for finding in found}
    for kind, stop, why in _BY_KIND:
        if kind in kinds:
            return stop, why
    return StopReason.FLAKY, _by_company(found)


def _by_company(findings: tuple[Finding, ...]) -> str:
    """Say of tests that are swayed by others, by which ones."""
    swayed = [finding for finding in findings if finding.kind == "order-dependent"]
    if not swayed:
        return ""
    others = tuple(dict.fromkeys(other for finding in swayed for other in finding.others))
    named = ", ".join(others[:_NAMED]) + (f" and {len(others) - _NAMED} more" if len(others) > _NAMED else "")
    company = f" ({named})" if others else ""
    fails = "fails" if len(swayed) == 1 else "fail"
    return f"whether {_counted(swayed)} {fails} is decided by which tests run before{company}: mend the tests"


def _counted(findings: Sized) -> str:
    return f"{len(findings)} {'test' if len(findings) == 1 else 'tests'}"
