"""A recorded run told again on a terminal, whether it came to its end or not."""

from __future__ import annotations

from pytest_noepicycle.report import wording
from pytest_noepicycle.report.history import History, Step
from pytest_noepicycle.report.terminal import Paper, folded
from pytest_noepicycle.report.text import harmless

_MOST_TESTS, _MOST_LINES, _MOST_STEPS = 40, 120, 30


def render(past: History, paper: Paper) -> None:
    """Write the verdict, the tests, the diff, the proof, the attempts, the cost, and what is not proven."""
    paper.sep("=", f"noepi {harmless(past.run_id, longest=60)}", bold=True)
    paper.line(wording.headline(past), bold=True, green=past.solved, yellow=not past.solved)
    folded(f"{past.stop or 'unfinished'}: {wording.verdict(past)}", paper)
    folded(wording.what_helped(past), paper, indent="  ", hang="")
    _tests(past, paper)
    _diff(past, paper)
    for name, value in (past.proof.checks if past.proof else {}).items():
        paper.line(f"  {harmless(name):<10} {value:<11} {wording.CHECKS.get(name, '')}", red=value == "failed")
    _attempts(past.steps, paper)
    tokens, cap, usd = wording.spent(past)
    paper.line("")
    paper.line(f"cost:   {tokens:,} of {cap:,} tokens, {wording.money(usd)}, {past.seconds:.1f} s")
    for point in (*wording.open_points(past), wording.unproven(past)):
        folded(f"note:   {point}", paper, hang=" " * 8, yellow=True)


def _tests(past: History, paper: Paper) -> None:
    fixed = set(past.fixed)
    for test in past.baseline.targets[:_MOST_TESTS]:
        word = "mended" if test in fixed else "still fails" if past.stop else "open"
        paper.line(f"  {word:<12} {harmless(test, longest=300)}", green=test in fixed, red=word == "still fails")
    for finding in past.findings[:_MOST_TESTS]:
        text = f"{finding.kind:<12} {harmless(finding.test, longest=300)}: {harmless(finding.hint, longest=600)}"
        folded(text, paper, indent="  ", hang=" " * 13, yellow=True)
    left = max(0, len(past.baseline.targets) - _MOST_TESTS) + max(0, len(past.findings) - _MOST_TESTS)
    if left:
        paper.line(f"  … and {left} more")


def _diff(past: History, paper: Paper) -> None:
    if not past.patch.changes:
        return
    paper.line("")
    lines = past.patch.diff().decode("utf-8", "replace").split("\n")[:-1]
    for line in lines[:_MOST_LINES]:
        body = not line.startswith(("+++", "---"))
        markup = {"green": body and line.startswith("+"), "red": body and line.startswith("-")}
        paper.line(harmless(line), **markup)
    if len(lines) > _MOST_LINES:
        paper.line(f"… {len(lines) - _MOST_LINES} lines more in best.patch")
    paper.line("")


def _attempts(steps: tuple[Step, ...], paper: Paper) -> None:
    if len(steps) > _MOST_STEPS:
        paper.line(f"  … {len(steps) - _MOST_STEPS} attempts before these")
    for step in steps[-_MOST_STEPS:]:
        made = step.attempt
        head = f"  {made.iteration:>3}  {harmless(made.rung, longest=40):<20} {made.score:.2f} {made.delta:+.2f}"
        what = f"{head}  {made.tokens:>7,}  {harmless((made.error or made.note).replace(chr(10), ' '), longest=400)}"
        width = max(paper.fullwidth, 60)
        paper.line(what if len(what) < width else f"{what[: width - 2]}…", green=bool(made.fixed))
