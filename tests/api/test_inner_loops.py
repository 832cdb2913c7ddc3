"""Inner loops of every kind: how they are called, what they are told, what they are charged, how they fail."""

from __future__ import annotations

import asyncio
import math
from types import SimpleNamespace

import pytest
from loops import Loop, first_number

from pytest_noepicycle import LoopContext, ScoreError, Supervisor, UsageError
from pytest_noepicycle.domain.loop import DIRECTIONS

ONE = {"alone": {"on_plateau": None}}


def solve(inner_loop, **more):
    """Run a task with an inner loop on a ladder of one rung."""
    return Supervisor(score_fn=first_number, **{"ladder": ONE, **more}).run("the task", inner_loop=inner_loop)


class Runnable:
    """Something with LangGraph's methods; ``answer`` is what they return."""

    def __init__(self, *messages, names=("invoke", "ainvoke")):
        self.asked = []
        answer = {"messages": [{"role": "user", "content": "?"}, *messages]}

        def invoke(state):
            self.asked.append(state["messages"])
            return answer

        async def ainvoke(state):
            await asyncio.sleep(0)
            self.asked.append("async")
            return answer

        for name, method in (("invoke", invoke), ("ainvoke", ainvoke)):
            if name in names:
                setattr(self, name, method)


def ai(text, **usage):
    """Return a message of a model, as LangChain has it."""
    return {"type": "ai", "content": text, "usage_metadata": usage or None}


def takes_context(context: LoopContext):
    return "1.0 a"


def takes_keywords(task, previous_solution, previous_feedback, model):
    return f"1.0 {task} {previous_solution} {previous_feedback} {model}"


def takes_some_keywords(*, task, model="none"):
    return f"1.0 {task} {model}"


def takes_anything(**told):
    return f"1.0 {sorted(told)}"


async def takes_context_async(context):
    await asyncio.sleep(0)
    return "1.0 b", 7


@pytest.mark.parametrize(
    ("inner_loop", "solution"),
    [
        (takes_context, "1.0 a"),
        (takes_context_async, "1.0 b"),
        (takes_keywords, "1.0 the task None None alone"),
        (takes_some_keywords, "1.0 the task alone"),
        (takes_anything, "1.0 ['model', 'previous_feedback', 'previous_solution', 'task']"),
        (lambda task: f"1.0 {type(task).__name__}", "1.0 LoopContext"),
        (Runnable(ai("1.0 c")), "1.0 c"),
        (Runnable(ai("1.0 d"), names=("ainvoke",)), "1.0 d"),
        (Runnable(ai([{"type": "text", "text": "1.0 "}, {"type": "image"}, "e"])), "1.0 e"),
        (Runnable(ai("```\n1.0 f\n```")), "1.0 f"),
        (lambda context: SimpleNamespace(content="1.0 g", type="ai"), "1.0 g"),
    ],
)
def test_every_kind_is_called_in_its_own_way(caller, inner_loop, solution):
    """Context, the keywords of 0.1.1, or messages; sync and async."""
    result = solve(inner_loop)
    assert (result.solution, result.stop_reason) == (solution, "solved")


@pytest.mark.parametrize(
    ("inner_loop", "says"),
    [(3, "is int"), (lambda: "x", "takes (nothing)"), (lambda a, b: "x", "takes (a, b)"), ("agent", "is str")],
)
def test_what_cannot_be_called_is_told_before_anything_runs(caller, inner_loop, says):
    """With the ways that there are."""
    with pytest.raises(UsageError) as told:
        solve(inner_loop)
    assert says in str(told.value)
    assert "LoopContext" in told.value.hint


def test_the_context_holds_the_best_the_feedback_and_a_direction(caller):
    """The second iteration is told what the first came to; a stalled one gets a new way of looking each time."""
    loop = Loop([0.5, 0.4, 0.5])
    solve(loop, plateau_window=4, fixation_threshold=9, ladder={"a": {"on_plateau": None, "on_regression": "a"}})
    first, second = loop.seen[:2]
    assert (first.task, first.best, first.feedback, first.direction, first.attempts) == ("the task", "", "", "", ())
    assert (second.best, second.best_score, second.tokens_left) == ("0.5 number 1", 0.5, 49_990)
    assert "scored 0.50" in second.feedback
    loop = Loop([0.5])
    solve(loop, plateau_window=4, fixation_threshold=9)
    assert [context.direction for context in loop.seen] == ["", "", *DIRECTIONS[:3]]


@pytest.mark.parametrize(
    ("inner_loop", "tokens"),
    [
        (lambda context: ("1.0", 123), 123),
        (Runnable(ai("think", input_tokens=10, output_tokens=5), ai("1.0", input_tokens=20, output_tokens=1)), 36),
        (Runnable(ai("1.0", input_tokens=50, output_tokens=5, input_token_details={"cache_read": 40})), 55),
        (Runnable(ai("1.0", input_tokens=10, output_tokens=5, total_tokens=20)), 20),
        (lambda context: "1.0", 5),
    ],
    ids=["its own figure", "all its messages", "cache", "total above its parts", "counted from the texts"],
)
def test_what_an_iteration_is_charged(caller, inner_loop, tokens):
    """By what it says of itself, or counted from what went in and came out; never nothing."""
    assert solve(inner_loop).tokens_spent == tokens


def test_messages_that_an_agent_remembers_are_charged_once(caller):
    """An agent with a memory returns its old messages again, under their ids."""
    old = {**ai("0.1", input_tokens=100, output_tokens=10), "id": "m1"}
    new = {**ai("0.2", input_tokens=200, output_tokens=10), "id": "m2"}
    answers = iter([{"messages": [old]}, {"messages": [old, new]}, {"messages": [old, new]}])
    result = solve(SimpleNamespace(invoke=lambda state: next(answers)), fixation_threshold=2)
    assert [entry.tokens_used for entry in result.history][:2] == [110, 210]


def test_cached_tokens_cost_what_cached_tokens_cost(caller):
    """The kinds are kept apart where there is a price."""
    agent = Runnable(ai("1.0", input_tokens=1_000_000, output_tokens=0, input_token_details={"cache_read": 900_000}))
    rung = {"alone": {"price": {"input": 1.0, "output": 5.0, "cache_read": 0.1}}}
    result = solve(agent, ladder=rung, budget_usd=1.0, budget_cap=2_000_000)
    assert result.cost_usd == pytest.approx(0.1 + 0.09)


def test_the_next_iteration_starts_only_if_the_dearest_so_far_still_fits(caller):
    """Two of 400 tokens, and the 200 that are left are not enough for a third."""
    loop = Loop([0.1, 0.2, 0.3], tokens=400)
    result = solve(loop, budget_cap=1000, budget_low_pct=0.0)
    assert (len(loop.seen), result.tokens_spent, result.stop_reason) == (2, 800, "budget")
    assert result.solution == "0.2 number 2"
    assert "400 tokens, 200 are left" in result.history[-1].note


def test_an_overshoot_is_named_and_ends_the_run_with_the_best(caller):
    """The second iteration takes more than is left: said, counted in full, and nothing starts after it."""
    tokens = iter([300, 5000])
    loop = Loop([0.3, 0.6, 0.9])
    with pytest.warns(UserWarning, match=r"took 5000 where 700 were left \(in all 5300 of 1000 tokens\)"):
        result = solve(lambda context: (loop(context)[0], next(tokens)), budget_cap=1000)
    assert (result.solution, result.tokens_spent, result.stop_reason) == ("0.6 number 2", 5300, "budget")


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (lambda: 1 / 0, "raised ZeroDivisionError"),
        (lambda: None, "returned NoneType"),
        (lambda: ("0.5", -3), "returned -3 as its tokens"),
        (lambda: ("0.5", True), "returned True as its tokens"),
        (lambda: {"messages": []}, "without messages"),
        (lambda: {"messages": [ai("")]}, "no text"),
    ],
)
def test_a_loop_that_fails_is_an_outcome_with_its_reason(caller, answer, says):
    """The first candidate stays the best, the ladder goes on, the end is named; what it took stays charged."""

    def loop(context):
        return ("0.5 good", 20) if not context.best else answer()

    result = solve(loop, ladder={"a": {"on_plateau": "b"}, "b": {"on_plateau": None}})
    assert (result.solution, result.score, result.stop_reason) == ("0.5 good", 0.5, "provider_error")
    assert says in str(result.history[1].error)
    assert [entry.model for entry in result.history] == ["a", "a", "b"]
    assert result.history[1].tokens_used >= 20


def test_an_async_loop_that_takes_too_long_is_cut_off(caller):
    """The time limit holds for what can be awaited; nothing of it goes on."""
    ended = []

    async def loop(context):
        try:
            await asyncio.sleep(600)
        finally:
            ended.append(True)

    result = solve(loop, time_limit=1.0)
    assert (result.stop_reason, ended) == ("time_limit", [True])
    assert "longer than there was time for" in str(result.history[0].error)


def test_ctrl_c_keeps_the_best(caller):
    """Wherever it strikes."""
    loop = Loop([0.5])

    def interrupted(context):
        if context.best:
            raise KeyboardInterrupt
        return loop(context)

    result = solve(interrupted)
    assert (result.solution, result.stop_reason) == ("0.5 number 1", "interrupted")


@pytest.mark.parametrize(
    ("scorer", "says"),
    [
        (lambda text: 1.5, "returned 1.5"),
        (lambda text: -0.1, "returned -0.1"),
        (lambda text: math.nan, "returned nan"),
        (lambda text: "1.0", "returned '1.0', which is not a number"),
        (lambda text: None, "returned None"),
        (lambda text: {}["x"], "raised KeyError"),
    ],
)
def test_what_is_no_score_is_an_error_and_never_a_solution(caller, scorer, says):
    """The run so far, with its best, is the error's."""
    scores = iter([lambda text: 0.5, scorer])
    supervisor = Supervisor(score_fn=lambda text: next(scores)(text), ladder=ONE)
    with pytest.raises(ScoreError) as told:
        supervisor.run("the task", inner_loop=Loop([0.5, 1.0]))
    assert says in str(told.value)
    assert "0.0 to 1.0" in told.value.hint
    assert (told.value.result.solution, told.value.result.score) == ("0.5 number 1", 0.5)


def test_a_run_is_recorded_where_a_folder_is_named(caller):
    """Every event that a decision needs, in the journal that every other run has."""
    from pytest_noepicycle.report.journal import read

    solve(Loop([0.5, 1.0]), dir="records")
    (record,) = (caller / "records/runs").iterdir()
    events = [event["event"] for event in read(record / "decisions.jsonl")]
    assert events[:2] == ["run_started", "task"]
    assert events[2:6] == ["call_reserved", "call_settled", "attempt", "decision"]
    assert events[-1] == "run_ended"


def test_arun_awaits_on_the_callers_own_loop(caller):
    """Scorer and inner loop see the loop of the caller, which goes on meanwhile."""
    seen, ticks = set(), []

    async def loop(context):
        seen.add(asyncio.get_running_loop())
        await asyncio.sleep(0.01)
        return f"{0.5 + len(context.attempts) / 2}", 5

    async def score(text):
        seen.add(asyncio.get_running_loop())
        return first_number(text)

    async def main():
        async def tick():
            while True:
                ticks.append(1)
                await asyncio.sleep(0)

        beside = asyncio.create_task(tick())
        result = await Supervisor(score_fn=score, ladder=ONE).arun("the task", inner_loop=loop)
        beside.cancel()
        return result, asyncio.get_running_loop()

    result, own = asyncio.run(main())
    assert (result.stop_reason, result.iterations, seen) == ("solved", 2, {own})
    assert len(ticks) > 1


def test_run_inside_a_running_loop_has_one_of_its_own(caller):
    """As in a notebook: an async inner loop works there, the same loop for the whole run."""
    seen = []

    async def loop(context):
        seen.append(asyncio.get_running_loop())
        return f"{0.5 + len(context.attempts) / 2}", 5

    async def main():
        return solve(loop), asyncio.get_running_loop()

    result, outer = asyncio.run(main())
    assert result.stop_reason == "solved"
    assert len(set(seen)) == 1
    assert outer not in seen


def test_arun_that_is_cancelled_ends_and_leaves_nothing(caller):
    """What is awaited is cancelled, the thread ends, and nothing else is asked."""
    calls, ended = [], []

    async def loop(context):
        calls.append(1)
        try:
            await asyncio.sleep(600)
        finally:
            ended.append(1)

    async def main():
        run = asyncio.create_task(Supervisor(score_fn=first_number, ladder=ONE).arun("the task", inner_loop=loop))
        while not calls:
            await asyncio.sleep(0.01)
        run.cancel()
        await run

    with pytest.raises(asyncio.CancelledError):
        asyncio.run(main())
    assert (calls, ended) == ([1], [1])
