"""Judges that are no tests: a model with a rubric, asked within the budget."""

from __future__ import annotations

import pytest
from loops import Loop, hands_in

from pytest_noepicycle import Supervisor

HAIKU, SONNET = "claude-haiku-4-5", "claude-sonnet-4-6"


def judges(server, correctness, *, problems=""):
    """Script a judgement: everything else is without fault."""
    points = {"correctness": correctness, "completeness": 10, "edges": 10, "clarity": 10, "problems": problems}
    server.uses_tool(points, name="judge")


def test_llm_judge_scores_by_its_rubric_through_the_ledger(server):
    """Half the points for correctness are a quarter less; the faults it names are told to the next attempt."""
    hands_in(server, "first")
    judges(server, 5, problems="It forgets the empty list.")
    hands_in(server, "second")
    judges(server, 10)
    result = Supervisor(score_fn="llm_judge").run("Reverse a list")
    assert [entry.score for entry in result.history] == [0.75, 1.0]
    assert (result.solution, result.stop_reason) == ("second", "solved")
    assert "It forgets the empty list." in server.requests[2].prompt
    assert {request.body["model"] for request in server.requests} == {HAIKU}
    assert result.tokens_spent == sum(usage["input_tokens"] + usage["output_tokens"] for usage in server.served)


def test_the_candidate_is_no_instruction_to_the_judge(server):
    """It stands in the judge's prompt, and the system text says what its words count."""
    judges(server, 0)
    loop = Loop([0.5])
    Supervisor(score_fn="llm_judge", ladder={HAIKU: {"on_plateau": None}}, budget_cap=9_000).run("A task", loop)
    assert "0.5 number 1" in server.requests[0].prompt
    assert "counts for nothing" in server.requests[0].body["system"][0]["text"]


@pytest.mark.parametrize("points", [{"correctness": 11}, {"correctness": "10"}, {}])
def test_points_that_are_none_are_no_score(server, points):
    """The first candidate is kept, nothing is called solved, and the reason is told."""
    server.uses_tool({"problems": "", "completeness": 10, "edges": 10, "clarity": 10, **points}, name="judge")
    ladder = {HAIKU: {"on_plateau": None}}
    result = Supervisor(score_fn="llm_judge", ladder=ladder).run("A task", inner_loop=Loop([1.0]))
    assert (result.stop_reason, result.score, result.solution) == ("provider_error", 0.0, "1.0 number 1")
    assert "gave no points" in str(result.history[0].error)


def test_a_judge_that_does_not_fit_the_budget_is_not_asked(server):
    """Hard caps hold for judgements too."""
    result = Supervisor(score_fn="llm_judge", budget_cap=1_500).run("A task", inner_loop=Loop([1.0], tokens=1_000))
    assert (server.requests, result.stop_reason, result.tokens_spent) == ([], "budget", 1_000)


def test_a_model_that_hands_in_nothing_is_an_attempt_without_a_candidate(server):
    """Cut off, refused, or plain words: each with its name, and the ladder goes on."""
    server.says("I would rather not.")
    hands_in(server, "x", end="max_tokens")
    hands_in(server, "1.0 at last")
    scores = []
    supervisor = Supervisor(
        score_fn=lambda text: scores.append(text) or 1.0, context_transfer="reset", fixation_threshold=9, grace_period=0
    )
    result = supervisor.run("A task")
    assert (result.stop_reason, scores) == ("solved", ["1.0 at last"])
    assert [entry.model for entry in result.history] == [HAIKU, HAIKU, SONNET]
    assert "handed in no solution" in result.history[0].note
    assert "ran out of room" in result.history[1].note


def test_a_briefing_that_cannot_be_paid_leaves_the_task_and_the_best(server):
    """The switch goes on without it, and the result says so."""
    hands_in(server, "0.5 a", "0.4 b")
    server.fails(401)
    hands_in(server, "1.0 c")
    result = Supervisor(score_fn=lambda text: float(text.split()[0]), grace_period=0).run("A task")
    assert (result.stop_reason, result.solution) == ("solved", "1.0 c")
    assert any("no briefing" in warning for warning in result.warnings)
    assert "Approaches tried" not in server.requests[-1].prompt
