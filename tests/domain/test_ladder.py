"""Ladders as data: both forms, the rules for edges that are not given, and what makes one wrong."""

from __future__ import annotations

import pytest

from pytest_noepicycle.domain.ladder import Ladder
from pytest_noepicycle.errors import LadderError


def test_the_dict_form_is_that_of_the_published_idea():
    """The first rung starts, a rung without a kind is a model, None is stop."""
    ladder = Ladder.from_mapping(
        {
            "claude-haiku-4-5": {
                "on_plateau": "claude-sonnet-4-6",
                "on_regression": "claude-opus-4-8",
                "on_budget_low": None,
            },
            "claude-sonnet-4-6": {"on_plateau": "claude-opus-4-8"},
            "claude-opus-4-8": {},
        }
    )
    first = ladder.rungs["claude-haiku-4-5"]
    assert (ladder.start, first.kind, first.model) == ("claude-haiku-4-5", "model", "claude-haiku-4-5")
    assert (first.edge("on_regression"), first.edge("on_budget_low")) == ("claude-opus-4-8", "stop")


@pytest.mark.parametrize(
    ("edges", "edge", "leads"),
    [
        ({}, "on_plateau", "stop"),
        ({}, "on_error", "stop"),
        ({"on_plateau": "b"}, "on_regression", "b"),
        ({"on_plateau": "b"}, "on_fixation", "b"),
        ({"on_plateau": "b"}, "on_error", "b"),
        ({"on_plateau": "b"}, "on_budget_low", "stop"),
        ({"on_plateau": "b", "on_error": "stop"}, "on_error", "stop"),
        ({"on_plateau": "b", "on_budget_low": "b"}, "on_budget_low", "b"),
    ],
)
def test_where_edges_lead_that_are_not_given(edges, edge, leads):
    """As on_plateau does, except for a low budget, which stops."""
    rungs = {"a": edges, "b": {}} if edges else {"a": edges}
    assert Ladder.from_mapping(rungs).rungs["a"].edge(edge) == leads


@pytest.mark.parametrize(
    ("data", "says"),
    [
        ({}, "at least one rung"),
        ([1], "expected keys with values, found list"),
        ({"a": {"on_plateau": "z"}}, "a.on_plateau: there is no rung 'z'"),
        ({"a": {}, "b": {}}, "b: no edge leads to this rung"),
        ({"a": {"on_plateau": "b", "on_budget_low": "b"}, "b": {"on_plateau": "a", "on_budget_low": "a"}}, "circle"),
        ({"a": {"colour": "blue"}}, "a.colour: unknown key"),
        ({"a": {"kind": "magic"}}, "a.kind: 'magic' is not one of"),
        ({"a": {"price": {"input": 1}}}, "a.price: output is missing"),
        ({"a": {"price": {"input": 1, "output": True}}}, "a.price.output: True is not a price"),
        ({"a": {"max_output": 0}}, "a.max_output"),
        ({"rungs": {"a": {}}, "start": "z"}, "start: there is no rung 'z'"),
        ({"rungs": {"a": {}}, "colour": 1}, "colour: unknown key"),
    ],
)
def test_what_is_wrong_is_named_by_its_key(data, says):
    """A ladder is judged before a step is made on it."""
    with pytest.raises(LadderError, match=says):
        Ladder.from_mapping(data)


def test_a_cycle_with_an_exit_is_allowed():
    """Budget low may lead back down, as long as some way ends."""
    ladder = Ladder.from_mapping({"a": {"on_plateau": "b"}, "b": {"on_budget_low": "a"}})
    assert ladder.rungs["b"].edge("on_budget_low") == "a"


@pytest.mark.parametrize(("given", "known"), [(0, True), ({"input": 0, "output": 0}, True), (None, False)])
def test_free_is_a_price_and_none_is_not(given, known):
    """A local model says zero; who says nothing has no known price."""
    rung = Ladder.from_mapping({"a": {"price": given}}).rungs["a"]
    assert (rung.price is not None) is known
