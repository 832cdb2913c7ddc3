"""What the page shows, made of a history: every foreign text harmless, cut to its room, and said where it is cut."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from pytest_noepicycle.domain.decision import Action
from pytest_noepicycle.report import wording
from pytest_noepicycle.report.history import Call, Candidate, History, Step, Taken
from pytest_noepicycle.report.html.charts import colour_of
from pytest_noepicycle.report.html.code import FileDiff, coloured
from pytest_noepicycle.report.text import harmless

_ALL_TEXTS = 160_000  # characters of prompts and answers on the whole page
_LONGEST, _SHORTEST = 12_000, 600  # characters of one of them
_ALL_LINES, _FEWEST_LINES, _MOST_LINES = 2500, 12, 120  # of the candidates' diffs
MOST_ATTEMPTS, _MOST_CANDIDATES, _MOST_TESTS = 100, 4, 200


@dataclass(frozen=True, slots=True)
class TestRow:
    """A test that failed: what it came to, and how it failed at first."""

    test: str
    outcome: str
    mark: str  # yes, no, maybe
    said: str = ""
    text: str = ""


@dataclass(frozen=True, slots=True)
class Text:
    """A prompt or an answer; one that stood before is only named by the attempt in which it stands."""

    title: str
    body: str = ""
    same_as: int = 0
    left_out: int = 0


@dataclass(frozen=True, slots=True)
class Edit:
    """A candidate: its note, its diff, and what it did."""

    note: str
    did: str
    files: tuple[FileDiff, ...]
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Shown:
    """One attempt as it unfolds."""

    number: int
    rung: str
    colour: int
    score: float
    gain: float
    best: float
    tokens: int
    seconds: float
    summary: str
    facts: tuple[tuple[str, str], ...] = ()
    texts: tuple[Text, ...] = ()
    edits: tuple[Edit, ...] = ()
    edits_left_out: int = 0
    refusals: tuple[str, ...] = ()
    decisions: tuple[tuple[str, str], ...] = ()
    refuted: str = ""


def tests(past: History) -> tuple[TestRow, ...]:
    """Return a row for each test that failed, those that are mended first."""
    said = {failure.test: failure for failure in past.failures}
    rows = []
    for test in past.baseline.targets[:_MOST_TESTS]:
        failure = said.get(test)
        first = wording.what_failed(failure) if failure else ""
        text = harmless(failure.text[:8000], longest=3000) if failure else ""
        outcome, mark = _outcome(test, past)
        rows.append(TestRow(harmless(test, longest=300), outcome, mark, harmless(first, longest=240), text))
    rows += [
        TestRow(harmless(one.test, longest=300), f"set aside: {one.kind}", "maybe", harmless(one.hint, longest=400))
        for one in past.findings[:_MOST_TESTS]
    ]
    return tuple(rows)


def _outcome(test: str, past: History) -> tuple[str, str]:
    """Return what became of a target, and how that is to be taken."""
    if test in past.fixed:
        return "mended", "yes"
    if past.stop is None:
        return ("passed, not proven", "maybe") if test in past.standing else ("open", "maybe")
    return "still fails", "no"


def tests_left_out(past: History) -> int:
    """Return how many tests have no row."""
    return max(0, len(past.baseline.targets) - _MOST_TESTS) + max(0, len(past.findings) - _MOST_TESTS)


def others(past: History) -> tuple[Edit, ...]:
    """Return the other edits at the solution's place that pass the same tests."""
    found = past.choice.others if past.choice else ()
    return tuple(Edit(harmless(one.note, longest=400), "", coloured(one.diff, most=_FEWEST_LINES)) for one in found)


def attempts(past: History) -> tuple[Shown, ...]:
    """Return the attempts to unfold, the last :data:`MOST_ATTEMPTS` of them."""
    return tuple(_Unfolding(past).through())


@dataclass(slots=True)
class _Unfolding:
    """Goes through the attempts, and remembers which texts stand on the page already."""

    past: History
    seen: dict[str, int] = field(default_factory=dict)

    def through(self) -> Iterator[Shown]:
        """Yield the attempts in their order."""
        colours, steps = colour_of(self.past), self.past.steps[-MOST_ATTEMPTS:]
        room, lines = self._room(steps)
        for step, best in zip(steps, self.past.course[-MOST_ATTEMPTS:], strict=True):
            yield self._shown(step, best, colours[step.attempt.rung], room, lines)

    @staticmethod
    def _room(steps: tuple[Step, ...]) -> tuple[int, int]:
        """Return how many characters each text may have, and how many lines each diff."""
        texts = {text for step in steps for call in step.calls for _, text in _texts(call)}
        diffs = sum(min(_MOST_CANDIDATES, len(step.candidates)) for step in steps)
        return (
            max(_SHORTEST, min(_LONGEST, _ALL_TEXTS // max(1, len(texts)))),
            max(_FEWEST_LINES, min(_MOST_LINES, _ALL_LINES // max(1, diffs))),
        )

    def _shown(self, step: Step, best: float, colour: int, room: int, lines: int) -> Shown:
        made = step.attempt
        edits = sorted(step.candidates, key=lambda one: -len(one.fixed))[:_MOST_CANDIDATES]
        return Shown(
            number=made.iteration,
            rung=harmless(made.rung, longest=100),
            colour=colour,
            score=made.score,
            gain=made.delta,
            best=best,
            tokens=made.tokens,
            seconds=made.seconds,
            summary=harmless(made.error or made.note or step.text or "nothing was proposed", longest=240),
            facts=tuple(_facts(step)),
            texts=tuple(self._texts(step, room)),
            edits=tuple(_edit(candidate, lines) for candidate in edits),
            edits_left_out=len(step.candidates) - len(edits),
            refusals=tuple(_refusal(one) for one in step.refusals),
            decisions=tuple(_decision(taken) for taken in step.decisions),
            refuted=harmless(step.refuted, longest=600),
        )

    def _texts(self, step: Step, room: int) -> Iterator[Text]:
        number = step.attempt.iteration
        for call in step.calls:
            for title, text in _texts(call):
                name = f"{title} ({call.purpose}, {call.model or call.rung})"
                before = self.seen.setdefault(text, number)
                if before != number:
                    yield Text(name, same_as=before)
                    continue
                yield Text(name, harmless(text[: 2 * room], longest=room), left_out=max(0, len(text) - room))
        if step.text is not None:
            body = harmless(step.text[: 2 * room], longest=room)
            yield Text("The text that was scored", body, left_out=max(0, len(step.text) - room))


def _texts(call: Call) -> Iterator[tuple[str, str]]:
    for key, title in (("system", "Instructions"), ("stable", "Question, the part that stays"), ("prompt", "Question")):
        if call.question.get(key):
            yield title, str(call.question[key])
    if call.answer.get("text"):
        yield "Answer", str(call.answer["text"])
    if call.answer.get("data"):
        yield "Answer, as data", json.dumps(call.answer["data"], indent=2, ensure_ascii=False)
    if call.lost:
        yield "No answer", call.lost


def _facts(step: Step) -> Iterator[tuple[str, str]]:
    made = step.attempt
    yield "candidates", f"{made.candidates} tried, {made.refused} refused by the guard"
    if made.fixed:
        yield "mended", _some(made.fixed)
    if made.broken:
        yield "broken", _some(made.broken)
    for call in step.calls:
        usage = call.usage
        if usage is None:
            yield "call", f"{call.model or call.rung}: {call.reserved:,} tokens stay charged, no answer came"
            continue
        kinds = f"{usage.input:,} in, {usage.output:,} out, {usage.cache_read + usage.cache_write:,} cached"
        yield "call", f"{call.model or call.rung}: {kinds}, {wording.money(call.usd)}, ended with {call.end}"


def _readable(signature: str) -> str:
    """Return a failure's signature (phase, exception, message, place, with bars between them) as words."""
    parts = signature.split("|")
    return f"{parts[1]}: {'|'.join(parts[2:-1])}" if len(parts) > 3 else signature


def _some(names: tuple[str, ...], most: int = 8) -> str:
    """Return the first names, and how many more there are."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return harmless(", ".join(names[:most]), longest=800) + more


def _edit(candidate: Candidate, lines: int) -> Edit:
    did = [f"mends {len(candidate.fixed)}"] if candidate.fixed else ["mends nothing"]
    if candidate.lost:
        did.append(f"breaks {len(candidate.lost)}: {_some(candidate.lost, most=3)}")
    if candidate.failing:
        did.append(f"then fails with {_readable(candidate.failing[0])}")
    note, reason = harmless(candidate.note, longest=400), harmless(candidate.reason, longest=300)
    return Edit(note, harmless("; ".join(did), longest=500), coloured(candidate.diff, most=lines), reason)


def _refusal(one: Mapping[str, str]) -> str:
    return harmless(f"{one.get('path', '')}: {one.get('why', '')} [{one.get('rule', '')}]", longest=400)


def _decision(taken: Taken) -> tuple[str, str]:
    decision = taken.decision
    to = f" to {decision.rung}" if decision.action is Action.SWITCH else f" ({decision.stop})" if decision.stop else ""
    return harmless(f"{decision.action}{to}", longest=120), harmless(decision.reason, longest=400)
