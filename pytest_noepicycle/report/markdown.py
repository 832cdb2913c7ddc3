"""The run for a reviewer, in Markdown: what failed, what changed, what proves it, what it cost."""

from __future__ import annotations

import re
from collections.abc import Iterable

from pytest_noepicycle.domain.run import Attempt, RunResult
from pytest_noepicycle.report.summary import Summary
from pytest_noepicycle.report.text import fenced, harmless


def render(summary: Summary) -> str:
    """Return ``report.md``."""
    result = summary.result
    parts = [
        _verdict(summary),
        _tests(result),
        _suspects(result),
        _diff(result),
        _evidence(result),
        _attempts(result.attempts),
    ]
    parts += [_cost(summary), _open_points(result)]
    return "\n\n".join(part for part in parts if part) + "\n"


def _verdict(summary: Summary) -> str:
    result = summary.result
    head = f"{len(result.fixed)} of {len(result.baseline.targets)} failing tests mended"
    proof = "proven by a cold run of the whole suite" if result.verified else "not proven"
    title = f"# {head}" if result.baseline.targets else "# Nothing to mend"
    why = f"\n\n{harmless(result.why)}" if result.why else ""
    return f"{title}\n\n**{result.stop_reason}**: {result.stop_reason.sentence} ({proof}).{why}"


def _tests(result: RunResult) -> str:
    mended = set(result.fixed)
    rows = [(_code(test), "mended" if test in mended else "still fails") for test in result.baseline.targets]
    rows += [(_code(finding.test), f"{finding.kind}: {_code(finding.hint)}") for finding in result.findings]
    return _table(("Test", "Outcome"), rows)


def _suspects(result: RunResult) -> str:
    if not result.suspects:
        return ""
    return "## Suspects\n\n" + "\n".join(f"{place}. {_code(text)}" for place, text in enumerate(result.suspects, 1))


def _diff(result: RunResult) -> str:
    if not result.patch.changes:
        return ""
    diff = harmless(result.patch.diff().decode("utf-8", "replace"), longest=20_000)
    return f"## Patch\n\n{fenced(diff, 'diff')}"


def _evidence(result: RunResult) -> str:
    if not result.checks:
        return ""
    meaning = {
        "cold": "the whole suite, in a fresh interpreter on a pristine tree plus the patch",
        "canaries": "in that session a test that must fail did, and one that must pass did",
        "reverted": "without the patch the same tests fail again",
        "disguised": "the same tests pass under other names, in other files: nothing looks out for them",
        "perturbed": "with other expected values the tests fail: nothing answers whatever it is asked",
    }
    rows = [(name, value, meaning.get(name, "")) for name, value in result.checks.items()]
    return "## Evidence\n\n" + _table(("Check", "Result", "What it shows"), rows)


def _attempts(attempts: Iterable[Attempt]) -> str:
    rows = [
        (
            str(a.iteration),
            _code(a.rung),
            str(a.candidates),
            f"{a.score:.2f}",
            f"{a.delta:+.2f}",
            str(a.tokens),
            _code(a.error or a.note),
        )
        for a in attempts
    ]
    head = ("#", "Rung", "Candidates", "Score", "Gain", "Tokens", "What")
    return "## Attempts\n\n" + _table(head, rows) if rows else ""


def _cost(summary: Summary) -> str:
    ledger = summary.ledger
    money = "unknown" if ledger.spent_usd is None else f"${ledger.spent_usd:.4f}"
    spent = f"{ledger.spent} of {ledger.cap} tokens, {money}, {summary.result.seconds:.1f} s"
    return f"## Cost\n\n{spent}, sandbox: {summary.sandbox.get('kind', '?')}."


def _open_points(result: RunResult) -> str:
    points = [f"{skipped.rung} was not used: {skipped.why}" for skipped in result.skipped]
    points += list(result.warnings)
    if result.baseline.held:
        points.append(f"{len(result.baseline.held)} failing tests were held out: shown to no repairer, only scored on")
    if result.baseline.unchecked:
        points.append(f"{len(result.baseline.unchecked)} tests passed outside the sandbox and were not checked in it")
    if not points:
        return ""
    return "## What to know\n\n" + "\n".join(f"- {harmless(point)}" for point in points)


def _table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    lines = [f"| {' | '.join(head)} |", f"| {' | '.join('---' for _ in head)} |"]
    lines += [f"| {' | '.join(row)} |" for row in rows]
    return "\n".join(lines) if len(lines) > 2 else ""


def _code(value: str) -> str:
    """Return foreign text as code on one line: there no markup, no mention and no link of it is one."""
    flat = harmless(value, longest=300).replace("\n", " ").replace("|", "\\|").strip()
    if not flat:
        return ""
    fence = "`" * (1 + max((len(run) for run in re.findall(r"`+", flat)), default=0))
    pad = " " if "`" in flat else ""
    return f"{fence}{pad}{flat}{pad}{fence}"
