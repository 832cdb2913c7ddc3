"""A record read back: the journal's events folded into one history, with the result where there is one."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from pytest_noepicycle.codec import decode
from pytest_noepicycle.domain.budget import Usage
from pytest_noepicycle.domain.decision import Decision
from pytest_noepicycle.domain.estimate import Estimate
from pytest_noepicycle.domain.failure import Failure
from pytest_noepicycle.domain.ladder import Ladder
from pytest_noepicycle.domain.patch import Patch
from pytest_noepicycle.domain.run import Attempt, Choice, Finding, Skipped, StopReason
from pytest_noepicycle.domain.score import Baseline
from pytest_noepicycle.errors import RecordError
from pytest_noepicycle.report import journal
from pytest_noepicycle.report.history import Call, Candidate, History, Proof, Step, Taken
from pytest_noepicycle.report.summary import Summary, as_json

Event = Mapping[str, Any]


def read(folder: Path) -> History:
    """Return the run that is recorded in a folder, as far as it came.

    :raises RecordError: where there is no journal, or the record is damaged.
    """
    path = folder / "decisions.jsonl"
    try:
        past = of_events(journal.read(path), folder.name, result=_result(folder / "result.json"))
    except FileNotFoundError:
        raise RecordError(f"{folder} holds no record of a run: there is no decisions.jsonl") from None
    except (KeyError, TypeError, ValueError) as error:
        raise RecordError(f"{path} cannot be read: {type(error).__name__}: {error}") from error
    return _with_patch(past, folder)


def of(summary: Summary) -> History:
    """Return a finished run from what is known of it in memory: without calls, candidates and decisions."""
    result = summary.result
    return History(
        run_id=result.run_id,
        facts={"base_commit": summary.base_commit, "dirty": summary.dirty, "sandbox": summary.sandbox.get("kind")},
        baseline=result.baseline,
        findings=result.findings,
        suspects=result.suspects,
        skipped=result.skipped,
        steps=tuple(Step(attempt, 0.0) for attempt in result.attempts),
        stop=result.stop_reason,
        result=as_json(summary),
        patch=result.patch,
        choice=result.choice,
        estimate=result.estimate,
        seconds=result.seconds,
    )


def of_events(events: Iterable[Event], run_id: str, *, result: Mapping[str, Any] | None = None) -> History:
    """Return the run that the events tell of; ``result`` counts only where the run is over."""
    reader = _Reader(History(run_id))
    for event in events:
        reader.take(event)
    return reader.history(result or {})


def _json(path: Path) -> Mapping[str, Any]:
    try:
        data = json.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        return {}
    except ValueError as error:
        raise RecordError(f"{path} cannot be read: {error}") from error
    if not isinstance(data, Mapping):
        raise RecordError(f"{path} is not an object")
    return data


def _result(path: Path) -> Mapping[str, Any]:
    """Return ``result.json``, looked at where readers rely on it; empty where there is none."""
    result = _json(path)
    try:
        if result:
            _check(result)
    except (KeyError, TypeError, ValueError) as error:
        raise RecordError(f"{path} is damaged: {type(error).__name__}: {error}") from error
    return result


def _check(result: Mapping[str, Any]) -> None:
    """Raise where what every reader takes for granted is missing or of another kind."""
    tests, tokens = result["tests"], result["tokens"]
    numbers = (tokens["spent"], tokens["cap"], result.get("cost_usd") or 0.0)
    if not all(isinstance(name, str) for name in (*tests["fixed"], *tests["broken"])):
        raise TypeError("a test's name is no text")
    if not all(isinstance(number, int | float) for number in numbers):
        raise TypeError("a sum is no number")


def _with_patch(past: History, folder: Path) -> History:
    kept = _json(folder / "patch.json")
    return replace(past, patch=decode(Patch, kept["patch"])) if kept.get("patch") and past.result else past


@dataclass(slots=True)
class _Reader:
    """Folds events, one after the other; what belongs to an attempt waits in ``calls`` and ``candidates`` for it."""

    past: History
    calls: dict[str, Call] = field(default_factory=dict)
    begun: list[str] = field(default_factory=list)
    candidates: list[Candidate] = field(default_factory=list)
    steps: list[Step] = field(default_factory=list)
    proofs: list[Proof] = field(default_factory=list)
    last: str = ""
    seconds: float = 0.0

    def take(self, event: Event) -> None:
        """Take the next event; one that is not known is passed over."""
        step = _TAKES.get(event["event"])
        if step is not None:
            step(self, event)
        self.last, self.seconds = event["event"], max(self.seconds, _at(event))

    def history(self, result: Mapping[str, Any]) -> History:
        """Return what all events came to."""
        over = self.past.stop is not None
        return replace(
            self.past,
            steps=tuple(self._finished(step) for step in self.steps),
            proofs=tuple(self.proofs),
            last=self.last,
            seconds=self.seconds,
            calls=tuple(self.calls.values()),
            open_calls=tuple(self.calls[name] for name in self.begun),
            open_candidates=tuple(self.candidates),
            result=result if over else {},
            skipped=_skipped(result, self.past) if over else self.past.skipped,
        )

    def _finished(self, step: Step) -> Step:
        return replace(step, calls=tuple(self.calls[call.name] for call in step.calls))

    def _set(self, **values: Any) -> None:
        self.past = replace(self.past, **values)

    def _began(self, event: Event) -> None:
        facts = {key: value for key, value in event.items() if key not in _HEAD and key != "ladder"}
        skipped = tuple(Skipped(rung, why) for rung, why in event.get("skipped", ()))
        again = self.past.resumed + (event["event"] == "resumed")
        self._set(facts=facts, ladder=decode(Ladder, event["ladder"]), skipped=skipped, stop=None, resumed=again)

    def _triaged(self, event: Event) -> None:
        self._set(failures=tuple(decode(Failure, one) for one in event.get("real", ())))

    def _baseline(self, event: Event) -> None:
        findings = tuple(decode(Finding, one) for one in event.get("findings", ()))
        self._set(baseline=decode(Baseline, event), findings=findings)

    def _finding(self, event: Event) -> None:
        self._set(findings=(*self.past.findings, decode(Finding, event)))

    def _suspects(self, event: Event) -> None:
        self._set(suspects=tuple(f"{one['path']}:{one['line']}  {one['reason']}" for one in event["suspects"]))
        if event.get("estimate"):
            self._set(estimate=decode(Estimate, event["estimate"]))

    def _choice(self, event: Event) -> None:
        self._set(choice=decode(Choice, event))

    def _task(self, event: Event) -> None:
        self._set(task=event["text"])

    def _reserved(self, event: Event) -> None:
        name = event["call"]
        self.begun.append(name)
        self.calls[name] = Call(
            name,
            event["rung"],
            event.get("model", ""),
            event["purpose"],
            event["tokens"],
            event["usd"],
            question=event.get("question") or {},
        )

    def _settled(self, event: Event) -> None:
        usage, answer = decode(Usage, event["usage"]), event.get("answer") or {}
        call = self.calls[event["call"]]
        self.calls[call.name] = replace(call, usage=usage, usd=event["usd"], end=event["end"], answer=answer)

    def _lost(self, event: Event) -> None:
        call = self.calls[event["call"]]
        self.calls[call.name] = replace(call, lost=event.get("why") or event.get("kind") or "no answer came")

    def _candidate(self, event: Event) -> None:
        self.candidates.append(
            Candidate(
                event["patch"],
                event["note"],
                event["diff"],
                tuple(event["fixed"]),
                tuple(event["lost"]),
                tuple(event.get("failing", ())),
                str(event.get("detail", {}).get("reason", "")),
            )
        )

    def _attempt(self, event: Event) -> None:
        """Close the attempt; one of the same number was broken off before, and what it paid for is in this one."""
        made = decode(Attempt, event)
        dropped = self.steps[made.iteration - 1 :]
        del self.steps[made.iteration - 1 :]
        names = [*(call.name for step in dropped for call in step.calls), *self.begun]
        self.steps.append(
            Step(
                made,
                _at(event),
                tuple(self.calls[name] for name in names),
                tuple(self.candidates),
                tuple(event.get("refusals", ())),
                text=event.get("candidate"),
            )
        )
        self.begun, self.candidates = [], []

    def _decision(self, event: Event) -> None:
        taken = Taken(decode(Decision, event), event.get("situation", {}).get("budget_left"), _at(event))
        if self.steps:
            self.steps[-1] = replace(self.steps[-1], decisions=(*self.steps[-1].decisions, taken))

    def _refuted(self, event: Event) -> None:
        amended = decode(Attempt, event["attempt"])
        self.steps[-1] = replace(self.steps[-1], attempt=amended, refuted=amended.note or "the proof did not hold")

    def _verdict(self, event: Event) -> None:
        self.proofs.append(decode(Proof, event))

    def _ended(self, event: Event) -> None:
        self._set(stop=StopReason(event["stop_reason"]))


_TAKES: Mapping[str, Callable[[_Reader, Event], None]] = {
    "run_started": _Reader._began,
    "resumed": _Reader._began,
    "triaged": _Reader._triaged,
    "baseline": _Reader._baseline,
    "finding": _Reader._finding,
    "suspects": _Reader._suspects,
    "task": _Reader._task,
    "call_reserved": _Reader._reserved,
    "call_settled": _Reader._settled,
    "call_lost": _Reader._lost,
    "candidate": _Reader._candidate,
    "attempt": _Reader._attempt,
    "decision": _Reader._decision,
    "refuted": _Reader._refuted,
    "verdict": _Reader._verdict,
    "choice": _Reader._choice,
    "run_ended": _Reader._ended,
}
_HEAD = frozenset({"v", "seq", "t", "event"})


def _at(event: Event) -> float:
    return float(event.get("t", 0.0))


def _skipped(result: Mapping[str, Any], past: History) -> tuple[Skipped, ...]:
    told = result.get("skipped_rungs")
    return past.skipped if told is None else tuple(Skipped(one["rung"], one["why"]) for one in told)
