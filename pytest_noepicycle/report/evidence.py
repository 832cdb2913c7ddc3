"""The evidence of ``noepi verify``: a table for people, one JSON document for programs."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from pytest_noepicycle.domain.evidence import Evidence
from pytest_noepicycle.report import wording
from pytest_noepicycle.report.terminal import Paper
from pytest_noepicycle.report.text import harmless

_MOST = 12  # tests or flags of a kind on the screen; the JSON document has all of them


def as_json(evidence: Evidence) -> dict[str, Any]:
    """Return the document that ``--json`` prints; see the README for its fields."""
    return {
        "schema_version": 1,
        "verdict": str(evidence.ruling),
        "eligible": evidence.eligible,
        "solved": evidence.solved,
        "score": round(evidence.score, 4),
        "baseline_score": 0.0,
        "why": harmless(evidence.why),
        "refused": [{"path": harmless(r.path), "rule": r.rule, "why": harmless(r.why)} for r in evidence.refused],
        "tests": {
            "fixed": list(evidence.fixed),
            "still_failing": list(evidence.still_failing),
            "broken": list(evidence.broken),
            "guards": evidence.guards,
            "unsteady": list(evidence.unsteady),
            "left_out": dict(evidence.left_out),
            "unperturbed": list(evidence.unperturbed),
            "unknown": [harmless(name, longest=300) for name in evidence.unknown[:100]],
            "changed": list(evidence.changed_tests),
        },
        "checks": dict(evidence.checks),
        "flags": [
            {"path": harmless(f.path), "line": f.line, "flag": f.flag, "why": harmless(f.why)} for f in evidence.flags
        ],
        "notes": [harmless(note) for note in evidence.notes],
        "sandbox": evidence.sandbox,
        "duration_s": evidence.seconds,
    }


def render(evidence: Evidence, paper: Paper) -> None:
    """Write the ruling, what each check showed, the tests, and what a reviewer should look at."""
    paper.sep("=", "noepi verify", bold=True)
    good = evidence.good
    paper.line(f"{evidence.ruling}: {evidence.ruling.sentence}", bold=True, green=good, red=not good)
    if evidence.why:
        paper.line(f"  {harmless(evidence.why)}")
    for refusal in evidence.refused:
        paper.line(f"  refused    {harmless(refusal.path)}: {harmless(refusal.why)} [{refusal.rule}]", red=True)
    if not evidence.refused:
        _checks(evidence, paper)
        _tests(evidence, paper)
    _review(evidence, paper)
    paper.line(f"score {evidence.score:.2f} (0.00 before); sandbox: {evidence.sandbox}; {evidence.seconds:.1f} s")


def _checks(evidence: Evidence, paper: Paper) -> None:
    for name, value in evidence.checks.items():
        colours = {"green": value == "passed", "red": value == "failed", "yellow": value == "impossible"}
        paper.line(f"  {name:<10} {value:<11} {wording.CHECKS.get(name, '')}", **colours)


def _tests(evidence: Evidence, paper: Paper) -> None:
    _listed("mended", evidence.fixed, paper, green=True)
    _listed("still fails", evidence.still_failing, paper, yellow=True)
    _listed("broken", evidence.broken, paper, red=True)
    _listed("unsteady", evidence.unsteady, paper, yellow=True)
    _listed("unknown", evidence.unknown, paper, yellow=True)
    _listed("not perturbed", evidence.unperturbed, paper, yellow=True)
    _listed("left out", [f"{test} ({why})" for test, why in evidence.left_out.items()], paper, yellow=True)
    kept = evidence.guards - len(evidence.broken) - len(evidence.unsteady)
    paper.line(f"  {kept} of {evidence.guards} tests that passed before pass with it")


def _listed(word: str, tests: Iterable[str], paper: Paper, **markup: bool) -> None:
    every = list(tests)
    for test in every[:_MOST]:
        paper.line(f"  {word:<13} {harmless(test, longest=300)}", **markup)
    if len(every) > _MOST:
        paper.line(f"  {word:<13} … and {len(every) - _MOST} more", **markup)


def _review(evidence: Evidence, paper: Paper) -> None:
    """Say what a person should look at: changed tests were not used, and no flag decides anything."""
    for path in evidence.changed_tests:
        paper.line(f"  changed test  {harmless(path)} (not used: the base's tests judge)", yellow=True)
    for note in evidence.notes:
        paper.line(f"  note          {harmless(note)}", yellow=True)
    for flag in evidence.flags[:_MOST]:
        paper.line(
            f"  look at       {harmless(flag.path)}:{flag.line}: {harmless(flag.why)} [{flag.flag}]", yellow=True
        )
    if len(evidence.flags) > _MOST:
        paper.line(f"  look at       … and {len(evidence.flags) - _MOST} more lines", yellow=True)
