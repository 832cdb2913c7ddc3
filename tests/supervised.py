"""The loop walked over a world of two wrong values, with rungs that follow a script."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

from looping import Lines, Silent, WorldSnapshot, session_of
from toy import World, edit

from pytest_noepicycle.domain.budget import Ledger
from pytest_noepicycle.domain.context import Context
from pytest_noepicycle.domain.ladder import Ladder
from pytest_noepicycle.domain.patch import Proposal
from pytest_noepicycle.domain.settings import Settings
from pytest_noepicycle.stages.propose import Gate
from pytest_noepicycle.supervisor import graph
from pytest_noepicycle.supervisor.purse import Purse
from pytest_noepicycle.supervisor.state import State
from pytest_noepicycle.supervisor.work import Grade, Work, no_grade

LADDER = Ladder.from_mapping(
    {
        "search": {"kind": "search", "on_plateau": "small"},
        "small": {"on_plateau": "large"},
        "large": {"on_plateau": None},
    }
)


@dataclass
class Scripted:
    """A rung that proposes what its script says, one step a call; a step may raise."""

    steps: list[Callable[[Context], Any]]
    seen: list[Context] = field(default_factory=list)
    last_doubt: str = ""

    def propose(self, context: Context) -> Iterator[Proposal]:
        """Yield the next step's proposals."""
        self.seen.append(context)
        if self.steps:
            yield from self.steps.pop(0)(context)


@dataclass
class Told:
    """What a run came to."""

    state: State
    journal: Lines
    rungs: dict[str, Scripted]

    @property
    def decisions(self) -> list[tuple[str, str]]:
        """The decisions in their order: action and signal."""
        return [(e["action"], e["signal"]) for e in self.journal.events if e["event"] == "decision"]


def edits(world: World, *pairs: tuple[bytes, bytes]) -> Callable[[Context], list[Proposal]]:
    """Return a step that proposes these replacements in the module, one by one, on top of the best."""
    return lambda context: [edit(world, "m.py", old, new, context.best) for old, new in pairs]


def fails(error: BaseException) -> Callable[[Context], Any]:
    """Return a step that raises."""

    def step(context: Context) -> Any:
        raise error

    return step


def two_wrong_values() -> World:
    """Two wrong values and a guarded one."""
    tests = {
        "test_m.py::a": lambda n: n["a"] == 2,
        "test_m.py::b": lambda n: n["b"] == 2,
        "test_m.py::c": lambda n: n["c"] == 1,
    }
    return World({"m.py": b"a = 1\n\n\nb = 1\n\n\nc = 1\n"}, tests)


def run(
    world: World,
    blocked: frozenset[str] = frozenset(),
    settings: Settings | None = None,
    failing: tuple[str, ...] = ("test_m.py::a", "test_m.py::b"),
    grade: Grade = no_grade,
    ladder: Ladder = LADDER,
    doubts: str = "",
    **scripts,
) -> Told:
    """Run the loop over a world with scripted rungs; each says ``doubts`` of the tests."""
    session = session_of(failing, ("test_m.py::c",))
    journal, clock = Lines(), iter(range(10_000_000)).__next__
    rungs = {name: Scripted(scripts.get(name, []), last_doubt=doubts) for name in ladder.rungs}
    with ThreadPoolExecutor(2) as executor:
        work = Work(
            session=session,
            settings=settings or Settings(),
            ladder=ladder,
            snapshot=WorldSnapshot(world),
            territory=world.territory(),
            run=world.run,
            run_fresh=world.run,
            executor=executor,
            width=2,
            proposers=rungs,
            blocked=blocked,
            purse=Purse(Ledger(1000), journal, clock=lambda: 0.0, sleep=lambda s: None),
            journal=journal,
            watcher=Silent(),
            clock=lambda: float(clock()) / 1000,
            deadline=1000.0,
            told=lambda situation, decision: None,
            gate=Gate(world.territory()),
            grade=grade,
        )
        return Told(graph.run(State(rung=ladder.start), work), journal, rungs)


BOTH = (b"a = 1", b"a = 2"), (b"b = 1", b"b = 2")
