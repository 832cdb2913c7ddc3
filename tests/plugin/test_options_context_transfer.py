"""``--noepi-context-transfer`` and its ini twin: what a model is told of the attempts of the one before it."""

from __future__ import annotations

from typing import Any

import model_server
import pytest
from loops import briefs
from story import Story, Told

FILES = {
    "words.py": "def plural(word):\n    raise NotImplementedError\n",
    "test_words.py": "from words import plural\n\n\ndef test_plural():\n    assert plural('box') == 'boxes'\n",
}
WRONG = [("words.py", "raise NotImplementedError", f"return 'FAILED_TEXT_{n}'") for n in "ab"]
MEND = ("words.py", "    raise NotImplementedError\n", "    return word + ('es' if word[-1] in 'sxz' else 's')\n")
KEY = {"ANTHROPIC_API_KEY": model_server.KEY}


def switched(story: Any, server: model_server.ModelServer, *arguments: str, ini: str = "") -> Told:
    """Let a small model fail twice and a large one take over."""
    at = f'base_url: "{server.url}"'
    ladder = f"""
        name: two
        rungs:
          small: {{model: claude-haiku-4-5, {at}, price: {{input: 1, output: 5}}, max_output: 600, on_plateau: large}}
          large: {{model: claude-opus-4-8, {at}, price: {{input: 5, output: 25}}, max_output: 600, on_plateau: stop}}
    """
    ini = f"[pytest]\nnoepi_reruns = 1\n{ini}"
    place: Story = story({**FILES, "pytest.ini": ini, "ladder.yaml": ladder})
    return place.fix("--noepi-ladder=ladder.yaml", *arguments, env=KEY)


def calls(told: Told) -> list[tuple[str, str, dict[str, str]]]:
    """Return rung, purpose and texts of each call of a run."""
    return [(e["rung"], e["purpose"], e["question"]) for e in told.events if e["event"] == "call_reserved"]


def test_a_summary_is_written_by_the_cheap_model_and_holds_no_text_of_what_failed(story, server):
    """Even a briefing that quotes the code is passed on without it; its call is in the ledger."""
    server.edits(WRONG[0], usage={"input_tokens": 500, "output_tokens": 50})
    server.edits(WRONG[1], usage={"input_tokens": 500, "output_tokens": 50})
    briefs(server, "A constant was returned.\n    return 'FAILED_TEXT_b'\n```\nreturn 1\n```")
    server.edits(MEND)
    told = switched(story, server)
    assert told.result["stop_reason"] == "solved", told.text
    asked = calls(told)
    assert [call[:2] for call in asked] == [
        ("small", "preflight"),
        ("small", "propose"),
        ("small", "briefing"),
        ("large", "propose"),
    ]
    briefing, last = asked[2][2], asked[3][2]
    assert "FAILED_TEXT_a" in briefing["prompt"]
    assert "A constant was returned." in last["prompt"]
    assert "FAILED_TEXT" not in last["prompt"] + last["stable"]
    assert "```" not in last["prompt"]


@pytest.mark.parametrize(
    ("ini", "arguments", "told_of_it"),
    [
        ("noepi_context_transfer = reset\n", (), False),
        ("noepi_context_transfer = reset\n", ("--noepi-context-transfer=full",), True),
    ],
    ids=["reset", "full"],
)
def test_reset_and_full(story, server, ini, arguments, told_of_it):
    """Neither is paid for; full tells the text of every failed attempt, reset not even that there was one."""
    for edit in (*WRONG, MEND):
        server.edits(edit)
    told = switched(story, server, *arguments, ini=ini)
    assert told.result["stop_reason"] == "solved", told.text
    asked = calls(told)
    assert [call[1] for call in asked] == ["preflight", "propose", "propose"]
    last = asked[2][2]["stable"] + asked[2][2]["prompt"]
    assert ("FAILED_TEXT_a" in last, "FAILED_TEXT_b" in last) == (told_of_it, told_of_it)
    assert ("attempt 1" in last.lower()) is told_of_it


@pytest.mark.slow
def test_a_briefing_that_does_not_fit_is_not_paid_for(story, server):
    """What is left of the budget is said beforehand to be too little for it, and the run ends in its own way."""
    for edit in WRONG:
        server.edits(edit, usage={"input_tokens": 4900, "output_tokens": 100})
    told = switched(story, server, ini="noepi_budget = 13_000\nnoepi_budget_low_pct = 0\nnoepi_budget_stop_pct = 0\n")
    assert "briefing" not in [call[1] for call in calls(told)]
    assert len(server.requests) == 2
    assert told.result["stop_reason"] == "budget", told.text


@pytest.mark.slow
@pytest.mark.parametrize(("transfer", "known"), [("summary", "A constant was returned."), ("full", "FAILED_TEXT_b")])
def test_a_run_that_is_gone_on_with_remembers_what_was_tried(story, server, transfer, known):
    """The model that takes over after the break is told of the attempts before it, as without one."""
    for edit in WRONG:
        server.edits(edit, usage={"input_tokens": 4900, "output_tokens": 100})
    low = "noepi_budget_low_pct = 0\nnoepi_budget_stop_pct = 0\n"
    first = switched(story, server, "--noepi-budget=13000", ini=f"noepi_context_transfer = {transfer}\n{low}")
    assert first.result["stop_reason"] == "budget", first.text
    if transfer == "summary":
        briefs(server, "A constant was returned.")
    server.edits(MEND)
    told = Story(first.project).fix("--noepi-ladder=ladder.yaml", "--noepi-resume", env=KEY)
    assert told.result["stop_reason"] == "solved", told.text
    assert known in server.requests[-1].prompt
    assert ("FAILED_TEXT" in server.requests[-1].prompt) is (transfer == "full")
