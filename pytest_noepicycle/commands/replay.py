"""``noepi replay``: every decision of a run taken again, offline, as it was or with other thresholds."""

from __future__ import annotations

import argparse
from typing import Any

from pytest_noepicycle import replay
from pytest_noepicycle.codec import encode
from pytest_noepicycle.commands import records
from pytest_noepicycle.commands.command import DONE, NOT_DONE, print_json
from pytest_noepicycle.domain.decision import Action, Decision
from pytest_noepicycle.replay import Replay, Retaken, Totals
from pytest_noepicycle.report import journal
from pytest_noepicycle.report.text import harmless

_MOST = 40  # decisions on the screen; the JSON document has all of them


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    records.arguments(parser)
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="another value of a threshold, e.g. plateau_window=3",
    )


def run(given: argparse.Namespace) -> int:
    """Take the decisions again; the status is 1 where one does not come out as it is recorded."""
    changed = replay.thresholds(given.set)
    record, _ = records.found(given)
    done = replay.replay(journal.read(record.folder / "decisions.jsonl"), changed)
    agrees = bool(changed) or not done.differing
    if given.json:
        print_json(_document(record.run_id, done))
    else:
        print("\n".join(_lines(record.run_id, done)))
    return DONE if agrees else NOT_DONE


def _document(run_id: str, done: Replay) -> dict[str, Any]:
    parted = done.differing[0] if done.changed and done.differing else None
    return {
        "schema_version": 1,
        "run_id": run_id,
        "set": dict(done.changed),
        "recorded": done.recorded,
        "retaken": len(done.decisions),
        "agree": not done.differing,
        "idle": list(done.idle),
        "decisions": [_entry(one) for one in done.decisions],
        "first_difference": _difference(parted, done) if parted else None,
    }


def _entry(one: Retaken) -> dict[str, Any]:
    decisions = {"recorded": encode(one.recorded), "again": encode(one.again)}
    head = {"number": one.number, "attempts": one.then.attempts, "t": one.then.seconds, "rung": one.rung}
    return {**head, **decisions, "unlike": list(one.unlike)}


def _difference(one: Retaken, done: Replay) -> dict[str, Any]:
    certain = _ends(one.again)
    known = done.rest if certain else done.stint if one.again.action is Action.SWITCH else None
    return {
        "number": one.number,
        "known": encode(known) if known else None,
        "unknown_from": None if certain else one.number,
        "sentence": _meaning(one, done),
    }


def _lines(run_id: str, done: Replay) -> list[str]:
    lines = [_row(one) for one in done.decisions[-_MOST:]]
    if len(done.decisions) > _MOST:
        lines.insert(0, f"… {len(done.decisions) - _MOST} decisions before these …")
    lines.append("")
    if done.changed:
        return [*lines, *_otherwise(done), *_idle(done)]
    if done.differing:
        return [*lines, f"{run_id}: {len(done.differing)} of {done.recorded} decisions do not come out as recorded"]
    return [*lines, f"{run_id}: {_count(done.recorded)} taken again, each comes out as it is recorded"]


def _row(one: Retaken) -> str:
    head = f"{one.number:>4}  attempt {one.then.attempts:<4} {one.then.seconds:>8.1f} s  score {one.then.best:.2f}"
    if not one.unlike:
        return f"{head}  {_said(one.recorded)}"
    return f"{head}\n        recorded: {_said(one.recorded)}\n        again:    {_said(one.again)}"


def _said(decision: Decision) -> str:
    return f"{decision.action} ({decision.signal}): {harmless(decision.reason, longest=160)}"


def _otherwise(done: Replay) -> list[str]:
    named = ", ".join(f"{name}={value}" for name, value in done.changed.items())
    if not done.differing:
        return [f"with {named} the run would have gone the same way: {_count(done.recorded)}, none of them another"]
    parted = done.differing[0]
    return [f"with {named} the run parts from the record at decision {parted.number}:", f"  {_meaning(parted, done)}"]


def _idle(done: Replay) -> list[str]:
    why = "where tests judge, the threshold never takes the place of the cold proof"
    return [f"{name} decides nothing in this run: {why}" for name in done.idle]


def _meaning(one: Retaken, done: Replay) -> str:
    """Say what the other decision would have saved or lost, and where nobody can know."""
    if _ends(one.again):
        ended = f"stopped there ({one.again.stop})" if one.again.stop else "taken the best so far for solved"
        return f"it would have {ended} and saved {_cost(done.rest)}; {_gain(done.rest)} after it."
    if one.again.action is Action.SWITCH:
        left = f"{_cost(done.stint)} on {one.rung}, and {_gain(done.stint)} there"
        head = f"it would have gone on with {one.again.rung}"
        spared = f" and spared {left}" if done.stint.attempts else ""
        return f"{head}{spared}. What {one.again.rung} would have answered then, the journal cannot know."
    return f"it would have tried {one.rung} again. What that would have brought or cost, the journal cannot know."


def _ends(decision: Decision) -> bool:
    return decision.action in (Action.STOP, Action.VERIFY)


def _cost(totals: Totals) -> str:
    money = "an unknown sum" if totals.usd is None else f"${totals.usd:.4f}"
    tries = f"{totals.attempts} attempt{'' if totals.attempts == 1 else 's'}"
    return f"{tries}, {totals.tokens} tokens, {money}, {totals.seconds:.1f} s"


def _gain(totals: Totals) -> str:
    return f"a gain of {totals.best:.2f} came" if totals.best > 0 else "no gain came"


def _count(number: int) -> str:
    return f"{number} decision{'' if number == 1 else 's'}"
