"""The agent rung against a real server: what it may do, what each turn costs, and how it ends."""

from __future__ import annotations

from dataclasses import replace

import pytest
from looping import Lines
from toy import World, context

from pytest_noepicycle.adapters.messages import MessagesModel
from pytest_noepicycle.domain.budget import Ledger
from pytest_noepicycle.domain.failure import Failure, Frame
from pytest_noepicycle.domain.ladder import Rung
from pytest_noepicycle.domain.run import Attempt
from pytest_noepicycle.domain.score import Baseline
from pytest_noepicycle.domain.trial import Limits, Trial
from pytest_noepicycle.rungs import excerpt
from pytest_noepicycle.rungs.agent import AgentRung
from pytest_noepicycle.rungs.agent_tools import Toolbox
from pytest_noepicycle.stages.veil import veil
from pytest_noepicycle.supervisor.purse import BudgetExhausted, Purse
from pytest_noepicycle.supervisor.resuming import heard, ledger_of

USAGE = {"input_tokens": 100, "output_tokens": 10}
MEND = ("m.py", "a = 1", "a = 2")


class Desk:
    """A small world with one failing test, and an agent that asks the server through a purse."""

    def __init__(self, server, *, cap=200_000, steps=8, **more):
        files = {"m.py": b"a = 1\nb = 1\n", "plans/secret_plan.py": b"h = 'a = HIDDEN'\n", "notes.txt": b"a = 3\n"}
        self.world = World(files, {"test_m.py::a": lambda n: n["a"] == 2, "test_m.py::b": lambda n: n["b"] == 1})
        self.journal = Lines()
        self.purse = Purse(Ledger(cap), self.journal, clock=lambda: 0.0, sleep=lambda s: None)
        self.rung = Rung("agent", "agent", model="claude-haiku-4-5", base_url=server.url, steps=steps, max_output=600)
        known = context(self.world, Baseline(("test_m.py::a",), ("test_m.py::b",)))
        self.context = replace(known, try_tests=self.try_tests, **more)
        self.agent = AgentRung(self.ask, self.rung)

    def try_tests(self, patch, ids):
        """Run tests in the world."""
        return self.world.run(Trial(patch, ids, Limits(10.0, 5.0)))

    def ask(self, question):
        """Ask through the purse."""
        model = MessagesModel(self.rung, "sk-test")
        return self.purse.ask(model, question, rung=self.rung, purpose=question.purpose, seconds=20.0)

    def proposes(self):
        """Return the new bytes of the module, None where nothing was proposed."""
        found = list(self.agent.propose(self.context))
        return found[0].patch.files()["m.py"] if found else None


def calls(server, tool, **data):
    """Script a call of one of the tools."""
    server.uses_tool(data, name=tool, usage=USAGE)


def test_it_looks_tries_and_proposes_and_every_turn_is_booked(server):
    """Each turn repeats what was said before, with the result of the call; the worst case of each is reserved."""
    desk = Desk(server)
    calls(server, "search", text="a = ")
    calls(server, "read_file", path="m.py", first=1, last=2)
    calls(server, "run_tests", ids=["test_m.py::a"], edits=[dict(zip(("path", "old", "new"), MEND, strict=True))])
    server.edits(MEND, usage=USAGE)
    assert desk.proposes() == b"a = 2\nb = 1\n"

    results = [request.prompt for request in server.requests[1:]]
    assert "m.py:1: a = 1" in results[0]
    assert "HIDDEN" not in results[0]
    assert "    2| b = 1" in results[1]
    assert "test_m.py::a passed" in results[2]
    assert "7 turns are left." in results[0]
    assert [len(request.body["messages"]) for request in server.requests] == [1, 3, 5, 7]
    reserved = [event for event in desk.journal.events if event["event"] == "call_reserved"]
    assert [event["purpose"] for event in reserved] == ["agent"] * 4
    assert [event["tokens"] for event in reserved] == sorted(event["tokens"] for event in reserved)
    assert desk.purse.ledger.spent == 4 * 110


def test_an_edit_that_does_not_fit_and_a_repeat_are_results_and_not_the_end(server):
    """The conversation goes on until there is a proposal."""
    desk = Desk(server)
    server.edits(("m.py", "nowhere", "x"), usage=USAGE)
    server.edits(MEND, usage=USAGE)
    assert desk.proposes() == b"a = 2\nb = 1\n"
    assert "does not occur" in server.requests[1].prompt
    server.edits(MEND, usage=USAGE)
    server.edits(("m.py", "a = 1", "a = 4"), usage=USAGE)
    assert desk.proposes() == b"a = 4\nb = 1\n"
    assert "tried before" in server.requests[3].prompt


def test_it_ends_when_its_steps_are_used_up(server):
    """It is told before its last turn, and the outcome has a name."""
    desk = Desk(server, steps=2)
    for _ in range(2):
        calls(server, "search", text="a")
    assert desk.proposes() is None
    assert len(server.requests) == 2
    assert "last turn" in server.requests[1].prompt
    assert (str(desk.agent.last_outcome), desk.agent.last_note) == ("steps_used_up", "no proposal within 2 turns")


def test_a_turn_that_does_not_fit_the_budget_is_not_made(server):
    """However long the conversation has become, its worst case is reserved first."""
    first = Desk(server)
    calls(server, "search", text="a")
    server.says("done", usage=USAGE)
    first.proposes()
    one, two = (event["tokens"] for event in first.journal.events if event["event"] == "call_reserved")
    assert two > one
    desk = Desk(server, cap=one + 50)
    calls(server, "search", text="a")
    with pytest.raises(BudgetExhausted):
        desk.proposes()
    assert len(server.requests) == 3


def test_a_conversation_that_was_broken_off_goes_on_from_the_record(server):
    """Its turns were paid for: they are heard again, and only what was not asked yet is asked."""
    first = Desk(server, steps=2)
    calls(server, "search", text="a = ")
    calls(server, "search", text="b = ")
    assert first.proposes() is None

    again = Desk(server)
    events = first.journal.events
    again.purse = Purse(
        ledger_of(events, 200_000, None),
        again.journal,
        clock=lambda: 0.0,
        sleep=lambda s: None,
        heard=heard(events, 0),
    )
    server.edits(MEND, usage=USAGE)
    assert again.proposes() == b"a = 2\nb = 1\n"
    assert len(server.requests) == 3
    assert "m.py:2: b = 1" in server.requests[2].prompt
    assert again.purse.ledger.spent == 3 * 110


def test_words_without_a_call_end_it_with_a_name(server):
    """As for a model without tools."""
    desk = Desk(server)
    server.says("I give up.", usage=USAGE)
    assert desk.proposes() is None
    assert str(desk.agent.last_outcome) == "no_tool_call"


def test_it_knows_how_the_loop_around_it_fares(server):
    """Scores and budget stand in its question."""
    attempts = (Attempt(1, "agent", 0.25, 0.25, "e"), Attempt(2, "agent", 0.5, 0.25, "f"))
    desk = Desk(server, attempts=attempts, tokens_left=12_345)
    server.edits(MEND, usage=USAGE)
    desk.proposes()
    assert "0.25 0.50" in server.requests[0].prompt
    assert "12345" in server.requests[0].prompt


@pytest.mark.parametrize(
    ("tool", "data", "says"),
    [
        ("read_file", {"path": "../etc/passwd", "first": 1, "last": 9}, "no such text file"),
        ("read_file", {"path": "plans/secret_plan.py", "first": 1, "last": 9}, "not to be seen"),
        ("read_file", {"path": "m.py", "first": 2, "last": 1}, "m.py, lines 2 to 2 of 3"),
        ("read_file", {"path": "m.py", "first": 99, "last": 99}, "of 3"),
        ("read_file", {"path": "m.py"}, "takes a path"),
        ("search", {"text": "zebra"}, "No line"),
        ("search", {"text": " "}, "not empty"),
        ("run_tests", {"ids": ["test_m.py::unknown"], "edits": []}, "None of these ids"),
        ("run_tests", {"ids": ["test_m.py::a"], "edits": [{"path": "conftest.py", "old": "", "new": "x"}]}, "conftest"),
        ("run_tests", {"ids": ["test_m.py::a"], "edits": "all"}, "not a list"),
        ("run_tests", {"ids": ["test_m.py::a"], "edits": []}, "test_m.py::a failed: AssertionError: test_m.py::a fa"),
        ("format_disk", {}, "no tool"),
        ("search", None, "not well-formed"),
    ],
)
def test_whatever_it_asks_for_it_gets_an_answer(server, tool, data, says):
    """Nothing outside the tree, nothing secret, no guarded file, and never an exception."""
    assert says in Toolbox(Desk(server).context).serve(tool, data)


def test_results_and_test_runs_are_bounded(server):
    """A long file is cut, and the seventh run is not made."""
    desk = Desk(server)
    desk.world.files["long.py"] = b"x = 'yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy'\n" * 900
    box = Toolbox(replace(desk.context, files=frozenset(desk.world.files)))
    assert len(box.serve("read_file", {"path": "long.py", "first": 1, "last": 900})) <= 4000
    assert box.serve("search", {"text": "yyy"}).count("\n") == 30
    for _ in range(6):
        box.serve("run_tests", {"ids": ["test_m.py::a"], "edits": []})
    assert "No further" in box.serve("run_tests", {"ids": ["test_m.py::a"], "edits": []})
    assert len(desk.world.trials) == 6


HELD = b"def test_shown():\n    assert f(1) == 41\n\n\ndef test_held():\n    assert f(2) == 42\n"


def test_of_a_held_out_test_no_tool_tells_anything(server):
    """Neither a read, nor a search, nor the text that is nearest to an edit that does not fit."""
    desk = Desk(server, veil=veil(("test_m.py::test_held",)))
    desk.world.files["test_m.py"] = HELD
    box = Toolbox(replace(desk.context, files=frozenset(desk.world.files)))
    edit = {"path": "test_m.py", "old": "assert f(2) == 43", "new": "x"}
    told = [
        box.serve("read_file", {"path": "test_m.py", "first": 1, "last": 9}),
        box.serve("search", {"text": "assert f"}),
        box.serve("run_tests", {"ids": ["test_m.py::a"], "edits": [edit]}),
    ]
    assert "41" in told[0]
    assert "f(1)" in told[1]
    assert "does not occur" in told[2]
    assert not any("42" in text or "test_held" in text for text in told)


def test_a_prompt_shows_nothing_of_a_held_out_test(server):
    """Where the place of a failing test is not known, lines around it are shown: not those of what is held."""
    desk = Desk(server)
    desk.world.files["test_m.py"] = HELD
    frames = (Frame("test_m.py", 2, "test_gone"),)
    failures = (Failure("test_m.py::test_gone", "call", "AssertionError", "", frames),)
    known = replace(desk.context, files=frozenset(desk.world.files), failures=failures)
    plain, veiled = (
        "".join(piece.text for piece in excerpt.tests(one, failures))
        for one in (known, replace(known, veil=veil(("test_m.py::test_held",))))
    )
    assert "42" in plain
    assert "41" in veiled
    assert "42" not in veiled
