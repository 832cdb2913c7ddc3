"""Tests judge: the engine mends a stubbed solution, whoever writes it."""

from __future__ import annotations

import asyncio

import pytest

from pytest_noepicycle import NoepiError, Supervisor, UsageError
from pytest_noepicycle.domain.settings import Thresholds
from pytest_noepicycle.domain.signal_quality import binary_warning, coverage_warning, is_binary, widened
from pytest_noepicycle.domain.stubs import stubs
from pytest_noepicycle.errors import LadderError

TESTS = """\
from solution import area


def test_a():
    assert area(2, 5) == 10


def test_b():
    assert area(3, 7) == 21


def test_c():
    assert area(0, 4) == 0


def test_d():
    assert area(1, 1) == 1


def test_e():
    assert area(4, 4) == 99  # nobody can know
"""


@pytest.mark.slow
def test_the_best_that_was_proven_is_kept_where_not_all_can_be_solved(caller):
    """An async loop mends four of five: the gain is proven, returned with its patch, and the fifth is not hidden."""
    seen = []

    async def loop(task, previous_solution, previous_feedback, model):
        await asyncio.sleep(0)
        seen.append((previous_solution, previous_feedback))
        return "def area(w, h):\n    return w * h\n" if len(seen) < 3 else "def area(w, h):\n    return w\n", 50

    supervisor = Supervisor(test_code=TESTS, sandbox="process", ladder={"mine": {"on_plateau": None}})
    result = asyncio.run(supervisor.arun("The area of a rectangle", inner_loop=loop))
    assert (result.score, result.solution) == (0.8, "def area(w, h):\n    return w * h\n")
    assert not result.solved
    assert result.stop_reason in ("plateau", "exhausted")
    assert result.patch.files() == {"solution.py": result.solution.encode()}
    assert result.tokens_spent == 50 * len(seen)
    assert [entry.model for entry in result.history] == ["mine"] * len(seen)
    assert seen[0][0] is None
    assert seen[1][0] == result.solution
    assert "test_e" in seen[1][1]
    assert "test_a" not in seen[1][1]
    assert list(caller.iterdir()) == []


@pytest.mark.parametrize(
    ("tests", "says"),
    [
        ("def test_f():\n    assert True\n", "passes on stubs"),
        ("class testing:\n    def test_f(self):\n        assert 0\n", "found no test"),
    ],
)
def test_tests_that_cannot_judge_are_told(caller, tests, says):
    """Before any rung is asked."""
    with pytest.raises(UsageError) as told:
        Supervisor(test_code=tests, sandbox="process").run("A task", inner_loop=lambda context: "x")
    assert says in str(told.value)


def test_the_tests_run_in_the_interpreter_that_is_named(caller):
    """One that cannot be started is told by its name."""
    with pytest.raises(UsageError, match="no-such-python cannot be started"):
        Supervisor(test_code=TESTS, python="no-such-python").run("A task", inner_loop=lambda context: "x")


def test_without_docker_code_from_a_loop_needs_the_process_sandbox_by_name(caller, monkeypatch):
    """It is said before the loop is called."""
    monkeypatch.setenv("DOCKER_HOST", "unix:///nowhere/docker.sock")
    calls = []
    with pytest.raises(NoepiError) as told:
        Supervisor(test_code=TESTS).run("A task", inner_loop=calls.append)
    assert "Docker" in told.value.sentence()
    assert "process" in told.value.sentence()
    assert calls == []


@pytest.mark.parametrize(
    ("tests", "stub"),
    [
        ("from solution import f", "def f(*args, **kwargs):\n    raise NotImplementedError\n"),
        ("import solution as s\nx = s.g(1)", "def g(*args, **kwargs):\n    raise NotImplementedError\n"),
        ("from solution import LIMIT", "LIMIT = None\n"),
        ("from solution import ParseError", "class ParseError(Exception):\n    pass\n"),
        (
            "from solution import Cache",
            "class Cache:\n    def __init__(self, *args, **kwargs):\n        raise NotImplementedError\n",
        ),
        ("from other import f", "# The solution goes here.\n"),
        ("from solution import *", "# The solution goes here.\n"),
    ],
)
def test_stubs_of_what_the_tests_import(tests, stub):
    """So that each test can be collected, run, and fail for itself."""
    assert stubs(tests, "solution") == stub
    compile(stub, "solution.py", "exec")


@pytest.mark.parametrize(
    ("scores", "binary"), [((), False), ((0.0,), False), ((0.0, 1.0), True), ((0.0, 0.5), False), ((0.0, 0.0), True)]
)
def test_a_binary_signal(scores, binary):
    """Two scores at least, and none between."""
    assert is_binary(scores) is binary


def test_what_is_said_of_weak_signals():
    """Numbers as they are: the window that was asked for, twice it, and how many tests there are."""
    limits = Thresholds(plateau_window=3)
    assert widened(limits).plateau_window == 6
    assert "from 3 to 6" in binary_warning(limits)
    assert "Only 1 test judges" in coverage_warning(1)
    assert "Only 4 tests judge" in coverage_warning(4)


@pytest.fixture
def deepseek(caller, monkeypatch) -> None:
    """An environment that leads every rung without a server of its own to DeepSeek."""
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-test")
    monkeypatch.setenv("ANTHROPIC_BASE_URL", "https://api.deepseek.com/anthropic")


@pytest.mark.parametrize("judged", [{"test_code": TESTS}, {"score_fn": len}], ids=["tests", "scorer"])
def test_a_server_of_the_environment_is_warned_of_and_has_no_price_of_anthropic(deepseek, judged):
    """Where code goes is told before anything is asked, and a cap in dollars cannot be kept without its prices."""
    supervisor = Supervisor(**judged, ladder={"claude-haiku-4-5": {}}, budget_usd=1.0, sandbox="process")
    with (
        pytest.raises(LadderError, match="has no price"),
        pytest.warns(UserWarning, match="sends code to DeepSeek"),
        pytest.warns(UserWarning, match=r"models are asked at https://api\.deepseek\.com/anthropic"),
    ):
        supervisor.run("A task")


@pytest.mark.slow
def test_an_inner_loop_is_asked_nowhere_and_keeps_its_price(deepseek):
    """The server of the environment is no matter of a callable's, whose tokens are charged at the rung's price."""
    supervisor = Supervisor(test_code=TESTS, ladder={"claude-haiku-4-5": {}}, budget_usd=1.0, sandbox="process")
    result = supervisor.run("A task", inner_loop=lambda context: ("def area(w, h):\n    return w * h\n", 1000))
    assert result.cost_usd > 0
    assert result.score == 0.8
