"""A run in one value for every reader: what result.json holds, made of the result and what it cost."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pytest_noepicycle.codec import encode
from pytest_noepicycle.domain.budget import Ledger
from pytest_noepicycle.domain.run import RunResult


@dataclass(frozen=True, slots=True)
class Summary:
    """A finished run with its surroundings; ``sandbox`` and ``base`` are facts for the record."""

    result: RunResult
    ledger: Ledger
    directory: str
    base_commit: str
    dirty: bool
    fingerprint: str
    sandbox: Mapping[str, Any]


def as_json(summary: Summary) -> dict[str, Any]:
    """Return the content of ``result.json`` (``schemas/result.schema.json``)."""
    result, ledger = summary.result, summary.ledger
    usage = ledger.usage
    return {
        "schema_version": 1,
        "run_id": result.run_id,
        "stop_reason": str(result.stop_reason),
        "stop_sentence": result.stop_reason.sentence,
        "why": result.why,
        "solved": result.solved,
        "verified": result.verified,
        "applied": result.applied,
        "score": result.score,
        "baseline_score": 0.0,
        "iterations": len(result.attempts),
        "tests": _tests(result),
        "checks": dict(result.checks),
        "choice": None if result.choice is None else {**encode(result.choice), "word": result.choice.word},
        "base_commit": summary.base_commit,
        "dirty": summary.dirty,
        "fingerprint": summary.fingerprint,
        "skipped_rungs": [{"rung": skipped.rung, "why": skipped.why} for skipped in result.skipped],
        "tokens": {
            "spent": ledger.spent,
            "cap": ledger.cap,
            "input": usage.input,
            "output": usage.output,
            "cache_read": usage.cache_read,
            "cache_write": usage.cache_write,
        },
        "cost_usd": ledger.spent_usd,
        "rungs": list(dict.fromkeys(attempt.rung for attempt in result.attempts)),
        "patch": _patch(result),
        "sandbox": dict(summary.sandbox),
        "warnings": list(result.warnings),
        **({"estimate": encode(result.estimate)} if result.estimate else {}),
        "duration_s": round(result.seconds, 3),
    }


def _tests(result: RunResult) -> dict[str, Any]:
    mended = set(result.fixed)
    by_kind: dict[str, list[str]] = {"flaky": [], "order-dependent": [], "environment": [], "contradiction": []}
    for finding in result.findings:
        by_kind.setdefault(finding.kind, []).append(finding.test)
    return {
        "targets": list(result.baseline.targets),
        "fixed": list(result.fixed),
        "still_failing": [test for test in result.baseline.targets if test not in mended],
        "broken": list(result.broken),
        "flaky": by_kind["flaky"] + by_kind["order-dependent"],
        "environment": by_kind["environment"],
        "contradicting": by_kind["contradiction"],
        "findings": [encode(finding) for finding in result.findings],
        "guards": len(result.baseline.guards),
        "unchecked": list(result.baseline.unchecked),
        "held_out": list(result.baseline.held),
    }


def _patch(result: RunResult) -> dict[str, Any] | None:
    if not result.patch.changes:
        return None
    added, removed = result.patch.counts()
    return {"file": "best.patch", "paths": list(result.patch.paths), "added": added, "removed": removed}
