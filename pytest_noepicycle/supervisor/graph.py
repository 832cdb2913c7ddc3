"""The loop, drawn by LangGraph: the nodes do one step each, pure functions decide which comes next."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, TypedDict

from pytest_noepicycle.codec import decode, encode
from pytest_noepicycle.domain.decision import Action
from pytest_noepicycle.errors import SandboxError
from pytest_noepicycle.supervisor import nodes
from pytest_noepicycle.supervisor.state import State
from pytest_noepicycle.supervisor.work import Work

Step = Callable[[State, Work], State]


class Box(TypedDict):
    """What LangGraph keeps: the state as JSON primitives, so that any checkpointer can hold it."""

    state: dict[str, Any]


def build(work: Work) -> Any:
    """Return the uncompiled graph over the given ports; the caller compiles it."""
    from langgraph.graph import END, START, StateGraph

    graph = StateGraph(Box)
    steps: dict[str, Step] = {
        "baseline": nodes.baseline,
        "attempt": nodes.attempt,
        "decide": nodes.decide,
        "climb": nodes.climb,
        "verify": nodes.verify,
        "close": nodes.close,
    }
    for name, step in steps.items():
        graph.add_node(name, _node(step, work))  # type: ignore[call-overload]
    graph.add_edge(START, "baseline")
    graph.add_conditional_edges("baseline", _after_baseline, {"attempt": "attempt", "stop": END})
    graph.add_edge("attempt", "decide")
    ways: dict[Hashable, str] = {"continue": "attempt", "switch": "climb", "verify": "verify", "stop": "close"}
    graph.add_conditional_edges("decide", _after_decision, ways)
    graph.add_edge("climb", "attempt")
    graph.add_conditional_edges("verify", _after_verdict, {"solved": END, "refuted": "decide"})
    graph.add_edge("close", END)
    return graph


def run(start: State, work: Work) -> State:
    """Walk the graph to its end; Ctrl-C ends it with the last whole state."""
    from langsmith import tracing_context

    graph = build(work).compile()
    # The budget ends the loop, and the ladder does; LangGraph's own limit must not be the first.
    config = {"recursion_limit": 1_000_000}
    last = start
    try:
        with tracing_context(enabled=False):
            for values in graph.stream({"state": encode(start)}, config, stream_mode="values"):
                last = decode(State, values["state"])
    except KeyboardInterrupt:
        return nodes.interrupted(last, work)
    except SandboxError as error:
        return nodes.lost(last, work, error)
    return last


def _node(step: Step, work: Work) -> Callable[[Box], Box]:
    def node(box: Box) -> Box:
        return {"state": encode(step(decode(State, box["state"]), work))}

    return node


def _after_baseline(box: Box) -> str:
    return "stop" if box["state"]["stop"] else "attempt"


def _after_decision(box: Box) -> str:
    return str(Action(box["state"]["decision"]["action"]))


def _after_verdict(box: Box) -> str:
    return "solved" if box["state"]["stop"] else "refuted"
