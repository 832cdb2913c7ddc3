"""Journals for the tests of their readers: the form of an event checked, and runs as long as they are wanted."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from importlib import resources
from typing import Any

import jsonschema

from pytest_noepicycle.codec import encode
from pytest_noepicycle.domain.decision import Action, Situation, decide
from pytest_noepicycle.domain.ladder import Ladder
from pytest_noepicycle.domain.run import Attempt
from pytest_noepicycle.domain.settings import Thresholds
from pytest_noepicycle.replay import Position
from pytest_noepicycle.supervisor.climbing import entered

LONG = Ladder(
    {
        "local-search": {"kind": "search", "on_plateau": "claude-haiku-4-5"},
        "claude-haiku-4-5": {"on_plateau": "claude-sonnet-4-6"},
        "claude-sonnet-4-6": {"on_plateau": "claude-opus-4-8"},
        "claude-opus-4-8": {"on_plateau": None},
    }
)

_TEXT = resources.files("pytest_noepicycle").joinpath("schemas/events.schema.json").read_text("utf-8")
_FORM = jsonschema.Draft202012Validator(json.loads(_TEXT))


def numbered(events: Iterable[Mapping[str, Any]], ladder: Ladder) -> list[dict[str, Any]]:
    """Return events of a journal in memory as its file would hold them, with the one that begins a run."""
    whole = [{"event": "run_started", "ladder": encode(ladder), "budget": {"tokens": 1000, "usd": None}}, *events]
    return [{"v": 1, "seq": n, "t": n / 10, **event} for n, event in enumerate(whole, 1)]


def check_form(events: Iterable[Mapping[str, Any]]) -> None:
    """Check that each event keeps to the schema in the package."""
    for event in events:
        _FORM.validate(event)


@dataclass
class Pretended:
    """A run that never was: each attempt with a call to a model and a candidate, each decision really taken.

    ``gains`` says by the number of an attempt how many tests it mends; whatever else is tried mends nothing.
    """

    ladder: Ladder = LONG
    tests: int = 4
    gains: Mapping[int, int] = field(default_factory=dict)
    thresholds: Thresholds = field(default_factory=Thresholds)
    tokens: int = 10
    prompt: str = "Please mend it."
    answer: str = "I have changed a line."
    diff: str = "diff --git a/m.py b/m.py\n--- a/m.py\n+++ b/m.py\n@@ -1 +1 @@\n-x = 1\n+x = 2\n"
    cap: int = 1_000_000
    events: list[dict[str, Any]] = field(default_factory=list)
    attempts: list[Attempt] = field(default_factory=list)
    position: Position = field(default_factory=Position)

    def run(self, most: int) -> list[dict[str, Any]]:
        """Go on until the ladder ends, or ``most`` attempts are over; return the journal's events."""
        self.position = Position(self.ladder.start)
        self._say("run_started", run_id="r", ladder=encode(self.ladder), budget={"tokens": self.cap, "usd": None})
        names = [f"tests/test_part_{n // 10}.py::test_case[{n}]" for n in range(self.tests)]
        failures = [
            {
                "test": name,
                "phase": "call",
                "exception": "AssertionError",
                "message": "assert 1 == 2",
                "text": "E  1 == 2",
            }
            for name in names
        ]
        self._say("triaged", real=failures, findings=[])
        frozen = {"targets": names, "guards": ["tests/test_whole.py::test_kept"], "unchecked": [], "held": []}
        self._say("baseline", **frozen, findings=[], seconds=1.0)
        for number in range(1, most + 1):
            if not self._step(number, names):
                break
        return self.events

    def _step(self, number: int, names: list[str]) -> bool:
        """Make one attempt and take its decision; whether the run goes on."""
        mended = sum(more for n, more in self.gains.items() if n < number)
        more = names[mended : mended + self.gains.get(number, 0)]
        call, rung = f"{self.position.rung}#{number}", self.position.rung
        usage = {"input": self.tokens, "output": 0, "cache_read": 0, "cache_write": 0}
        if self.ladder.rungs[rung].kind == "model":
            question = {"system": "You mend.", "stable": "The files.", "prompt": f"{self.prompt} ({number})"}
            kept = {"data": {"edits": []}, "text": self.answer, "digest": "0"}
            booked = {"tokens": 2 * self.tokens, "usd": 0.01, "input_bound": 5, "max_output": 5}
            self._say("call_reserved", question=question, call=call, rung=rung, model=rung, purpose="propose", **booked)
            self._say("call_settled", call=call, rung=rung, usage=usage, usd=0.005, end="tool_use", raw={}, answer=kept)
        lost = ["tests/test_whole.py::test_kept"] if number % 7 == 3 and not more else []
        tried = {"patch": f"p{number}", "note": f"the {number}th idea", "diff": self.diff, "failing": []}
        self._say("candidate", rung=rung, **tried, score=len(more) / len(names), fixed=more, lost=lost)
        score = (mended + len(more)) / len(names)
        made = Attempt(
            number, rung, score, len(more) / len(names), f"effect {number}", f"p{number}", 1, 0, self.tokens,
            note=f"the {number}th idea", fixed=tuple(more), broken=tuple(lost), seconds=2.0,
        )  # fmt: skip
        self.attempts.append(made)
        self.position = replace(self.position, since_switch=self.position.since_switch + 1)
        self._say("attempt", **encode(made), effect_digest=made.effect)
        return self._decide()

    def _decide(self) -> bool:
        spent = self.tokens * len(self.attempts)
        here = self.position
        situation = Situation(
            self.ladder, here.rung, tuple(self.attempts), self.thresholds, max(0.0, 1 - spent / self.cap),
            here.since_switch, frozenset(here.left_behind), frozenset(here.low_used),
        )  # fmt: skip
        decision = decide(situation)
        told = {
            key: value
            for key, value in encode(replace(situation, attempts=())).items()
            if key not in ("ladder", "attempts")
        }
        self._say("decision", **encode(decision), situation=told)
        if decision.action is Action.SWITCH:
            self.position = entered(self.position, decision)
        return decision.action in (Action.SWITCH, Action.CONTINUE)

    def _say(self, event: str, **fields: Any) -> None:
        head = {"v": 1, "seq": len(self.events) + 1, "t": round(len(self.events) * 0.5, 3), "event": event}
        self.events.append({**head, **json.loads(json.dumps(fields))})
