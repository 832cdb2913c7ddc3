"""The run on a terminal: live progress while it works, one section when it is over."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from itertools import groupby

from pytest_noepicycle.domain.run import Finding, RunResult, StopReason
from pytest_noepicycle.report.paper import Paper as Paper
from pytest_noepicycle.report.paper import PlainPaper as PlainPaper
from pytest_noepicycle.report.summary import Summary
from pytest_noepicycle.report.text import harmless, wrapped

_EVERY = 0.1  # seconds between two redraws of the progress line
_ALIKE = 3  # findings that say the same are shown up to so many
_EVERY_PLAIN = 10.0  # seconds between two lines where nothing can be redrawn


class Progress:
    """Shows stages and candidates while a run goes on: one line redrawn, or plain lines now and then."""

    def __init__(self, paper: Paper, cap: int, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._paper = paper
        self._cap = cap
        self._clock = clock
        self._began = self._shown = clock()
        self._drawn = 0

    def stage(self, text: str) -> None:
        """Say that a new stage begins."""
        self._erase()
        self._paper.line(f"noepi: {harmless(text, longest=300)}", purple=True)
        self._shown = self._clock()

    def progress(self, rung: str, tried: int, score: float, spent: int) -> None:
        """Say how far the rung has come."""
        now = self._clock()
        if now - self._shown < (_EVERY if self._paper.hasmarkup else _EVERY_PLAIN):
            return
        self._shown = now
        text = (
            f"  {rung}: {tried} candidates, score {score:.2f}, {spent} of {self._cap} tokens, {now - self._began:.0f} s"
        )
        if not self._paper.hasmarkup:
            self._paper.line(text)
            return
        self._erase()
        text = text[: self._paper.fullwidth - 1]
        self._paper.write(text, flush=True)
        self._drawn = len(text)

    def finish(self) -> None:
        """Take the progress line away."""
        self._erase()

    def _erase(self) -> None:
        if self._drawn:
            self._paper.write("\r" + " " * self._drawn + "\r", flush=True)
            self._drawn = 0


def render(summary: Summary, paper: Paper, *, commands: str) -> None:
    """Write the section: what was mended, the diff, why it stopped, the cost, the record, what to type next.

    ``commands`` is how the record is reached from here, e.g. ``noepi``.
    """
    result = summary.result
    paper.line("")
    paper.sep("=", "noepi", bold=True)
    _verdict(result, paper)
    _tests(result, paper)
    _suspects(result, paper)
    _estimate(result, paper)
    _diff(result, paper)
    _cost(summary, paper)
    _next(summary, paper, commands)


def _verdict(result: RunResult, paper: Paper) -> None:
    good = result.solved
    if result.baseline.targets:
        count = f"{len(result.fixed)} of {len(result.baseline.targets)} failing tests mended"
        paper.line(f"{count}; {_files(result)}", bold=True, green=good, yellow=not good)
    folded(f"{result.stop_reason}: {result.stop_reason.sentence}", paper, green=good, yellow=not good)
    if good and result.findings:
        paper.line(f"  {len(result.findings)} failing tests were set aside; they are named below", yellow=True)
    if result.why and not good:
        folded(result.why, paper, indent="  ", hang="")


def folded(text: str, paper: Paper, *, indent: str = "", hang: str = "  ", **markup: bool) -> None:
    """Write a sentence over as many lines as the width asks for (see :func:`wrapped`)."""
    for line in wrapped(harmless(text), paper.fullwidth, indent=indent, hang=hang):
        paper.line(line, **markup)


def _files(result: RunResult) -> str:
    """Say what became of the person's files: it is what they want to know first."""
    if result.applied:
        return f"written to {', '.join(result.patch.paths)}"
    return "your files are as they were"


def _tests(result: RunResult, paper: Paper) -> None:
    mended = set(result.fixed)
    for test in result.baseline.targets:
        if test in mended:
            paper.line(f"  mended       {harmless(test)}", green=True)
        else:
            paper.line(f"  still fails  {harmless(test)}", red=True)
    _findings(result.findings, paper)


def _findings(findings: Iterable[Finding], paper: Paper) -> None:
    """Write what was set aside; of many for one and the same reason the first few stand for all."""
    by_reason: dict[tuple[str, str], list[Finding]] = {}
    for finding in findings:
        by_reason.setdefault((finding.kind, finding.hint), []).append(finding)
    for (kind, hint), alike in by_reason.items():
        for finding in alike[:_ALIKE]:
            text = f"{kind:<12} {harmless(finding.test)}: {harmless(hint)}"
            folded(text, paper, indent="  ", hang=" " * 13, yellow=True)
        if len(alike) > _ALIKE:
            more = f"and {len(alike) - _ALIKE} more for the same reason, named in report.md"
            paper.line(f"  {kind:<12} {more}", yellow=True)


def _suspects(result: RunResult, paper: Paper) -> None:
    if result.suspects:
        paper.line("")
        paper.line("suspects, the likeliest first:")
    for suspect in result.suspects:
        paper.line(f"  {harmless(suspect)}")


def _estimate(result: RunResult, paper: Paper) -> None:
    """Write what would be asked first, word for word, and the most that each rung's next call could cost."""
    if result.estimate is None:
        return
    paper.line("")
    paper.line(f"the first question, to {harmless(result.estimate.first)}, would say:")
    for line in result.estimate.question.split("\n"):
        paper.line(f"  | {harmless(line)}")
    paper.line("")
    paper.line("the most that the next call to each rung can take:")
    for quote in result.estimate.quotes:
        money = "price not known" if quote.usd is None else f"${quote.usd:.4f}"
        tail = f"; cannot be used: {quote.lacking}" if quote.lacking else ""
        folded(f"{quote.rung:<20} {quote.tokens} tokens, {money}{tail}", paper, indent="  ", hang=" " * 21)


def _diff(result: RunResult, paper: Paper) -> None:
    if not result.patch.changes:
        return
    paper.line("")
    lines = result.patch.diff().decode("utf-8", "replace").splitlines()
    for line in lines[:120]:
        body = not line.startswith(("+++", "---"))
        markup = {"green": body and line.startswith("+"), "red": body and line.startswith("-")}
        paper.line(harmless(line), **markup)
    if len(lines) > 120:
        paper.line(f"… {len(lines) - 120} lines more in best.patch")


def _cost(summary: Summary, paper: Paper) -> None:
    result, ledger = summary.result, summary.ledger
    candidates = sum(attempt.candidates for attempt in result.attempts)
    money = "unknown cost" if ledger.spent_usd is None else f"${ledger.spent_usd:.4f}"
    paper.line("")
    _course(result, paper)
    _proof(result, paper)
    _choice(result, paper)
    paper.line(
        f"cost:   {ledger.spent} of {ledger.cap} tokens, {money}; {candidates} candidates, {result.seconds:.1f} s"
    )
    for why, rungs in skipped_by_reason(result).items():
        folded(f"not used: {', '.join(rungs)} ({why})", paper)
    for warning in result.warnings:
        folded(f"warning: {warning}", paper, yellow=True)
    if result.baseline.held:
        paper.line(f"held out: {len(result.baseline.held)} failing tests were shown to no repairer, only scored on")
    if result.baseline.unchecked:
        paper.line(f"unchecked: {len(result.baseline.unchecked)} tests that passed outside the sandbox and not in it")


def _choice(result: RunResult, paper: Paper) -> None:
    """Say whether the tests pin the solution down, or other edits at its place pass them as well."""
    choice = result.choice
    if choice is None:
        return
    if not choice.others:
        paper.line(f"choice: unique: of {choice.tried} other edits at this place none passes")
        return
    folded(
        f"choice: several: {len(choice.others)} other edits at this place pass the same tests; which is meant?", paper
    )
    for other in choice.others:
        folded(f"          {other.note}", paper)


def _course(result: RunResult, paper: Paper) -> None:
    """Say how the score went, rung by rung, where there was more than one attempt."""
    if len(result.attempts) < 2:
        return
    stints = [
        f"{rung} {' '.join(f'{attempt.score:.2f}' for attempt in own)}"
        for rung, own in ((rung, list(own)[-8:]) for rung, own in groupby(result.attempts, key=lambda one: one.rung))
    ]
    folded(f"score:  {' → '.join(stints)}", paper, hang=" " * 8)


def _proof(result: RunResult, paper: Paper) -> None:
    by_value: dict[str, list[str]] = {}
    for name, value in result.checks.items():
        by_value.setdefault(value, []).append(name)
    shown = "; ".join(f"{value}: {', '.join(names)}" for value, names in by_value.items())
    shown = shown.replace("impossible:", "could not be made here:")
    if shown and result.verified:
        paper.line(f"proof:  {shown}; {len(result.baseline.guards)} other tests kept")
        if len(result.baseline.guards) == 0:
            paper.line("warning: no other test guards this code; look at the change with care", yellow=True)
    elif shown:
        paper.line(f"no proof: {shown}", yellow=True)


def skipped_by_reason(result: RunResult) -> dict[str, list[str]]:
    """Return the rungs that could not be used, by the reason; none where it would have made no difference."""
    grouped: dict[str, list[str]] = {}
    mattered = not result.solved and (result.attempts or result.stop_reason is StopReason.EXHAUSTED)
    for skipped in result.skipped if mattered else ():
        grouped.setdefault(skipped.why, []).append(skipped.rung)
    return grouped


def _next(summary: Summary, paper: Paper, commands: str) -> None:
    result = summary.result
    paper.line(f"record: {summary.directory}")
    for line in next_steps(result, commands):
        paper.line(f"next:   {line}", bold=True)


def next_steps(result: RunResult, commands: str) -> tuple[str, ...]:
    """Return what a person would type or do now."""
    if result.applied:
        return (f"look at the change (git diff), run pytest; {commands} undo takes it back",)
    if result.patch.changes and result.verified:
        left = () if result.solved else _HINTS.get(result.stop_reason, ())
        return (f"{commands} apply", *left)
    if result.stop_reason is StopReason.EXHAUSTED:
        return (*skipped_by_reason(result), "mend it by hand; report.md says what was tried")
    return _HINTS.get(result.stop_reason, ())


_RESUME = "--noepi-resume goes on where this run was"
_HINTS: dict[StopReason, tuple[str, ...]] = {
    StopReason.BUDGET: (f"raise --noepi-budget, or select fewer failing tests; {_RESUME}",),
    StopReason.TIME_LIMIT: (f"raise --noepi-time-limit, or select fewer failing tests; {_RESUME}",),
    StopReason.FLAKY: ("run these tests several times; mend their dependence on time, order or chance",),
    StopReason.ENVIRONMENT: ("provide what is missing; noepi_env lets names of the environment through",),
    StopReason.TEST_SUSPECT: ("decide which of the tests is right",),
    StopReason.PLATEAU: ("look at report.md for what was tried; a ladder with another model may see more",),
    StopReason.DRY_RUN: ("run again with --noepi-fix",),
    StopReason.SANDBOX_LOST: (f"noepi check tells what works on this machine; {_RESUME}",),
    StopReason.PROVIDER_ERROR: (f"check the key and the server; {_RESUME}",),
    StopReason.INTERRUPTED: (_RESUME,),
    StopReason.REFUSED: ("report.md names the rule; noepi_editable or noepi_product open more files to a patch",),
    StopReason.NOTHING_TO_FIX: ("nothing: no test failed",),
    StopReason.SOLVED: ("the patch could not be written: see the warning above, then noepi apply",),
}
