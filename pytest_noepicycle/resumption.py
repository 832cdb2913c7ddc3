"""A run that was broken off, found again: its record, what it had spent and heard, and the state it goes on from."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pytest_noepicycle.adapters.records import Record, Records
from pytest_noepicycle.codec import encode
from pytest_noepicycle.domain.ladder import STOP, Ladder
from pytest_noepicycle.domain.run import Skipped, StopReason
from pytest_noepicycle.domain.session import Session
from pytest_noepicycle.errors import RecordError, UsageError
from pytest_noepicycle.report import journal
from pytest_noepicycle.supervisor import graph
from pytest_noepicycle.supervisor.resuming import seconds_used
from pytest_noepicycle.supervisor.state import State

CHECKPOINTS = "checkpoint.sqlite"
# Where more of something (time, money, patience, an engine) lets a run go on; other ends are ends.
_OPEN_ENDS = frozenset(
    {
        StopReason.INTERRUPTED,
        StopReason.TIME_LIMIT,
        StopReason.BUDGET,
        StopReason.PROVIDER_ERROR,
        StopReason.SANDBOX_LOST,
    }
)


@dataclass(frozen=True, slots=True)
class Today:
    """What a run would go on with: the tree's digest, the tests, the ladder and those of its rungs that cannot be used.

    ``secrets`` are not written into a record, and so are left out of what is compared with one.
    """

    tree: str
    session: Session
    ladder: Ladder
    skipped: tuple[Skipped, ...]
    runs_model_code: bool
    secrets: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Earlier:
    """An earlier run: its record, its events, the state to go on from, and the seconds that it took."""

    record: Record
    events: tuple[dict[str, Any], ...]
    kept: graph.Kept
    seconds: float


def earlier(records: Records, run: str, today: Today) -> Earlier:
    """Return the run of that name (empty: the newest) to go on with, as things are today.

    Its ladder is today's, models and servers included, so that no rung is handed an answer of another model.

    :raises UsageError: where it came to an end, had not begun in earnest, or was begun otherwise; it says how.
    """
    try:
        record = records.find(run or None)
        events = tuple(journal.read(record.folder / "decisions.jsonl"))
        ended = _ended(events)
        kept = _kept(record.folder / CHECKPOINTS, ended=ended is not None)
    except RecordError as error:
        raise UsageError(f"--noepi-resume: {error}", hint="Leave it out to begin a new run.") from error
    why_not = _why_not(record.run_id, events, ended, today)
    if why_not:
        raise UsageError(f"--noepi-resume: {why_not}", hint=_NEW)
    if kept is None:
        raise UsageError(f"--noepi-resume: {record.run_id} ended before its first attempt", hint=_NEW)
    return Earlier(record, events, _usable(_same_tests(kept, today), today), seconds_used(events))


_NEW = "Leave out --noepi-resume to begin a new run."


def selected(session: Session) -> str:
    """Return a digest of the tests that were run, whatever came of them."""
    tests = sorted({*session.failed, *session.passed})
    return hashlib.sha256("\n".join(tests).encode("utf-8", "backslashreplace")).hexdigest()[:16]


def _ended(events: tuple[dict[str, Any], ...]) -> StopReason | None:
    """Return why the run ended, if it did; a later resumption opens it again."""
    last = next((e for e in reversed(events) if e["event"] in ("run_ended", "resumed", "run_started")), None)
    return StopReason(last["stop_reason"]) if last and last["event"] == "run_ended" else None


def _kept(file: Path, *, ended: bool) -> graph.Kept | None:
    return graph.resumable(file, ended=ended) if file.is_file() else None


def _why_not(run_id: str, events: tuple[dict[str, Any], ...], ended: StopReason | None, today: Today) -> str:
    """Return the first thing that is against going on, or an empty text."""
    if ended is not None and ended not in _OPEN_ENDS:
        return f"{run_id} came to its end ({ended})"
    begun = next((event for event in events if event["event"] == "run_started"), {})
    if begun.get("tree") != today.tree:
        return f"files have changed since {run_id} began"
    otherwise = _other_ladder(begun.get("ladder"), journal.kept(encode(today.ladder), today.secrets))
    if otherwise:
        return f"{run_id} was begun with {otherwise}"
    if begun.get("tests") != selected(today.session):
        return f"{run_id} was begun over other tests; give pytest the same arguments"
    return ""


def _other_ladder(then: Any, now: Mapping[str, Any]) -> str:
    """Say with which other ladder a run was begun; empty where it is the same."""
    if then == now:
        return ""
    if not isinstance(then, Mapping) or then.get("name") != now["name"]:
        return f"--noepi-ladder={then.get('name', '?') if isinstance(then, Mapping) else '?'}"
    for name, rung in {**dict(then.get("rungs", {})), **now["rungs"]}.items():
        before, after = then.get("rungs", {}).get(name, {}), now["rungs"].get(name, {})
        for key in rung:
            if before.get(key) != after.get(key):
                return f"another {now['name']}: rungs.{name}.{key} was {before.get(key)!r} and is {after.get(key)!r}"
    return f"another {now['name']}: its start or its description has changed"


def _same_tests(kept: graph.Kept, today: Today) -> graph.Kept:
    """See that what was to be mended still fails, and nothing else that was sound.

    :raises UsageError: where not, with the test.
    """
    frozen, failed = kept.state.baseline, set(today.session.failed)
    mended = next((test for test in frozen.targets if test not in failed), None)
    if mended:
        raise UsageError(f"--noepi-resume: {mended} failed when the run began, and passes now", hint=_NEW)
    broken = next((test for test in frozen.guards if test in failed), None)
    if broken:
        raise UsageError(f"--noepi-resume: {broken} passed when the run began, and fails now", hint=_NEW)
    return kept


def _usable(kept: graph.Kept, today: Today) -> graph.Kept:
    """Return the state on a rung that can be used today: from its own along ``on_plateau``.

    :raises UsageError: where there is none, or where it holds code that may not run here.
    """
    state, decision = kept.state, kept.state.decision
    wrote = next((a.rung for a in state.attempts if today.ladder.rungs[a.rung].kind != "search"), None)
    if wrote is not None and not today.runs_model_code:
        raise UsageError(
            f"--noepi-resume: the run holds code that {wrote} wrote, which needs Docker here",
            hint="Start Docker, or choose --noepi-sandbox process (it prints what it does not protect).",
        )
    rung = _led_past(state.rung, today)
    if decision is not None and decision.rung:
        decision = replace(decision, rung=_led_past(decision.rung, today))
    led = replace(state, rung=rung, decision=decision, left_behind=_left_behind(state, rung))
    return kept if led == state else replace(kept, state=led, moved=True)


def _left_behind(state: State, rung: str) -> tuple[str, ...]:
    gone = state.rung != rung and state.rung not in state.left_behind
    return (*state.left_behind, state.rung) if gone else state.left_behind


def _led_past(name: str, today: Today) -> str:
    cannot = {skipped.rung: skipped.why for skipped in today.skipped}
    start, seen = name, set[str]()
    while name in cannot and name not in seen:
        seen.add(name)
        name = today.ladder.rungs[name].edge("on_plateau")
    if name == STOP or name in cannot:
        raise UsageError(
            f"--noepi-resume: the run stands at the rung {start}, which cannot be used now ({cannot[start]}), and "
            "its on_plateau leads to none that can",
            hint=_NEW,
        )
    return name
