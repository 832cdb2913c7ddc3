"""Whatever models, servers and ladders do: no cap is passed, the loop ends, the best is kept, the books agree."""

from __future__ import annotations

import os
import random
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from looping import Lines, Silent, WorldSnapshot, session_of
from toy import World, edit

from pytest_noepicycle.domain.budget import Ledger, Usage
from pytest_noepicycle.domain.context import Context
from pytest_noepicycle.domain.ladder import EDGES, STOP, Ladder, Price, Rung
from pytest_noepicycle.domain.patch import Patch, Proposal
from pytest_noepicycle.domain.run import StopReason
from pytest_noepicycle.domain.settings import Settings, Thresholds
from pytest_noepicycle.errors import LadderError, ProviderError
from pytest_noepicycle.ports import Answer, Question
from pytest_noepicycle.stages.propose import Gate
from pytest_noepicycle.supervisor import graph
from pytest_noepicycle.supervisor.purse import Purse
from pytest_noepicycle.supervisor.state import State
from pytest_noepicycle.supervisor.work import Work

# A few in CI; ``NOEPI_NIGHTLY=1`` runs the ten thousand.
RUNS = 10_000 if os.environ.get("NOEPI_NIGHTLY") else 60
FAILURES = ("auth", "rate_limited", "overloaded", "server", "connection", "timeout", "malformed")
QUESTION = Question("s", "", "p", "propose_edits", "d", {"type": "object"}, 4000)
NAMES = ("one", "two", "three")
LONGEST_CALL = 40.0


@dataclass
class Clock:
    """Time that passes only where something takes it."""

    now: float = 0.0

    def __call__(self) -> float:
        """Return the time."""
        return self.now

    def sleep(self, seconds: float) -> None:
        """Let time pass."""
        self.now += seconds


@dataclass
class Server:
    """A model that answers, fails, is slow, and may lie about what it took; it remembers what it said."""

    draw: random.Random
    clock: Clock
    lies: bool
    reported: list[Usage] = field(default_factory=list)
    asked: int = 0
    after_a_lie: int = 0
    lied: bool = False
    purse: Purse | None = None
    held: list[Ledger] = field(default_factory=list)

    def input_bound(self, question: Question) -> int:
        """Return the bound of a question."""
        return 300

    def ask(self, question: Question, *, seconds: float) -> Answer:
        """Answer within the time, or fail."""
        self.asked += 1
        self.after_a_lie += self.lied
        if self.purse is not None:
            self.held.append(self.purse.ledger)  # as it is while a call is on its way
        self.clock.sleep(min(seconds, self.draw.uniform(0, LONGEST_CALL)))
        if self.draw.random() < 0.3:
            retry_after = self.draw.choice((None, 1.0, 500.0))
            raise ProviderError(
                "as drawn", kind=self.draw.choice(FAILURES), retryable=self.draw.random() < 0.7, retry_after=retry_after
            )
        usage = self._usage(question)
        self.reported.append(usage)
        return Answer({"edits": []}, "", "tool_use", usage)

    def _usage(self, question: Question) -> Usage:
        parts = sorted(self.draw.randint(0, 300) for _ in range(2))
        usage = Usage(
            parts[0],
            self.draw.randint(0, question.max_output),
            parts[1] - parts[0],
            self.draw.randint(0, 300 - parts[1]),
        )
        if self.lies and self.draw.random() < 0.3:
            self.lied = True
            return replace(usage, output=usage.output + question.max_output + 301)
        return usage


@dataclass
class Asking:
    """A rung that asks its server and then proposes one edit or none, good, bad or useless."""

    rung: Rung
    purse: Purse
    server: Server
    world: World
    time_left: Any

    def propose(self, context: Context) -> Iterator[Proposal]:
        """Ask, and propose what the dice say."""
        if self.rung.kind != "search":
            self.purse.ask(self.server, QUESTION, rung=self.rung, purpose="propose", seconds=self.time_left())
        name, value = self.server.draw.choice("abc"), self.server.draw.choice(b"12228")
        source = context.read("m.py") or b""
        old = next(line for line in source.splitlines() if line.startswith(name.encode()))
        new = b"%s = %c" % (name.encode(), value)
        if new != old:
            yield edit(self.world, "m.py", old, new, context.best)


def ladder_of(draw: random.Random, priced: bool) -> Ladder | None:
    """Return a ladder with any edges, or None where they make no ladder."""
    price = Price(1.0, 5.0, 0.1, 1.25) if priced else None
    rungs: dict[str, Any] = {}
    names = NAMES[: draw.randint(1, 3)]
    for name, onward in zip(names, (*names[1:], STOP), strict=True):
        edges = {edge: draw.choice((*names, STOP)) for edge in EDGES if draw.random() < 0.4}
        edges.setdefault("on_plateau", onward)
        rungs[name] = {"kind": draw.choice(("search", "model", "model")), **edges}
    try:
        ladder = Ladder.from_mapping(rungs)
    except LadderError:
        return None
    return replace(ladder, rungs={name: replace(rung, price=price) for name, rung in ladder.rungs.items()})


@dataclass
class Ran:
    """A run and all that watched it."""

    state: State
    journal: Lines
    ledger: Ledger
    server: Server
    clock: Clock
    limit: float


def walk(seed: int, *, lies: bool) -> Ran | None:
    """Run the loop over a small world with everything drawn from the seed."""
    draw = random.Random(seed)
    capped = draw.random() < 0.5
    ladder = ladder_of(draw, capped)
    if ladder is None:
        return None
    tests = {f"test_m.py::{name}": (lambda n, name=name: n[name] == 2) for name in "ab"}
    world = World({"m.py": b"a = 1\n\n\nb = 1\n\n\nc = 1\n"}, {**tests, "test_m.py::c": lambda n: n["c"] == 1})
    clock, journal, limit = Clock(), Lines(), draw.choice((60.0, 400.0, 4000.0))
    server = Server(draw, clock, lies)
    caps = draw.choice((draw.randint(0, 20_000), 100_000)), draw.choice((draw.uniform(0, 0.1), 2.0)) if capped else None
    purse = Purse(Ledger(*caps), journal, clock=clock, sleep=clock.sleep)
    server.purse = purse
    limits = Thresholds(
        plateau_window=draw.randint(1, 3), fixation_threshold=draw.randint(2, 4), grace_period=draw.randint(0, 3)
    )
    with ThreadPoolExecutor(1) as executor:
        work = Work(
            session=session_of(("test_m.py::a", "test_m.py::b"), ("test_m.py::c",)),
            settings=Settings(time_limit=limit, reruns=1, thresholds=limits),
            ladder=ladder,
            snapshot=WorldSnapshot(world),
            territory=world.territory(),
            run=world.run,
            run_fresh=world.run,
            executor=executor,
            width=1,
            proposers={},
            blocked=frozenset(),
            purse=purse,
            journal=journal,
            watcher=Silent(),
            clock=clock,
            deadline=limit,
            told=lambda situation, decision: None,
            gate=Gate(world.territory()),
        )
        rungs = {
            name: Asking(rung, purse, server, world, lambda: work.remaining - work.memory.proof_seconds)
            for name, rung in ladder.rungs.items()
        }
        state = graph.run(State(rung=ladder.start), replace(work, proposers=rungs))
    return Ran(state, journal, purse.ledger, server, clock, limit)


@pytest.mark.parametrize("lies", [False, True], ids=["honest server", "server that lies about usage"])
def test_no_cap_is_passed_and_the_loop_ends(lies: bool):
    """Reserved and spent stay within both caps, time within its limit and one call, and the journal agrees."""

    @settings(max_examples=RUNS, deadline=None, database=None, suppress_health_check=list(HealthCheck))
    @given(st.integers(0, 2**32))
    def holds(seed: int) -> None:
        ran = walk(seed, lies=lies)
        if ran is None:
            return
        check_caps(ran)
        check_books(ran)
        assert ran.state.stop is not None
        assert ran.clock.now <= ran.limit + LONGEST_CALL
        assert ran.state.best == Patch() or ran.state.verified

    holds()


def check_caps(ran: Ran) -> None:
    """Nothing above a cap, unless a server said that it took more than was asked for: then nothing was asked after.

    With every call that is on its way, what is reserved and what is spent fit together.
    """
    for ledger in ran.server.held:
        assert ledger.spent <= ledger.cap
        assert ledger.cap_usd is None or (ledger.spent_usd or 0.0) <= ledger.cap_usd + 1e-9
    if ran.server.lied:
        assert ran.ledger.overrun
        assert ran.server.after_a_lie == 0
        return
    assert ran.ledger.spent <= ran.ledger.cap
    if ran.ledger.cap_usd is not None:
        assert (ran.ledger.spent_usd or 0.0) <= ran.ledger.cap_usd + 1e-9


def check_books(ran: Ran) -> None:
    """What the journal says was used is what the server said; each call is reserved once and closed once."""
    settled = [e for e in ran.journal.events if e["event"] == "call_settled" and sum(e["usage"].values())]
    total = sum(usage.total for usage in ran.server.reported)
    assert sum(sum(event["usage"].values()) for event in settled) == total == ran.ledger.usage.total
    names = [e["call"] for e in ran.journal.events if e["event"] == "call_reserved"]
    closed = [e["call"] for e in ran.journal.events if e["event"] in ("call_settled", "call_lost")]
    assert len(set(names)) == len(names) == ran.server.asked
    assert sorted(closed) == sorted(names)


def test_the_walks_come_by_everything_that_can_happen():
    """Retries, lost calls, cached tokens, both caps, the time limit, solutions: what is drawn is not all of a kind."""
    ran = [one for one in (walk(seed, lies=False) for seed in range(150)) if one is not None]
    ends = {one.state.stop for one in ran}
    assert {StopReason.SOLVED, StopReason.BUDGET, StopReason.TIME_LIMIT, StopReason.PROVIDER_ERROR} <= ends
    events = [event for one in ran for event in one.journal.events]
    assert any(event["event"] == "call_lost" for event in events)
    assert any("of $" in event.get("why", "") for event in events if event["event"] == "unaffordable")
    assert any("of $" not in event.get("why", "") for event in events if event["event"] == "unaffordable")
    assert any(one.server.asked > len(one.state.attempts) for one in ran)
    assert all(sum(getattr(one.ledger.usage, kind) for one in ran) for kind in ("cache_read", "cache_write", "output"))
    assert any(one.server.lied for one in (walk(seed, lies=True) for seed in range(20)) if one is not None)


def test_the_best_is_never_lost():
    """Between two decisions the best gain stays or grows, but for one that a cold run refutes."""

    @settings(max_examples=RUNS, deadline=None, database=None, suppress_health_check=list(HealthCheck))
    @given(st.integers(0, 2**32))
    def holds(seed: int) -> None:
        ran = walk(seed, lies=False)
        if ran is None or any(event["event"] == "refuted" for event in ran.journal.events):
            return
        fixed = [len(e["fixed"]) for e in ran.journal.events if e["event"] == "attempt"]
        assert len(ran.state.fixed) == sum(fixed)

    holds()


def test_what_was_spent_elsewhere_is_always_booked():
    """Whatever the caps, the price and their last digits: the books hold it, and above a cap it is an overrun."""

    @settings(max_examples=5 * RUNS, deadline=None, database=None, suppress_health_check=list(HealthCheck))
    @given(
        st.lists(st.builds(Usage, *(st.integers(0, 3000),) * 4), min_size=1, max_size=9),
        st.integers(0, 20_000),
        st.none() | st.floats(0, 0.02),
        st.none() | st.builds(Price, *(st.floats(0, 20),) * 4),
    )
    def holds(usages: list[Usage], cap: int, cap_usd: float | None, price: Price | None) -> None:
        purse = Purse(Ledger(cap, cap_usd), Lines(), clock=lambda: 0.0, sleep=lambda seconds: None)
        rung = Rung("one", "model", model="m", price=price)
        for usage in usages:
            purse.charge(rung, "elsewhere", usage)
        assert purse.ledger.usage == sum(usages, Usage())
        assert purse.ledger.overrun or purse.ledger.spent <= cap
        spent = purse.ledger.spent_usd
        if spent is not None and cap_usd is not None and not purse.ledger.overrun:
            assert spent <= cap_usd * (1 + 1e-9)

    holds()
