"""A run of each stop reason, and what each of them tells a person to do next."""

from __future__ import annotations

import io
from collections.abc import Callable
from dataclasses import replace

import pytest
from journals import check_form, numbered
from runs import summary
from supervised import BOTH, LADDER, edits, fails, run, two_wrong_values
from toy import World, edit

from pytest_noepicycle.domain.ladder import Ladder
from pytest_noepicycle.domain.patch import Patch
from pytest_noepicycle.domain.run import RunResult, StopReason
from pytest_noepicycle.domain.settings import Settings
from pytest_noepicycle.errors import ProviderError, SandboxError
from pytest_noepicycle.report import terminal
from pytest_noepicycle.supervisor.purse import BudgetExhausted
from pytest_noepicycle.supervisor.state import State

ALONE = frozenset({"small", "large"})
MODELS_LEFT = Ladder.from_mapping(
    {
        "small": {"on_plateau": None, "on_error": "large"},
        "large": {"on_plateau": None},
    }
)


def _solved(world: World) -> State:
    return run(world, search=[edits(world, *BOTH)]).state


def _plateau(world: World) -> State:
    wrong = [edits(world, (b"a = 1", b"a = %d" % value)) for value in (7, 8, 9)]
    return run(world, ladder=MODELS_LEFT, small=wrong).state


def _budget(world: World) -> State:
    return run(world, small=[fails(BudgetExhausted("too dear"))]).state


def _exhausted(world: World) -> State:
    return run(world, blocked=ALONE).state


def _flaky(world: World) -> State:
    world.flaky = {"test_m.py::a": [True] * 9, "test_m.py::b": [True] * 9}
    return run(world).state


def _environment(world: World) -> State:
    """The sandbox does not see what the session saw fail: the tests are not there."""
    del world.tests["test_m.py::a"], world.tests["test_m.py::b"]
    return run(world).state


def _time_limit(world: World) -> State:
    quick = world.run
    world.run = lambda trial: replace(quick(trial), seconds=100_000.0)  # type: ignore[method-assign]
    return run(world, settings=Settings(time_limit=10_000.0)).state


def _interrupted(world: World) -> State:
    return run(world, small=[fails(KeyboardInterrupt())]).state


def _sandbox_lost(world: World) -> State:
    honest = world.run

    def then_gone(trial):
        if trial.patch != Patch():
            raise SandboxError("the engine has gone away")
        return honest(trial)

    world.run = then_gone  # type: ignore[method-assign]
    return run(world, search=[edits(world, *BOTH)]).state


def _provider_error(world: World) -> State:
    down = ProviderError("overloaded", kind="overloaded", retryable=True)
    return run(world, small=[fails(down)], large=[fails(down)]).state


def _refused(world: World) -> State:
    world.files["test_m.py"] = b"x = 1\n"
    cheat = [lambda context: [edit(world, "test_m.py", b"x = 1", b"x = 2")]]
    return run(world, blocked=ALONE, search=cheat).state


def _test_suspect(world: World) -> State:
    return run(world, doubts="a and b want two of what the docs call one").state


def _dry_run(world: World) -> State:
    return run(world, settings=Settings(dry_run=True), search=[edits(world, *BOTH)]).state


RUNS: dict[StopReason, tuple[Callable[[World], State], str]] = {
    StopReason.SOLVED: (_solved, "noepi apply"),
    StopReason.PLATEAU: (_plateau, "a ladder with another model may see more"),
    StopReason.BUDGET: (_budget, "raise --noepi-budget"),
    StopReason.EXHAUSTED: (_exhausted, "report.md says what was tried"),
    StopReason.FLAKY: (_flaky, "mend their dependence on time, order or chance"),
    StopReason.ENVIRONMENT: (_environment, "provide what is missing"),
    StopReason.TIME_LIMIT: (_time_limit, "raise --noepi-time-limit"),
    StopReason.INTERRUPTED: (_interrupted, "--noepi-resume"),
    StopReason.SANDBOX_LOST: (_sandbox_lost, "noepi check"),
    StopReason.PROVIDER_ERROR: (_provider_error, "check the key and the server"),
    StopReason.REFUSED: (_refused, "noepi_editable or noepi_product"),
    StopReason.TEST_SUSPECT: (_test_suspect, "decide which of the tests is right"),
    StopReason.DRY_RUN: (_dry_run, "run again with --noepi-fix"),
}
"""Each reason, a run that ends with it, and words of what is said to be done then."""

# Where nothing failed no loop is walked: `noepi fix` says so, tests/plugin/test_two_halves.py runs it.
WITHOUT_A_LOOP = {StopReason.NOTHING_TO_FIX}


def _section(result: RunResult) -> str:
    text = io.StringIO()
    terminal.render(summary(result), terminal.PlainPaper(text), commands="noepi")
    return text.getvalue()


def test_no_stop_reason_is_without_a_run():
    """A new one has to come with a run of its own, and with what to do next."""
    assert set(RUNS) | WITHOUT_A_LOOP == set(StopReason)


@pytest.mark.parametrize("reason", RUNS)
def test_a_run_ends_with_its_reason_and_says_what_to_do_next(reason: StopReason):
    """Its sentence, and a line with the next step, stand in the section that a person reads."""
    walk, words = RUNS[reason]
    state = walk(two_wrong_values())
    assert state.stop is reason
    said = " ".join(_section(state.result("r", (), 1.0)).split())
    assert reason.sentence in said
    assert words in said.partition("next: ")[2]


def test_where_nothing_failed_the_next_step_is_said_as_well():
    """There is none."""
    nothing = terminal.next_steps(RunResult("r", StopReason.NOTHING_TO_FIX, State("small").baseline), "noepi")
    assert nothing == ("nothing: no test failed",)


def test_a_test_that_is_called_wrong_is_a_finding_with_its_reason_and_nothing_is_done():
    """The ladder is walked to its end all the same; each test that is meant is named, with whose word it is."""
    told = run(two_wrong_values(), doubts="test b wants 2 of what the docs call one")
    result = told.state.result("r", (), 1.0)
    assert {attempt.rung for attempt in result.attempts} == set(LADDER.rungs)
    assert [(finding.test, finding.kind) for finding in result.findings] == [("test_m.py::b", "test-suspect")]
    assert result.findings[0].hint == "large says that this test is wrong: test b wants 2 of what the docs call one"
    assert [event["test"] for event in told.journal.events if event["event"] == "finding"] == ["test_m.py::b"]
    check_form(numbered(told.journal.events, LADDER))
    assert result.stop_reason is StopReason.EXHAUSTED  # the other test fails without a word against it
    assert not result.patch.changes


def test_what_was_mended_and_proven_is_in_doubt_no_more():
    """A rung called a test wrong, a later one made it pass: the proof stands against the word."""
    world = two_wrong_values()
    told = run(world, small=[], large=[edits(world, *BOTH), edits(world, *BOTH)], doubts="a and b are wrong")
    assert told.state.stop is StopReason.SOLVED
    assert any(attempt.doubt for attempt in told.state.attempts)
    assert told.state.result("r", (), 1.0).findings == ()
