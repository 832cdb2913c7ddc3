"""What a run that was broken off had spent and heard, read from its journal alone: nothing is paid for twice."""

from __future__ import annotations

import hashlib
import json
import threading
from collections import defaultdict, deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from pytest_noepicycle.codec import decode
from pytest_noepicycle.domain.budget import Entry, Ledger, Usage
from pytest_noepicycle.ports import Answer

Event = Mapping[str, Any]


@dataclass(slots=True)
class Heard:
    """Answers that were paid for and came to nothing yet; each is given out once, in the order of asking."""

    waiting: dict[tuple[str, str], deque[Answer]] = field(default_factory=dict)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def take(self, rung: str, purpose: str) -> Answer | None:
        """Return the next answer to what that rung asked for that purpose; None where there is none."""
        with self.lock:
            answers = self.waiting.get((rung, purpose))
            return answers.popleft() if answers else None


def ledger_of(events: Iterable[Event], cap: int, cap_usd: float | None) -> Ledger:
    """Return the ledger as the journal tells it: a call that was in flight stays booked as it was reserved.

    The caps are today's, so that a run which ended for want of budget can go on with more.
    """
    entries: dict[str, Entry] = {}
    for event in events:
        kind, call = event["event"], event.get("call", "")
        if kind == "call_reserved":
            entries[call] = Entry(call, event["rung"], event["purpose"], event["tokens"], event["usd"])
        elif kind == "call_settled" and call in entries:
            entries[call] = _settled(entries[call], event)
    lost = (entry if entry.usage is not None else _lost(entry) for entry in entries.values())
    return Ledger(cap, cap_usd, tuple(lost))


def heard(events: Iterable[Event], calls: int) -> Heard:
    """Return the answers to all calls after the first ``calls``: the step that asked for them was not finished.

    An answer whose text was not kept whole (it held a secret, or content is not recorded) is not given out again.
    """
    waiting: dict[tuple[str, str], deque[Answer]] = defaultdict(deque)
    later: dict[str, str] = {}
    begun = 0
    for event in events:
        if event["event"] == "call_reserved":
            begun += 1
            if begun > calls:
                later[event["call"]] = event["purpose"]
        elif event["event"] == "call_settled" and event["call"] in later and _is_whole(event):
            waiting[event["rung"], later[event["call"]]].append(_answer(event))
    return Heard(dict(waiting))


def seconds_used(events: Iterable[Event]) -> float:
    """Return how long the run had taken when its last event was written."""
    return max((float(event["t"]) for event in events), default=0.0)


def digest(answer: Answer) -> str:
    """Name an answer by its content, so that one which was changed on its way through the record is not used."""
    turn = [answer.tool, answer.call, list(answer.said)] if answer.tool else []
    text = json.dumps([answer.data, answer.text, answer.end, *turn], sort_keys=True)
    return hashlib.sha256(text.encode("utf-8", "backslashreplace")).hexdigest()[:16]


def _answer(event: Event) -> Answer:
    kept = event["answer"]
    return Answer(
        kept.get("data"),
        str(kept.get("text", "")),
        event["end"],
        decode(Usage, event["usage"]),
        event["raw"],
        tool=str(kept.get("tool", "")),
        call=str(kept.get("call", "")),
        said=tuple(kept.get("said", ())),
    )


def _settled(entry: Entry, event: Event) -> Entry:
    usage = decode(Usage, event["usage"])
    return Entry(entry.call, entry.rung, entry.purpose, entry.reserved_tokens, entry.reserved_usd, usage, event["usd"])


def _lost(entry: Entry) -> Entry:
    return Entry(entry.call, entry.rung, entry.purpose, entry.reserved_tokens, entry.reserved_usd, lost=True)


def _is_whole(event: Event) -> bool:
    return "answer" in event and not event.get("outgrew") and digest(_answer(event)) == event["answer"].get("digest")
