"""The model rung: one request, one patch, and a name for whatever else came back."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from pytest_noepicycle.domain.context import Context
from pytest_noepicycle.domain.ladder import Rung
from pytest_noepicycle.domain.patch import Patch, Proposal
from pytest_noepicycle.ports import Answer, Question
from pytest_noepicycle.rungs import edits, prompt, rewrites
from pytest_noepicycle.rungs.sampling import side_by_side

_CUT_OFF = frozenset({"max_tokens", "model_context_window_exceeded"})


class ModelOutcome(StrEnum):
    """What a model's answer came to."""

    PROPOSED = "proposed"
    NO_TOOL_CALL = "no_tool_call"
    CUT_OFF = "cut_off"
    REFUSED_BY_MODEL = "refused_by_model"
    EDITS_DO_NOT_MATCH = "edits_do_not_match"
    REPEATS = "repeats"
    TEST_IS_WRONG = "test_is_wrong"
    STEPS_USED_UP = "steps_used_up"
    EMPTY = "empty"


@dataclass(frozen=True, slots=True)
class Reading:
    """An answer, read: with a patch only where it is ``proposed``."""

    outcome: ModelOutcome
    note: str
    patch: Patch | None = None


REPEATED = Reading(ModelOutcome.REPEATS, "the very patch was tried before")


class ModelRung:
    """Asks a model for a patch. After each proposal ``last_outcome`` and ``last_note`` say what came of it.

    ``last_doubt`` is why one of its answers calls a test wrong, whatever the others propose.
    """

    def __init__(self, ask: Callable[[Question], Answer], rung: Rung) -> None:
        self._ask = ask
        self._rung = rung
        self._proposed: set[str] = set()
        self.last_outcome: ModelOutcome | None = None
        self.last_note = ""
        self.last_doubt = ""

    def propose(self, context: Context, size: prompt.Size = prompt.WHOLE) -> Iterator[Proposal]:
        """Ask as often at once as the rung says, a lean question once; yield each patch that comes of it."""
        self.last_outcome, self.last_note, self.last_doubt = None, "", ""
        question = self._question(context, size)
        samples = 1 if size is prompt.LEAN else self._rung.samples
        tried = frozenset(self._proposed | {attempt.patch for attempt in context.attempts if attempt.patch})
        for reading in side_by_side(lambda: self._attempt(question, context, tried), samples):
            if reading.patch is not None and reading.patch.digest in self._proposed:
                reading = REPEATED
            self._remember(reading)
            if reading.patch is not None:
                self._proposed.add(reading.patch.digest)
                yield Proposal(
                    reading.patch, reading.note[:600], {"outcome": reading.outcome, "model": self._rung.model}
                )

    def _question(self, context: Context, size: prompt.Size) -> Question:
        return prompt.build(context, self._rung, size)

    def _remember(self, reading: Reading) -> None:
        """Keep what came of the answers: of several, a proposal says more than anything else."""
        if reading.outcome is ModelOutcome.TEST_IS_WRONG:
            self.last_doubt = reading.note[:600]
        if self.last_outcome is not ModelOutcome.PROPOSED:
            self.last_outcome, self.last_note = reading.outcome, reading.note[:600]

    def _attempt(self, question: Question, context: Context, tried: frozenset[str]) -> Reading:
        """Ask; an answer that cannot be used is asked for once more with what was wrong, then in the other format."""
        try:
            reading = read(self._ask(question), context, tried, self._rung)
            if reading is not REPEATED:
                return reading
            problem = "This very patch was tried before, and did not help. Propose another one."
        except edits.Mismatch as mismatch:
            problem = str(mismatch)
        again = prompt.repair(question, problem)
        try:
            return read(self._ask(again), context, tried, self._rung)
        except edits.Mismatch as mismatch:
            return self._in_whole(prompt.otherwise(question, str(mismatch).partition("\n")[0]), context, tried)

    def _in_whole(self, question: Question, context: Context, tried: frozenset[str]) -> Reading:
        """Take whole functions in place of edits that never matched; after that nothing more is asked."""
        answer = self._ask(question)
        if answer.data is None:
            return Reading(*without_data(answer, self._rung))
        try:
            patch = rewrites.apply(answer.data, context)
        except edits.Mismatch as mismatch:
            return Reading(ModelOutcome.EDITS_DO_NOT_MATCH, str(mismatch).partition("\n")[0])
        return _judged(patch, _text(answer, "diagnosis"), context, tried)


def read(answer: Answer, context: Context, tried: frozenset[str], rung: Rung) -> Reading:
    """Read an answer against the tree; ``tried`` are digests of patches that are not to be tried again.

    :raises Mismatch: where its edits cannot be made, or it is no JSON at all.
    """
    if answer.data is None:
        if answer.end == "tool_use":
            raise edits.Mismatch("The tool's input was not well-formed JSON.")
        return Reading(*without_data(answer, rung))
    if answer.data.get("test_is_wrong") is True:
        return Reading(ModelOutcome.TEST_IS_WRONG, _text(answer, "why_test_is_wrong") or "no reason was given")
    patch = edits.apply(edits.read_edits(answer.data), context)
    return _judged(patch, _text(answer, "diagnosis"), context, tried)


def _judged(patch: Patch, diagnosis: str, context: Context, tried: frozenset[str]) -> Reading:
    if patch == context.best:
        return Reading(ModelOutcome.EMPTY, f"the answer changes nothing: {diagnosis}")
    return REPEATED if patch.digest in tried else Reading(ModelOutcome.PROPOSED, diagnosis, patch)


def without_data(answer: Answer, rung: Rung) -> tuple[ModelOutcome, str]:
    """Name what an answer without a tool call came to."""
    if answer.end in _CUT_OFF:
        room = f"max_output is {rung.max_output}" if answer.end == "max_tokens" else "its context window is full"
        return ModelOutcome.CUT_OFF, f"{rung.model} ran out of room before its answer was complete ({room})"
    if answer.end == "refusal":
        return ModelOutcome.REFUSED_BY_MODEL, f"{rung.model} declined: {_why_refused(answer.raw) or answer.text}"
    said = " ".join(answer.text.split())[:200]
    return ModelOutcome.NO_TOOL_CALL, f"{rung.model} proposed no edits (it ended with {answer.end!r}): {said}"


def _why_refused(raw: Mapping[str, Any]) -> str:
    details = raw.get("stop_details")
    return str(details.get("explanation") or details.get("category") or "") if isinstance(details, Mapping) else ""


def _text(answer: Answer, key: str) -> str:
    value = (answer.data or {}).get(key, "")
    return " ".join(value.split()) if isinstance(value, str) else ""
