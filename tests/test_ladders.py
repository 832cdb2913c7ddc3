"""The shipped ladders: exactly the transitions that are promised, and a warning where code goes abroad."""

from __future__ import annotations

import warnings

import pytest

from pytest_noepicycle import ladders
from pytest_noepicycle.adapters.ladder_files import load, shipped
from pytest_noepicycle.domain.ladder import PRICES, Ladder

HAIKU, SONNET, OPUS = "claude-haiku-4-5", "claude-sonnet-4-6", "claude-opus-4-8"


def transitions(ladder, rung):
    """Return where plateau, regression and budget low lead from a rung."""
    return tuple(ladder.rungs[rung].edge(edge) for edge in ("on_plateau", "on_regression", "on_budget_low"))


@pytest.mark.parametrize("name", ["default", "claude-only"])
def test_the_default_transitions_are_those_of_the_published_idea(name):
    """Haiku, Sonnet, Opus: up on plateau and regression, down when the budget runs low."""
    ladder = load(name)
    assert transitions(ladder, HAIKU) == (SONNET, SONNET, "stop")
    assert transitions(ladder, SONNET) == (OPUS, OPUS, HAIKU)
    assert transitions(ladder, OPUS) == ("stop", "stop", SONNET)


@pytest.mark.parametrize(
    ("name", "rungs"),
    [
        ("default", ["local-search", HAIKU, SONNET, OPUS]),
        ("claude-only", [HAIKU, SONNET, OPUS]),
        ("current", ["local-search", "claude-haiku-5-5", "claude-sonnet-5-5", "claude-opus-5-5"]),
        ("performance", ["local-search", "deepseek-flash", SONNET, "deepseek-v4-pro", OPUS]),
        ("local", ["local-search", "local-model"]),
        ("offline", ["local-search"]),
    ],
)
def test_each_shipped_ladder_starts_at_its_first_rung(name, rungs):
    """The rungs in their order, the free ones first."""
    ladder = load(name)
    assert (ladder.name, ladder.start, list(ladder.rungs)) == (name, rungs[0], rungs)


def test_every_model_that_is_shipped_has_a_dated_price():
    """With them a cap on money works for every shipped ladder."""
    models = [rung for name in shipped() for rung in load(name).rungs.values() if rung.kind == "model"]
    assert models
    assert all(rung.price is not None and rung.price.as_of for rung in models)


def test_the_default_ladder_comes_without_a_warning():
    """It uses Claude models only."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert load("default") == ladders.DEFAULT_LADDER


def test_the_performance_ladder_warns_at_every_use():
    """DeepSeek is opt-in, and said so each time."""
    for _ in range(2):
        with pytest.warns(UserWarning, match="DeepSeek.*Chinese data jurisdiction"):
            assert ladders.PERFORMANCE_LADDER.name == "performance"


@pytest.mark.parametrize("name", shipped())
def test_only_ladders_that_send_code_to_deepseek_are_warned_about(name):
    """What is warned about is where code goes, not what a ladder is called."""
    assert bool(load(name).warning) == (name == "performance")


def test_an_unknown_name_is_an_attribute_error():
    """The module behaves as modules do."""
    with pytest.raises(AttributeError, match="NO_LADDER"):
        _ = ladders.NO_LADDER


@pytest.mark.parametrize("name", shipped())
def test_the_built_in_prices_are_those_of_the_shipped_files(name: str):
    """A shipped model costs the same in a user's own ladder that does not say so."""
    for rung in load(name).rungs.values():
        if rung.model in PRICES and rung.base_url is None:
            assert rung.price == PRICES[rung.model]
            assert Ladder.from_mapping({rung.model: {}}).rungs[rung.model].price == rung.price
