"""A rung that takes over from another one, with failing tests in hand: what it is told of the attempts before it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import pytest
from toy import World, context

from pytest_noepicycle.domain.budget import Usage
from pytest_noepicycle.domain.ladder import Rung
from pytest_noepicycle.domain.run import Attempt
from pytest_noepicycle.domain.score import Baseline
from pytest_noepicycle.errors import ProviderError
from pytest_noepicycle.ports import Answer, Question
from pytest_noepicycle.rungs.briefed import BriefedRung
from pytest_noepicycle.rungs.handover import Handover, Transfer

BASELINE = Baseline(("test_m.py::a",), ())
ATTEMPT = Attempt(1, "small", 0.0, 0.0, "e", candidates=1, note="THE_NOTE")


@dataclass
class Asked:
    """A model's desk: keeps what it is asked, answers the same each time."""

    data: Mapping[str, Any]
    questions: list[Question] = field(default_factory=list)

    def __call__(self, question: Question) -> Answer:
        """Keep the question."""
        self.questions.append(question)
        return Answer(self.data, "", "tool_use", Usage())


def edit_to(value: str) -> Asked:
    """Return a model that always makes the same edit."""
    edit = {"path": "m.py", "old": "a = 1", "new": f"a = {value}"}
    return Asked({"diagnosis": "it is one", "edits": [edit], "test_is_wrong": False, "why_test_is_wrong": ""})


def take_over(transfer: Transfer, brief: Any = None) -> tuple[Question, Question, list[str]]:
    """Let one rung fail and another take over; return what each was asked, and what was noted."""
    world, notes = World({"m.py": b"a = 1\n"}, {}), []
    handover = Handover(transfer, brief, (ProviderError,), notes.append)
    small, large = edit_to("'FAILED_TEXT'"), edit_to("2")
    first = BriefedRung(small, Rung("small", "model", "small"), handover, "The task")
    second = BriefedRung(large, Rung("large", "model", "large"), handover, "The task")
    known = context(world, BASELINE)
    assert len(list(first.propose(known))) == 1
    assert len(list(second.propose(replace(known, attempts=(ATTEMPT,))))) == 1
    return small.questions[0], large.questions[0], notes


@pytest.mark.parametrize("transfer", list(Transfer))
def test_the_task_comes_first_for_every_rung(transfer):
    """In the part of the question that does not change, so that a provider may cache it."""
    first, second, _ = take_over(transfer, Asked({"approaches_tried": "x"}))
    assert first.stable.startswith("Task: The task\n\nMake these tests pass")
    assert second.stable == first.stable
    assert "FAILED_TEXT" not in first.prompt


def test_a_summary_tells_what_was_tried_and_no_text_of_it():
    """The cheap model reads the failed text, the one that takes over only the briefing."""
    brief = Asked({"approaches_tried": "A string was tried."})
    _, second, _ = take_over(Transfer.SUMMARY, brief)
    assert "FAILED_TEXT" in brief.questions[0].prompt
    assert second.prompt.endswith("Approaches tried:\nA string was tried.")
    assert "FAILED_TEXT" not in second.prompt


def test_a_summary_that_quotes_code_is_told_without_it():
    """Whatever the model that writes it does; the words around the code stay."""
    said = "Returning a = 'FAILED_TEXT' did not help.\n```python\na = 3\n```\nNothing else."
    _, second, _ = take_over(Transfer.SUMMARY, Asked({"approaches_tried": said}))
    assert second.prompt.endswith("Returning [code] did not help.\n[code]\nNothing else.")


def test_a_reset_tells_nothing_of_others_not_even_their_effects():
    """The task and the best alone."""
    _, second, _ = take_over(Transfer.RESET)
    assert "attempt" not in second.prompt
    assert "FAILED_TEXT" not in second.prompt


def test_full_tells_the_whole_history():
    """With its text, its score, and its note."""
    _, second, _ = take_over(Transfer.FULL)
    assert "Attempt 1, score 0.00:\nit is one" in second.prompt
    assert "+a = 'FAILED_TEXT'" in second.prompt


def test_without_a_model_to_brief_and_without_an_answer_the_switch_goes_on():
    """Nothing is told then, and why is noted."""

    def down(question: Question) -> Answer:
        raise ProviderError("overloaded", kind="overloaded")

    assert take_over(Transfer.SUMMARY)[2] == []
    _, second, notes = take_over(Transfer.SUMMARY, down)
    assert notes == ["no briefing: overloaded"]
    assert "Approaches" not in second.prompt
