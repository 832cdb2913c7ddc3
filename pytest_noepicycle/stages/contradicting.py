"""Contradicting tests, each with the other one: no code passes both."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from pytest_noepicycle.domain.run import Finding

_NAMED = 3


def paired(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Return the findings about contradictions with the tests that stand against each, named in the hint too."""
    same: dict[str, list[Finding]] = {}
    for finding in findings:
        same.setdefault(finding.hint, []).append(finding)
    return tuple(_beside(finding, group) for group in same.values() for finding in group)


def _beside(finding: Finding, group: list[Finding]) -> Finding:
    others = tuple(other.test for other in group if other.test != finding.test)
    if not others:
        return finding
    more = f" and {len(others) - _NAMED} more" if len(others) > _NAMED else ""
    return replace(finding, hint=f"{finding.hint}: see {', '.join(others[:_NAMED])}{more}", others=others)
