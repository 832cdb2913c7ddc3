"""The sentences that every form of the report says: the verdict, what each check shows, what is not proven."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping

from pytest_noepicycle.domain import doubt
from pytest_noepicycle.domain.failure import Failure
from pytest_noepicycle.domain.run import StopReason
from pytest_noepicycle.report.history import Candidate, History, Proof
from pytest_noepicycle.report.text import harmless

CHECKS: Mapping[str, str] = {
    "cold": "the whole suite, in a fresh interpreter on a pristine tree plus the patch",
    "canaries": "in that session a test that must fail did, and one that must pass did",
    "reverted": "without the patch the same tests fail again",
    "disguised": "the same tests pass under other names, in other files: nothing looks out for them",
    "perturbed": "with other expected values the tests fail: nothing answers whatever it is asked",
    "shuffled": "the whole suite passes in another order: nothing remembers what ran before",
}
"""By name, what it shows of a patch that a check was passed."""
_MOST_NAMED = 5  # tests in a command or a sentence


def headline(past: History) -> str:
    """Return what came of the run, in a few words."""
    targets = len(past.baseline.targets)
    if past.task:
        return f"A text that scores {max(past.course, default=0.0):.2f}"
    if past.stop is None:
        return "A run that did not come to its end"
    if past.stop is StopReason.DRY_RUN:
        return f"{_tests(targets)} to mend; nothing was tried"
    return f"{len(past.fixed)} of {targets} failing tests mended" if targets else "Nothing to mend"


def verdict(past: History) -> str:
    """Return why it ended, and whether what it gained is proven."""
    if past.stop is None:
        after = f"its last event is {past.last}, after {past.seconds:.0f} s"
        best = f"Its best so far scores {past.course[-1]:.2f}; nothing of it is proven." if past.steps else ""
        return f"It was broken off, or goes on still: {after}. {best}".strip()
    sentence = f"{past.stop.sentence[:1].upper()}{past.stop.sentence[1:]}."
    return sentence if past.solved and not past.task else f"{sentence} {_proven(past)}"


def _proven(past: History) -> str:
    if past.task:
        return "The scorer's word is the only one."
    if past.result.get("verified"):
        return "Proven by a cold run of the whole suite."
    return "Nothing was gained that is proven."


def what_helped(past: History) -> str:
    """Return the sentence that the run itself gives for its end, where it is no repetition."""
    why = str(past.result.get("why") or "")
    return "" if any(note in why for note, _ in edits(past)) else why


def what_failed(failure: Failure) -> str:
    """Return how a test failed, in a line: pytest's own words for it, and the place in the project."""
    marked = (line[1:].strip() for line in failure.text.splitlines() if line.startswith("E  "))
    said = next(marked, "") or failure.message.split("\n")[0]
    said = said if said.startswith(failure.exception) else f"{failure.exception}: {said}"
    place = next((frame for frame in reversed(failure.frames) if frame.inside_tree), None)
    return f"{said}  ({place.path}:{place.line}, in {place.function})" if place else said


def files(past: History) -> str:
    """Say what became of the person's files."""
    if past.result.get("applied"):
        return f"written to {', '.join(past.patch.paths)}"
    return "the files are as they were"


def edits(past: History) -> tuple[tuple[str, str], ...]:
    """Return each edit that is part of the result, with the tests that it mends and why that place was tried."""
    fixed = set(past.fixed)
    kept = [
        tried
        for step in past.steps
        for tried in step.candidates
        if past.patch.changes and tried.note and tried.note in step.attempt.note and fixed & set(tried.fixed)
    ]
    return tuple((harmless(one.note, longest=400), _mends(one)) for one in {one.note: one for one in kept}.values())


def _mends(one: Candidate) -> str:
    more = f" and {len(one.fixed) - _MOST_NAMED} more" if len(one.fixed) > _MOST_NAMED else ""
    names = ", ".join(harmless(name, longest=160) for name in one.fixed[:_MOST_NAMED])
    why = f" (the line was {harmless(one.reason, longest=300)})" if one.reason.startswith("run by") else ""
    return f"mends {names}{more}{why}"


def commands(past: History) -> tuple[str, ...]:
    """Return what a reader types to see it for themselves, in a checkout of the commit that the run began with.

    The proof comes before the patch is applied: it applies the patch itself, in its sandbox.
    """
    names = [shlex.quote(test) for test in past.baseline.targets if test.isprintable()]
    lines = [" ".join(["pytest", *names[:_MOST_NAMED]])] if names else []
    if len(names) > _MOST_NAMED:
        lines[0] += f"  # {_MOST_NAMED} of {len(names)}, which fail"
    if past.patch.changes:
        lines += ["noepi verify best.patch", "git apply best.patch", "pytest"]
    return tuple(harmless(line, longest=1000) for line in (*lines, f"noepi replay {past.run_id}"))


def open_points(past: History) -> tuple[str, ...]:
    """Return what a reader should know before they trust it: everything that is not proven, or was left out."""
    return tuple(_points(past))


def unproven(past: History) -> str:
    """Return the sentence that no report leaves out: how far its proof goes."""
    if past.result.get("verified"):
        return (
            "Tests show what they ask for and nothing else: whether the change is what its author meant, "
            "a person decides."
        )
    if past.task:
        return "The scorer judged the text; no test was run on it by this tool."
    return "Nothing of what was gained on the way is proven, and no patch is offered."


def _points(past: History) -> Iterator[str]:
    proof = past.proof
    if past.result.get("verified") and proof is not None:
        yield from _unproven(proof)
    if past.choice is not None and past.choice.others:
        notes = "; ".join(one.note for one in past.choice.others)
        yield (
            f"{len(past.choice.others)} of {past.choice.tried} other edits at this place pass the same tests, which "
            f"do not say which is meant: {notes}"
        )
    if past.result.get("verified") and not past.baseline.guards:
        yield "No other test guards this code: nothing would have noticed what else the patch changes."
    if past.baseline.held:
        yield f"{_tests(len(past.baseline.held))} held out: shown to no repairer, only scored on."
    if past.baseline.unchecked:
        yield (
            f"{_tests(len(past.baseline.unchecked))} passed outside the sandbox and not in it: "
            "whether they still pass with the patch was not seen."
        )
    aside = [finding for finding in past.findings if finding.kind != doubt.KIND]
    if aside:
        yield f"{_tests(len(aside))} failed and was set aside, no patch was looked for: see the list of tests."
    yield from past.result.get("warnings", ())
    if not past.solved:
        yield from (f"{skipped.rung} was not used: {skipped.why}" for skipped in past.skipped)


def _unproven(proof: Proof) -> Iterator[str]:
    for name, value in proof.checks.items():
        if value == "impossible":
            why = proof.reasons.get(name, "")
            yield f"The check “{name}” could not be made{': ' + why if why else ''}."
    if proof.unperturbed:
        yield (
            f"{_tests(len(proof.unperturbed))} among the mended could not be asked for another value, so that nothing "
            f"shows whether the patch does more than that: {', '.join(proof.unperturbed[:5])}"
        )
    if proof.unsteady:
        yield f"{_tests(len(proof.unsteady))} passes and fails by turns, and proves nothing: {proof.unsteady[0]}"


def money(usd: float | None) -> str:
    """Return a sum of dollars for people; an unknown one is said to be that, never zero."""
    return "an unknown sum" if usd is None else f"${usd:.4f}"


def spent(past: History) -> tuple[int, int, float | None]:
    """Return the tokens that were spent, their cap, and the dollars."""
    told = past.result.get("tokens")
    if told:
        return int(told["spent"]), int(told["cap"]), past.result.get("cost_usd")
    return past.ledger.spent, past.ledger.cap, past.ledger.spent_usd


def _tests(number: int) -> str:
    return "1 test" if number == 1 else f"{number} tests"
