"""The run for a reviewer, in Markdown: what failed, what changed, what proves it, what it cost."""

from __future__ import annotations

import re
from collections.abc import Iterable

from pytest_noepicycle.report import reading, wording
from pytest_noepicycle.report.history import History, Step
from pytest_noepicycle.report.overview import Told
from pytest_noepicycle.report.summary import Summary
from pytest_noepicycle.report.text import fenced, harmless

_MOST_TESTS, _MOST_ATTEMPTS, _MOST_POINTS = 100, 60, 60
_LONGEST_DIFF = 20_000  # characters; a pull request takes 65,536 in all


def render(given: Summary | History) -> str:
    """Return ``report.md``, of a run that has just ended or of one that was read back, finished or not."""
    past = reading.of(given) if isinstance(given, Summary) else given
    parts = [_verdict(past), _tests(past), _suspects(past), _estimate(past), _diff(past), _evidence(past)]
    parts += [_chart(past), _attempts(past.steps), _cost(past), _open_points(past), _again(past)]
    return "\n\n".join(part for part in parts if part) + "\n"


def overview(runs: Iterable[Told]) -> str:
    """Return a table over several runs: what was mended, at what cost, by which rung, and what failed and why."""
    head = ("Run", "Mended", "End", "By", "Tokens", "Money", "Time", "Why")
    rows = [
        (_code(one.run_id), *(_plain(cell) for cell in one.cells[1:]), "" if one.end == "solved" else _plain(one.why))
        for one in runs
    ]
    return _table(head, rows) + "\n"


def _verdict(past: History) -> str:
    why = wording.what_helped(past)
    end = f"**{past.stop or 'unfinished'}**: {_plain(wording.verdict(past))}"
    return f"# {_plain(wording.headline(past))}\n\n{end}" + (f"\n\n{_plain(why)}" if why else "")


def _tests(past: History) -> str:
    mended, said = set(past.fixed), {failure.test: failure for failure in past.failures}
    rows = []
    for test in past.baseline.targets[:_MOST_TESTS]:
        failure = said.get(test)
        first = wording.what_failed(failure) if failure else ""
        outcome = "mended" if test in mended else "still fails" if past.stop else "open"
        rows.append((_code(test), outcome, _code(first)))
    rows += [(_code(one.test), _plain(one.kind), _code(one.hint)) for one in past.findings[:_MOST_TESTS]]
    left = max(0, len(past.baseline.targets) - _MOST_TESTS) + max(0, len(past.findings) - _MOST_TESTS)
    if past.task:
        return f"## Task\n\n{fenced(harmless(past.task[:8000], longest=4000))}"
    return _table(("Test", "Outcome", "What was wrong"), rows) + (f"\n\n… and {left} more" if left else "")


def _suspects(past: History) -> str:
    if not past.suspects:
        return ""
    lines = (f"{place}. {_code(text)}" for place, text in enumerate(past.suspects[:20], 1))
    return "## Suspects\n\n" + "\n".join(lines)


def _estimate(past: History) -> str:
    """Say what a dry run would have asked, and what each rung's next call could cost."""
    estimate = past.result.get("estimate")
    if not estimate:
        return ""
    rows = [
        (
            _plain(quote["rung"]),
            str(quote["tokens"]),
            "not known" if quote["usd"] is None else f"${quote['usd']:.4f}",
            _plain(quote["lacking"]),
        )
        for quote in estimate["quotes"]
    ]
    table = _table(("Rung", "Tokens at the most", "Money at the most", "Cannot be used"), rows)
    text = fenced(harmless(estimate["question"]))
    return f"## What would be asked\n\n{table}\n\nThe first question, to {_plain(estimate['first'])}:\n\n{text}"


def _diff(past: History) -> str:
    if not past.patch.changes:
        return ""
    diff = harmless(past.patch.diff().decode("utf-8", "replace"), longest=_LONGEST_DIFF)
    edits = "".join(f"- {_code(note)} {_plain(did)}\n" for note, did in wording.edits(past)[:_MOST_TESTS])
    return "\n\n".join(filter(None, ("## Patch", edits.rstrip(), fenced(diff, "diff"))))


def _evidence(past: History) -> str:
    proof = past.proof
    checks = proof.checks if proof else past.result.get("checks", {})
    reasons = proof.reasons if proof else {}
    rows = [(name, value, _plain(reasons.get(name) or wording.CHECKS.get(name, ""))) for name, value in checks.items()]
    return "## Evidence\n\n" + _table(("Check", "Result", "What it shows"), rows) if rows else ""


def _chart(past: History) -> str:
    """Return the score by attempt as a chart that GitHub draws; one attempt needs none."""
    steps = past.steps[-_MOST_POINTS:]
    if len(steps) < 2:
        return ""
    first, last = steps[0].attempt.iteration, steps[-1].attempt.iteration
    scores = ", ".join(f"{step.attempt.score:.2f}" for step in steps)
    best = ", ".join(f"{score:.2f}" for score in past.course[-_MOST_POINTS:])
    axes = f'  x-axis "Attempt" {first} --> {last}\n  y-axis "Score" 0 --> 1'
    title = '  title "Score by attempt (bars), and the best so far (line)"'
    return fenced(f"xychart-beta\n{title}\n{axes}\n  bar [{scores}]\n  line [{best}]", "mermaid")


def _attempts(steps: tuple[Step, ...]) -> str:
    rows = [
        (
            str(step.attempt.iteration),
            _code(step.attempt.rung),
            str(step.attempt.candidates),
            f"{step.attempt.score:.2f}",
            f"{step.attempt.delta:+.2f}",
            str(step.attempt.tokens),
            _code(step.attempt.error or step.attempt.note),
            _plain(_decision(step)),
        )
        for step in steps[-_MOST_ATTEMPTS:]
    ]
    head = ("#", "Rung", "Candidates", "Score", "Gain", "Tokens", "What", "Then")
    left = len(steps) - len(rows)
    cut = f"\n\nThe first {left} are in decisions.jsonl." if left else ""
    return f"## Attempts\n\n{_table(head, rows)}{cut}" if rows else ""


def _decision(step: Step) -> str:
    if not step.decisions:
        return ""
    last = step.decisions[-1].decision
    return f"{last.action}: {last.reason}"


def _cost(past: History) -> str:
    spent, cap, usd = wording.spent(past)
    kind = past.result.get("sandbox", {}).get("kind") or past.facts.get("sandbox") or "?"
    return f"## Cost\n\n{spent} of {cap} tokens, {wording.money(usd)}, {past.seconds:.1f} s, sandbox: {kind}."


def _open_points(past: History) -> str:
    points = (*wording.open_points(past), wording.unproven(past))
    return "## What is not proven\n\n" + "\n".join(f"- {_plain(point)}" for point in points)


def _again(past: History) -> str:
    """Say what a reader types to see it for themselves; without a commit or a test there is nothing to type."""
    commit = str(past.facts.get("base_commit") or "")
    where = f", on commit {_code(commit)}" if commit else ""
    patch = ", with best.patch from the run's record" if past.patch.changes else ""
    text = "\n".join(wording.commands(past))
    return f"## See for yourself\n\nIn the project{where}{patch}:\n\n{fenced(text, 'sh')}"


def _table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    lines = [f"| {' | '.join(head)} |", f"| {' | '.join('---' for _ in head)} |"]
    lines += [f"| {' | '.join(row)} |" for row in rows]
    return "\n".join(lines) if len(lines) > 2 else ""


def _code(value: str) -> str:
    """Return foreign text as code on one line: there no markup, no mention and no link of it is one."""
    flat = harmless(value[:2000], longest=300).replace("\n", " ").replace("|", "\\|").strip()
    if not flat:
        return ""
    fence = "`" * (1 + max((len(run) for run in re.findall(r"`+", flat)), default=0))
    pad = " " if "`" in flat else ""
    return f"{fence}{pad}{flat}{pad}{fence}"


_MARKUP = re.compile(r"([\\`*_\[\]<>|#~])")


def _plain(value: str) -> str:
    """Return a sentence that may hold foreign text: on one line, its markup and its mentions without effect."""
    flat = harmless(value[:4000], longest=600).replace("\n", " ")
    return _MARKUP.sub(r"\\\1", flat).replace("@", "@\u200b").replace("://", ":\u200b//")
