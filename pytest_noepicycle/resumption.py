"""A run that was broken off, found again: its record, what it had spent and heard, and the state it goes on from."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pytest_noepicycle.adapters.records import Record, Records
from pytest_noepicycle.domain.run import StopReason
from pytest_noepicycle.errors import RecordError, UsageError
from pytest_noepicycle.report import journal
from pytest_noepicycle.supervisor import graph
from pytest_noepicycle.supervisor.resuming import seconds_used

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
class Earlier:
    """An earlier run: its record, its events, the state to go on from, and the seconds that it took."""

    record: Record
    events: tuple[dict[str, Any], ...]
    kept: graph.Kept
    seconds: float


def earlier(records: Records, run: str, tree: str) -> Earlier:
    """Return the run of that name (empty: the newest) to go on with, over a tree of that digest.

    :raises UsageError: where it came to an end, had not begun in earnest, or the tree has changed since.
    """
    try:
        record = records.find(run or None)
        events = tuple(journal.read(record.folder / "decisions.jsonl"))
    except (RecordError, OSError) as error:
        raise UsageError(f"--noepi-resume: {error}", hint="Leave it out to begin a new run.") from error
    ended = _ended(events)
    if ended is not None and ended not in _OPEN_ENDS:
        raise UsageError(f"--noepi-resume: {record.run_id} came to its end ({ended})", hint=_NEW)
    if _tree(events) != tree:
        raise UsageError(f"--noepi-resume: files have changed since {record.run_id} began", hint=_NEW)
    kept = _kept(record.folder / CHECKPOINTS, ended=ended is not None)
    if kept is None:
        raise UsageError(f"--noepi-resume: {record.run_id} ended before its first attempt", hint=_NEW)
    return Earlier(record, events, kept, seconds_used(events))


_NEW = "Leave out --noepi-resume to begin a new run."


def _ended(events: tuple[dict[str, Any], ...]) -> StopReason | None:
    """Return why the run ended, if it did; a later resumption opens it again."""
    last = next((e for e in reversed(events) if e["event"] in ("run_ended", "resumed", "run_started")), None)
    return StopReason(last["stop_reason"]) if last and last["event"] == "run_ended" else None


def _tree(events: tuple[dict[str, Any], ...]) -> str:
    return str(next((e.get("tree", "") for e in events if e["event"] == "run_started"), ""))


def _kept(file: Path, *, ended: bool) -> graph.Kept | None:
    return graph.resumable(file, ended=ended) if file.is_file() else None
