"""The pool: warm boxes are kept, fresh ones are opened ahead, and none is left."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest

from pytest_noepicycle.domain.patch import Patch
from pytest_noepicycle.domain.trial import End, Limits, Report, Trial
from pytest_noepicycle.errors import SandboxError
from pytest_noepicycle.ports import Snapshot
from pytest_noepicycle.sandbox.pool import Pool

TRIAL = Trial(Patch(), None, Limits(1.0, 1.0, {}))


@dataclass(eq=False)
class Shelf:
    """A box that writes down what becomes of it; a dead one loses every trial."""

    number: int
    dead: bool
    ran: int = 0
    closed: int = 0

    def run(self, trial: Trial) -> Report:
        self.ran += 1
        return Report({}, End.LOST if self.dead else End.COMPLETE, why=str(self.number))

    def close(self) -> None:
        self.closed += 1


@dataclass
class Shelves:
    """A sandbox of shelves; ``dead`` are the numbers of those that die before they are used."""

    dead: frozenset[int] = frozenset()
    made: list[Shelf] = field(default_factory=list)
    opened: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(0))
    kind: str = "shelves"
    limits_note: str = ""

    def open(self, snapshot: Snapshot | None) -> Shelf:
        self.made.append(Shelf(len(self.made), len(self.made) in self.dead))
        self.opened.release()
        return self.made[-1]


@contextlib.contextmanager
def pool_of(shelves: Shelves) -> Iterator[Pool]:
    """Open a pool of one worker and see that every box is closed in the end, and once."""
    pool = Pool(shelves, None, 1)  # type: ignore[arg-type]
    with contextlib.closing(pool):
        yield pool
    assert [shelf.closed for shelf in shelves.made] == [1] * len(shelves.made)


def test_no_two_fresh_runs_share_a_box_and_the_next_one_waits_ready():
    """Each fresh run has a box of its own, one more has been opened for the next, and that one is closed unused."""
    shelves = Shelves()
    with pool_of(shelves) as pool:
        for _ in range(3):
            assert pool.run_fresh(TRIAL).end is End.COMPLETE
        for _ in range(4):
            assert shelves.opened.acquire(timeout=30), "no box was opened ahead"
    assert [shelf.ran for shelf in shelves.made] == [1, 1, 1, 0]


def test_a_box_that_died_while_it_waited_costs_nobody_a_verdict():
    """The spare is dead when it is needed: the trial runs in another one. Where that dies too, it is lost."""
    once = Shelves(dead=frozenset({0}))
    with pool_of(once) as pool:
        assert pool.run_fresh(TRIAL).end is End.COMPLETE
    always = Shelves(dead=frozenset(range(10)))
    with pool_of(always) as pool:
        assert pool.run_fresh(TRIAL).end is End.LOST
    assert sum(shelf.ran for shelf in always.made) == 2


def test_warm_runs_share_a_box_that_no_fresh_run_gets():
    """One worker keeps its warm box from trial to trial."""
    shelves = Shelves()
    with pool_of(shelves) as pool:
        shelves.opened.acquire()  # the spare is there before the warm one
        warm = {pool.run(TRIAL).why for _ in range(3)}
        fresh = pool.run_fresh(TRIAL).why
    assert (warm, fresh) == ({"1"}, "0")


def test_a_sandbox_that_keeps_dying_is_an_error_and_a_closed_one_opens_nothing():
    """Losses in a row are a fault of the machine; after the end there is a sentence and no box."""
    with pool_of(Shelves(dead=frozenset(range(20)))) as pool, pytest.raises(SandboxError, match="5 times in a row"):
        for _ in range(5):
            pool.run(TRIAL)
    with pytest.raises(SandboxError, match="is closed"):
        pool.run_fresh(TRIAL)
