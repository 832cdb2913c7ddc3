"""The purse between a rung and a server: reserved before, settled after, and never above the cap."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest

from pytest_noepicycle.adapters.messages import MessagesModel
from pytest_noepicycle.domain.budget import Ledger, Usage
from pytest_noepicycle.domain.ladder import Price, Rung
from pytest_noepicycle.errors import ProviderError
from pytest_noepicycle.ports import Question
from pytest_noepicycle.supervisor.purse import SHORTEST_ANSWER, BudgetExhausted, BudgetOverrun, Purse

SCHEMA = {"type": "object", "additionalProperties": False, "required": [], "properties": {}}
QUESTION = Question("s", "", "p", "propose_edits", "d", SCHEMA, 4000)
PRICE = Price(1.0, 5.0, 0.1, 1.25)


@dataclass
class Desk:
    """A purse with a clock that stands still unless it is slept on, and a journal in a list."""

    server: object
    cap: int = 50_000
    cap_usd: float | None = None
    price: Price | None = PRICE
    events: list = field(default_factory=list)
    slept: list = field(default_factory=list)

    def __post_init__(self):
        self.rung = Rung("cheap", "model", model="m", base_url=self.server.url, price=self.price)
        self.model = MessagesModel(self.rung, "sk-test")
        self.purse = Purse(Ledger(self.cap, self.cap_usd), self, clock=lambda: sum(self.slept), sleep=self.slept.append)

    def write(self, event, **fields):
        """Keep an event, as a journal does."""
        self.events.append((event, fields))

    def ask(self, seconds=60.0):
        """Ask the server through the purse."""
        return self.purse.ask(self.model, QUESTION, rung=self.rung, purpose="propose", seconds=seconds)

    def names(self):
        """Return the events' names in their order."""
        return [name for name, _ in self.events]


def test_what_the_server_reports_is_what_is_booked(server):
    """All kinds of tokens, their price, and the raw figures, after a reservation that was larger."""
    desk = Desk(server)
    usage = {
        "input_tokens": 100,
        "output_tokens": 50,
        "cache_read_input_tokens": 400,
        "cache_creation_input_tokens": 20,
    }
    server.edits(usage=usage)
    desk.ask()
    ledger = desk.purse.ledger
    assert ledger.usage == Usage(100, 50, 400, 20)
    assert ledger.spent == 570
    assert ledger.spent_usd == pytest.approx((100 * 1.0 + 50 * 5.0 + 400 * 0.1 + 20 * 1.25) / 1e6)
    assert desk.names() == ["call_reserved", "call_settled"]
    reserved, settled = (fields for _, fields in desk.events)
    assert reserved["tokens"] == reserved["input_bound"] + 4000 > 570
    assert settled["raw"]["usage"] == usage


def test_the_answer_is_shortened_to_what_is_left(server):
    """The request itself carries the lower limit."""
    bound = Desk(server).model.input_bound(QUESTION)
    desk = Desk(server, cap=bound + 900)
    server.edits()
    desk.ask()
    assert server.requests[0].body["max_tokens"] == 900


@pytest.mark.parametrize(("room", "asked"), [(SHORTEST_ANSWER, 1), (SHORTEST_ANSWER - 1, 0)])
def test_below_a_useful_answer_no_call_is_made(server, room, asked):
    """The last token that fits is used, and not one more."""
    desk = Desk(server, cap=Desk(server).model.input_bound(QUESTION) + room)
    server.edits()
    if asked:
        desk.ask()
    else:
        with pytest.raises(BudgetExhausted, match="tokens of the"):
            desk.ask()
    assert (len(server.requests), len(desk.events)) == (asked, 2 * asked)


def test_a_cap_on_money_shortens_the_answer_too(server):
    """Every input token counts at its dearest price, here that of writing it to the cache."""
    bound = Desk(server).model.input_bound(QUESTION)
    desk = Desk(server, cap_usd=(bound * 1.25 + 1000 * 5.0) / 1e6)
    server.edits()
    desk.ask()
    assert server.requests[0].body["max_tokens"] in (999, 1000)
    assert desk.events[0][1]["usd"] <= desk.cap_usd


def test_an_unknown_price_under_a_cap_on_money_is_an_error_with_the_line_to_add(server):
    """Without such a cap the call is made, and its cost is unknown rather than nothing."""
    with pytest.raises(BudgetExhausted) as caught:
        Desk(server, cap_usd=1.0, price=None).ask()
    assert "price: {input:" in caught.value.hint
    server.edits()
    desk = Desk(server, price=None)
    desk.ask()
    assert desk.purse.ledger.spent_usd is None


def test_retries_are_calls_of_their_own_and_wait_as_asked(server):
    """A request that was turned away is booked at nothing, one whose answer was lost at its reservation."""
    desk = Desk(server)
    server.fails(429, retry_after="7")
    server.breaks("break_off")
    server.edits(usage={"input_tokens": 10, "output_tokens": 5})
    desk.ask()
    assert desk.slept == [7.0, 2.0]
    assert desk.names() == [
        "call_reserved",
        "call_settled",
        "call_reserved",
        "call_lost",
        "call_reserved",
        "call_settled",
    ]
    turned_away, lost, answered = desk.purse.ledger.entries
    assert (turned_away.tokens, turned_away.dollars) == (0, 0.0)
    assert (lost.tokens, lost.lost) == (lost.reserved_tokens, True)
    assert answered.tokens == 15
    assert desk.purse.ledger.spent == lost.reserved_tokens + 15


@pytest.mark.parametrize(("status", "requests"), [(529, 4), (401, 1), (400, 1), (413, 1)])
def test_retries_end_and_hopeless_errors_are_not_retried(server, status, requests):
    """Three more tries where waiting may help, none where it cannot."""
    desk = Desk(server)
    for _ in range(6):
        server.fails(status)
    with pytest.raises(ProviderError):
        desk.ask()
    assert len(server.requests) == requests


def test_no_retry_waits_past_the_time(server):
    """A server that asks for an hour is not waited for."""
    desk = Desk(server)
    server.fails(429, retry_after="3600")
    with pytest.raises(ProviderError) as caught:
        desk.ask(seconds=60)
    assert (caught.value.kind, desk.slept) == ("rate_limited", [])
    with pytest.raises(ProviderError, match="no time left"):
        desk.ask(seconds=0)
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    "lie",
    [{"input_tokens": 10, "output_tokens": 900_000}, {"input_tokens": 0, "output_tokens": 4001}],
    ids=["tokens", "money only"],
)
def test_a_server_that_lies_about_usage_is_recorded_and_ends_the_run(server, lie):
    """More tokens than were set aside, or as many at a dearer price."""
    desk = Desk(server, cap_usd=10.0, price=Price(0.0, 5.0))
    server.edits(usage=lie)
    with pytest.raises(BudgetOverrun):
        desk.ask()
    assert desk.purse.ledger.usage.output == lie["output_tokens"]
    assert desk.names() == ["call_reserved", "call_settled"]
    with pytest.raises(BudgetOverrun):
        desk.ask()
    assert len(server.requests) == 1


def test_an_interrupted_call_stays_booked():
    """Whoever presses Ctrl-C does not know whether the answer was on its way."""

    class Interrupted:
        def input_bound(self, question):
            return 100

        def ask(self, question, *, seconds):
            raise KeyboardInterrupt

    events = []
    purse = Purse(Ledger(10_000), _Journal(events), clock=lambda: 0.0, sleep=lambda _: None)
    with pytest.raises(KeyboardInterrupt):
        purse.ask(Interrupted(), QUESTION, rung=Rung("r", "model"), purpose="propose", seconds=9)
    assert purse.ledger.spent == 4100
    assert events == ["call_reserved", "call_lost"]


@dataclass
class _Journal:
    events: list

    def write(self, event, **fields):
        """Keep the event's name."""
        self.events.append(event)


def test_a_refused_connection_costs_nothing_and_is_tried_again(server):
    """Nothing was sent, so nothing stays booked: a server that is down does not eat the budget."""
    desk = Desk(server, cap=20_000)
    server.close()
    with pytest.raises(ProviderError) as caught:
        desk.ask()
    assert caught.value.kind == "never_connected"
    assert desk.names() == ["call_reserved", "call_settled"] * 4
    assert (desk.purse.ledger.spent, desk.purse.ledger.spent_usd) == (0, 0.0)


def test_a_connection_that_breaks_stays_booked(server):
    """The request may have reached a model before the wire broke."""
    desk = Desk(server, cap=500_000)
    for _ in range(4):
        server.breaks("drop")
    with pytest.raises(ProviderError):
        desk.ask()
    assert desk.purse.ledger.spent == 4 * desk.events[0][1]["tokens"]
