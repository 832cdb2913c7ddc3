"""The ledger: totals are derived, and what is spent stays below the caps whatever a provider does."""

from __future__ import annotations

import contextlib
import threading
from dataclasses import dataclass, field, replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_noepicycle.domain.budget import Entry, Ledger, Usage
from pytest_noepicycle.domain.ladder import Price, Rung
from pytest_noepicycle.errors import ProviderError
from pytest_noepicycle.ports import Answer, Question
from pytest_noepicycle.supervisor.purse import BudgetExhausted, BudgetOverrun, Purse

QUESTION = Question("s", "", "p", "t", "d", {}, 4096)
PRICE = Price(1.0, 5.0, 0.1, 1.25)


@pytest.mark.parametrize(
    ("usage", "price", "dollars"),
    [
        (Usage(1_000_000, 0, 0, 0), PRICE, 1.0),
        (Usage(0, 1_000_000, 0, 0), PRICE, 5.0),
        (Usage(0, 0, 1_000_000, 1_000_000), PRICE, 1.35),
        (Usage(5, 5, 0, 0), None, None),
        (Usage(), None, 0.0),
        (Usage(5, 5, 5, 5), Price(0.0, 0.0), 0.0),
    ],
)
def test_what_tokens_cost(usage, price, dollars):
    """Each kind at its own price; an unknown price is unknown, and never zero."""
    assert usage.cost(price) == (dollars if dollars is None else pytest.approx(dollars))


def test_a_call_counts_as_reserved_until_it_is_settled():
    """In flight and lost calls stay at their worst case; only the provider's figure takes its place."""
    ledger = (
        Ledger(1000, 1.0).reserve(Entry("a", "r", "propose", 400, 0.4)).reserve(Entry("b", "r", "propose", 300, 0.3))
    )
    assert (ledger.spent, ledger.left, ledger.spent_usd) == (700, 300, pytest.approx(0.7))
    ledger = ledger.settle("a", Usage(10, 20), 0.01).lose("b")
    assert (ledger.spent, ledger.spent_usd, ledger.usage) == (330, pytest.approx(0.31), Usage(10, 20))
    assert not ledger.overrun
    assert ledger.settle("b", Usage(301), 0.1).overrun


@pytest.mark.parametrize(
    ("tokens", "usd", "fits"),
    [(600, 0.5, True), (601, 0.5, False), (600, 0.51, False), (1, None, False), (0, 0.0, True)],
)
def test_what_fits_is_judged_by_both_caps(tokens, usd, fits):
    """To the last token and cent; under a cap on money an unknown price never fits."""
    ledger = Ledger(1000, 1.0).reserve(Entry("a", "r", "p", 400, 0.5))
    assert ledger.fits(tokens, usd) is fits
    if not fits:
        with pytest.raises(ValueError, match="do not fit"):
            ledger.reserve(Entry("b", "r", "p", tokens, usd))


@pytest.mark.parametrize(
    ("ledger", "share"),
    [
        (Ledger(1000), 1.0),
        (Ledger(1000, entries=(Entry("a", "r", "p", 250, None),)), 0.75),
        (Ledger(1000, 1.0, entries=(Entry("a", "r", "p", 100, 0.8),)), 0.2),
        (Ledger(0), 0.0),
        (Ledger(10, entries=(Entry("a", "r", "p", 5, None, Usage(90), None),)), 0.0),
    ],
)
def test_the_share_that_is_left_is_the_scarcer_one(ledger, share):
    """Tokens or money, whichever runs out first; never below zero."""
    assert ledger.left_share == pytest.approx(share)


@dataclass
class ScriptedModel:
    """A model behind the port that answers, fails and lies as hypothesis tells it to."""

    bound: int
    script: list
    seen: list = field(default_factory=list)

    def input_bound(self, question):
        """Return the bound that was drawn."""
        return self.bound

    def ask(self, question, *, seconds):
        """Play the next step: an error kind, or shares of what the call may use."""
        step = self.script.pop(0) if self.script else "auth"
        if isinstance(step, str):
            raise ProviderError(step, kind=step, retryable=step not in ("auth", "bad_request"))
        inputs, output, lie = step
        counts = [int(self.bound * share) for share in inputs]
        usage = Usage(counts[0], int(question.max_output * output) + lie, counts[1], counts[2])
        self.seen.append(usage)
        return Answer({}, "", "tool_use", usage)


@dataclass
class Recorder:
    """A journal in a list."""

    events: list = field(default_factory=list)

    def write(self, event, **fields):
        """Keep the event."""
        self.events.append((event, fields))


shares = st.tuples(st.floats(0, 0.33), st.floats(0, 0.33), st.floats(0, 0.33))
honest = st.tuples(shares, st.floats(0, 1), st.just(0))
failures = st.sampled_from(["rate_limited", "overloaded", "server", "connection", "timeout", "malformed", "auth"])
prices = st.one_of(
    st.none(),
    st.builds(Price, st.floats(0, 20), st.floats(0, 80), st.floats(0, 5), st.floats(0, 25)),
)


def spend(purse, model, rung, calls):
    """Ask until the calls, the budget or the provider come to an end."""
    for _ in range(calls):
        try:
            purse.ask(model, QUESTION, rung=rung, purpose="propose", seconds=600)
        except BudgetExhausted:
            return
        except ProviderError:
            continue


@settings(max_examples=300, deadline=None)
@given(
    cap=st.integers(0, 60_000),
    cap_usd=st.one_of(st.none(), st.floats(0, 0.5)),
    price=prices,
    bound=st.integers(1, 20_000),
    script=st.lists(st.one_of(honest, failures), max_size=25),
)
def test_spent_and_reserved_never_exceed_the_caps(cap, cap_usd, price, bound, script):
    """Faults, retries, cache fields, prices: at every moment the ledger is within tokens and money."""
    journal, model = Recorder(), ScriptedModel(bound, list(script))
    purse = Purse(Ledger(cap, cap_usd), journal, clock=lambda: 0.0, sleep=lambda _: None)
    spend(purse, model, Rung("r", "model", price=price), calls=12)
    ledger = purse.ledger
    assert ledger.spent <= cap
    assert cap_usd is None or ledger.spent_usd <= cap_usd
    assert ledger.usage == sum(model.seen, Usage())
    settled = [fields["usage"] for event, fields in journal.events if event == "call_settled"]
    assert sum(sum(usage.values()) for usage in settled) == ledger.usage.total
    reserved = sum(event == "call_reserved" for event, _ in journal.events)
    assert reserved == len(ledger.entries) == len(journal.events) / 2


@settings(max_examples=100, deadline=None)
@given(cap=st.integers(2000, 60_000), before=st.lists(honest, max_size=4), lie=st.integers(1, 10**9))
def test_a_lie_about_usage_ends_the_run(cap, before, lie):
    """It is recorded as reported, and nothing is asked after it."""
    model = ScriptedModel(500, [*before, ((0.3, 0.3, 0.3), 1.0, lie + 500), *before])
    purse = Purse(Ledger(cap), Recorder(), clock=lambda: 0.0, sleep=lambda _: None)
    with pytest.raises((BudgetOverrun, BudgetExhausted)) as caught:
        for _ in range(12):
            purse.ask(model, QUESTION, rung=Rung("r", "model", price=PRICE), purpose="p", seconds=600)
    if caught.type is BudgetOverrun:
        assert purse.ledger.overrun
        asked = len(model.seen)
        with pytest.raises((BudgetOverrun, BudgetExhausted)):
            purse.ask(model, QUESTION, rung=Rung("r", "model", price=PRICE), purpose="p", seconds=600)
        assert len(model.seen) == asked


def test_threads_share_a_purse_without_overdrawing_it():
    """Sixteen askers, money for three: each call that is made was reserved first."""
    model = ScriptedModel(1000, [((0.3, 0.3, 0.3), 1.0, 0)] * 64)
    purse = Purse(Ledger(3 * (1000 + 512)), Recorder(), clock=lambda: 0.0, sleep=lambda _: None)
    rung = Rung("r", "model", price=PRICE)
    question = replace(QUESTION, max_output=512)

    def ask():
        with contextlib.suppress(BudgetExhausted):
            purse.ask(model, question, rung=rung, purpose="p", seconds=60)

    threads = [threading.Thread(target=ask) for _ in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)
    assert purse.ledger.spent <= purse.ledger.cap
    assert len(model.seen) == len(purse.ledger.entries) >= 3
