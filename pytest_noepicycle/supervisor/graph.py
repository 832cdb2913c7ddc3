"""The loop, drawn by LangGraph: the nodes do one step each, pure functions decide which comes next."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypedDict

from pytest_noepicycle.codec import decode, encode
from pytest_noepicycle.domain.decision import Action
from pytest_noepicycle.errors import RecordError, SandboxError
from pytest_noepicycle.supervisor import nodes
from pytest_noepicycle.supervisor.state import State
from pytest_noepicycle.supervisor.untraced import untraced
from pytest_noepicycle.supervisor.work import Work

Step = Callable[[State, Work], State]


class Box(TypedDict):
    """What LangGraph keeps: the state as JSON primitives, so that any checkpointer can hold it."""

    state: dict[str, Any]


def _booked(step: Step) -> Step:
    """Let the state know how many calls were booked when its step ended: later ones belong to the next."""

    def stamped(state: State, work: Work) -> State:
        return replace(step(state, work), calls=len(work.purse.ledger.entries))

    return stamped


_TREE_STEPS: Mapping[str, Step] = {
    "baseline": _booked(nodes.baseline),
    "attempt": _booked(nodes.attempt),
    "decide": _booked(nodes.decide),
    "climb": _booked(nodes.climb),
    "verify": _booked(nodes.verify),
    "compare": _booked(nodes.compare),
    "close": _booked(nodes.close),
}


def build(work: Any, steps: Mapping[str, Callable[[Any, Any], Any]] = _TREE_STEPS, kind: type[Any] = State) -> Any:
    """Return the uncompiled graph over the given ports; the caller compiles it.

    The steps go by the names baseline, attempt, decide, climb, verify and close, and keep their state as a ``kind``.
    """
    from langgraph.graph import END, START, StateGraph

    graph = StateGraph(Box)
    for name, step in steps.items():
        graph.add_node(name, _node(step, work, kind))  # type: ignore[call-overload]
    graph.add_edge(START, "baseline")
    graph.add_conditional_edges("baseline", _after_baseline, {"attempt": "attempt", "stop": END})
    graph.add_edge("attempt", "decide")
    ways: dict[Hashable, str] = {"continue": "attempt", "switch": "climb", "verify": "verify", "stop": "close"}
    graph.add_conditional_edges("decide", _after_decision, ways)
    graph.add_edge("climb", "attempt")
    solved = "compare" if "compare" in steps else END
    graph.add_conditional_edges("verify", _after_verdict, {"solved": solved, "refuted": "decide"})
    if "compare" in steps:
        graph.add_edge("compare", END)
    graph.add_edge("close", END)
    return graph


@dataclass(frozen=True, slots=True)
class Kept:
    """A state that was kept before a step which a broken-off run did not finish, and its name in the file.

    ``moved`` says that the state is not the one in the file any more: it was led past what cannot be used now.
    """

    state: State
    checkpoint: str
    moved: bool = False


def run(start: State, work: Work, checkpoints: Path | None = None, onward: Kept | None = None) -> State:
    """Walk the graph to its end; Ctrl-C ends it with the last whole state.

    With a file for ``checkpoints`` each state is kept there before the next step begins; ``onward`` is one of them,
    from which the walk is to go on.
    """
    last = onward.state if onward else start
    try:
        with untraced(), _saver(checkpoints) as saver:
            graph = build(work).compile(checkpointer=saver)
            first = None if onward else {"state": encode(start)}
            config = _config(onward.checkpoint if onward else None)
            if onward and onward.moved:
                config = {**config, **graph.update_state(config, {"state": encode(onward.state)})}
            if onward:
                nodes.measure_again(onward.state, work)
            for values in graph.stream(first, config, stream_mode="values", durability="sync" if saver else None):
                last = decode(State, values["state"])
    except KeyboardInterrupt:
        return nodes.interrupted(last, work)
    except SandboxError as error:
        return nodes.lost(last, work, error)
    return last


def resumable(checkpoints: Path, *, ended: bool) -> Kept | None:
    """Return the newest state that a run can go on from; None where it had not come so far.

    A run that ``ended`` for want of something goes on with the attempt before it; one that was killed, with the very
    step that it was in.

    :raises RecordError: where the file is damaged.
    """
    steps = {"attempt"} if ended else {"attempt", "decide", "climb", "verify", "close"}
    try:
        with _saver(checkpoints) as saver:
            return _newest(build(None).compile(checkpointer=saver), steps)  # only looked at: no step is taken
    except (ValueError, KeyError, TypeError) as error:  # what cannot be read back as the state that was kept
        raise _damaged(checkpoints, error) from error


def _newest(graph: Any, steps: set[str]) -> Kept | None:
    for kept in graph.get_state_history(_config()):
        box = kept.values.get("state")
        state = decode(State, box) if box else None
        if state is not None and state.stop is None and state.baseline.targets and set(kept.next) & steps:
            return Kept(state, kept.config["configurable"]["checkpoint_id"])
    return None


def _damaged(checkpoints: Path, error: Exception) -> RecordError:
    hint = "See that the disk is not full; a run whose states are damaged cannot be gone on with, begin a new one."
    return RecordError(f"the states kept in {checkpoints} cannot be read or written: {error}", hint=hint)


def _config(checkpoint: str | None = None) -> Any:
    # The budget ends the loop, and the ladder does; LangGraph's own limit must not be the first.
    named = {"thread_id": "run", "checkpoint_ns": "", **({"checkpoint_id": checkpoint} if checkpoint else {})}
    return {"recursion_limit": 1_000_000, "configurable": named}


@contextlib.contextmanager
def _saver(path: Path | None) -> Iterator[Any]:
    if path is None:
        yield None
        return
    from langgraph.checkpoint.sqlite import SqliteSaver

    try:
        with contextlib.closing(sqlite3.connect(path, check_same_thread=False)) as connection:
            yield SqliteSaver(connection)
    except sqlite3.Error as error:
        raise _damaged(path, error) from error


def _node(step: Callable[[Any, Any], Any], work: Any, kind: type[Any]) -> Callable[[Box], Box]:
    def node(box: Box) -> Box:
        return {"state": encode(step(decode(kind, box["state"]), work))}

    return node


def _after_baseline(box: Box) -> str:
    return "stop" if box["state"]["stop"] else "attempt"


def _after_decision(box: Box) -> str:
    return str(Action(box["state"]["decision"]["action"]))


def _after_verdict(box: Box) -> str:
    return "solved" if box["state"]["stop"] else "refuted"
