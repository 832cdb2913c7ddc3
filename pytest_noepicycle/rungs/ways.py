"""The ways to call an inner loop: with a context, by the keywords of noepicycle 0.1.1, or as a LangGraph runnable."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from pytest_noepicycle.domain.loop import LoopContext
from pytest_noepicycle.errors import UsageError
from pytest_noepicycle.rungs.handed_in import HandedIn, from_callable, from_runnable

_KEYWORDS = frozenset({"task", "previous_solution", "previous_feedback", "model"})
_PREVIOUS = frozenset({"previous_solution", "previous_feedback"})
_STARRED = frozenset({inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD})
_BY_NAME = frozenset({inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY})
_HINT = (
    "An inner loop is a callable that takes one LoopContext, a callable with the keywords task, previous_solution, "
    "previous_feedback and model, or an object with LangGraph's invoke."
)


@dataclass(frozen=True, slots=True)
class Way:
    """How to call an inner loop, and how to read what it returns (after waiting, where that is awaitable)."""

    call: Callable[[LoopContext], Any]
    read: Callable[[Any], HandedIn]


def way_of(inner_loop: Any, *, prefer_async: bool) -> Way:
    """Return how to call an inner loop; a runnable with both ways is called by the preferred one.

    :raises UsageError: where it cannot be called in any way that is known.
    """
    names = ("ainvoke", "invoke") if prefer_async else ("invoke", "ainvoke")
    methods = [getattr(inner_loop, name, None) for name in names]
    method = next((method for method in methods if callable(method)), None)
    if method is not None:
        return Way(lambda context: method({"messages": [message(context)]}), from_runnable)
    if not callable(inner_loop):
        raise UsageError(f"inner_loop is {type(inner_loop).__name__}, which cannot be called", hint=_HINT)
    keywords = _keywords(inner_loop)
    if keywords:
        return Way(lambda context: inner_loop(**_by_keyword(context, keywords)), from_callable)
    return Way(inner_loop, from_callable)


def message(context: LoopContext) -> dict[str, str]:
    """Return the context as the one message that a runnable gets."""
    return {"role": "user", "content": prompt(context)}


def prompt(context: LoopContext) -> str:
    """Return the context as text: the task, the best so far, what the last candidate came to, how to go on."""
    parts = [f"Task: {context.task}"]
    if context.best:
        parts.append(f"Best solution so far (score {context.best_score:.2f}):\n\n{context.best}")
    if context.feedback:
        parts.append(context.feedback)
    if context.constraints:
        parts.append("What must go on holding:\n" + "\n".join(f"- {one}" for one in context.constraints))
    if context.direction:
        parts.append(f"Look at it another way this time. {context.direction}")
    parts.append("Answer with the whole solution and nothing else.")
    return "\n\n".join(parts)


def _by_keyword(context: LoopContext, names: frozenset[str]) -> dict[str, Any]:
    values = {
        "task": context.task,
        "previous_solution": context.best or None,
        "previous_feedback": context.feedback or None,
        "model": context.model,
    }
    return {name: values[name] for name in values if name in names}


def _keywords(inner_loop: Callable[..., Any]) -> frozenset[str]:
    """Return the keywords of noepicycle 0.1.1 that a callable takes, or none where it takes a context.

    :raises UsageError: where it can be called in neither way.
    """
    try:
        parameters = list(inspect.signature(inner_loop).parameters.values())
    except (TypeError, ValueError):
        return frozenset()  # built in, without a signature: one argument is the rule
    needed = {p.name for p in parameters if p.default is p.empty and p.kind not in _STARRED}
    named = _KEYWORDS & {p.name for p in parameters if p.kind in _BY_NAME}
    anything = any(p.kind is p.VAR_KEYWORD for p in parameters)
    if needed <= _KEYWORDS and (named & _PREVIOUS or len(named) > 1 or (anything and not _takes_one(parameters))):
        return _KEYWORDS if anything else named
    if len(needed) > 1 or not _takes_one(parameters):
        shown = ", ".join(str(p) for p in parameters) or "nothing"
        raise UsageError(f"inner_loop takes ({shown}), and cannot be called in a way that is known", hint=_HINT)
    return frozenset()


def _takes_one(parameters: list[inspect.Parameter]) -> bool:
    return any(p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD, p.VAR_POSITIONAL) for p in parameters)
