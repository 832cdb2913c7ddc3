"""Arguments of a Supervisor: what is wrong is said at construction, what is right is taken in any form."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from loops import Loop, first_number

from pytest_noepicycle import Ladder, Supervisor, UsageError
from pytest_noepicycle.errors import LadderError

TESTS = "from solution import f\n\n\ndef test_f():\n    assert f() == 1\n"
RUNGS = {"small": {"on_plateau": "large"}, "large": {"on_plateau": None}}


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({}, "neither was given"),
        ({"test_code": TESTS, "score_fn": first_number}, "both were given"),
        ({"test_code": TESTS, "score_fn": "llm_judge"}, "both were given"),
        ({"test_code": b"x"}, "is bytes"),
        ({"test_code": "def test_f(:"}, "is not Python"),
        ({"test_code": "tests.py"}, "holds no test"),
        ({"score_fn": "judge"}, "'judge'"),
        ({"score_fn": 1.0}, "callable from a string to a float"),
        ({"score_fn": first_number, "dry_run": True}, "dry_run looks at a task with tests"),
        ({"score_fn": first_number, "budget_cap": 0}, "budget_cap is 0; it is a whole number from 1"),
        ({"score_fn": first_number, "budget_cap": 1.5}, "budget_cap is 1.5"),
        ({"score_fn": first_number, "budget_cap": True}, "budget_cap is True"),
        ({"score_fn": first_number, "budget_usd": -1}, "budget_usd is -1"),
        ({"score_fn": first_number, "time_limit": 0}, "time_limit is 0"),
        ({"score_fn": first_number, "time_limit": float("nan")}, "time_limit is nan"),
        ({"score_fn": first_number, "sandbox": "vm"}, "auto, docker, process"),
        ({"score_fn": first_number, "workers": -1}, "workers is -1"),
        ({"score_fn": first_number, "context_transfer": "all"}, "summary, reset, full"),
        ({"score_fn": first_number, "context_transfer": ["summary"]}, "summary, reset, full"),
        ({"score_fn": first_number, "plateau_window": 0}, "plateau_window is 0"),
        ({"score_fn": first_number, "grace_period": 1.5}, "grace_period is 1.5"),
        ({"score_fn": first_number, "delta_threshold": 2}, "delta_threshold is 2"),
        ({"score_fn": first_number, "budget_low_pct": 25}, "budget_low_pct is 25"),
        ({"score_fn": first_number, "success_threshold": "1"}, "success_threshold is '1'"),
    ],
)
def test_a_wrong_argument_is_told_by_its_name(arguments, says):
    """A usage error, when the supervisor is made and not when it runs."""
    with pytest.raises(UsageError) as told:
        Supervisor(**arguments)
    assert says in told.value.sentence()


@pytest.mark.parametrize(
    ("ladder", "says"),
    [
        ("defualt", "did you mean 'default'"),
        ("nowhere.yaml", "no file 'nowhere.yaml'"),
        (7, "ladder is int"),
        ({}, "at least one rung"),
        ({"a": {"on_plateau": "b"}}, "a.on_plateau: there is no rung 'b'"),
        ({"a": {"on_platau": None}}, "unknown key"),
        ({"a": {"on_plateau": "a", "on_budget_low": "a"}}, "circle"),
    ],
)
def test_a_wrong_ladder_is_told_at_construction(ladder, says):
    """Whatever form it has."""
    with pytest.raises(LadderError) as told:
        Supervisor(score_fn=first_number, ladder=ladder)
    assert says in str(told.value)


def test_a_price_that_is_not_known_is_an_error_under_a_cap_on_money():
    """It could be any."""
    with pytest.raises(LadderError, match="price"):
        Supervisor(score_fn=first_number, ladder=RUNGS, budget_usd=1.0)


def test_a_ladder_is_made_of_a_dict_and_cannot_be_changed():
    """The first rung starts, None is stop; what is wrong is told by its key."""
    ladder = Ladder(RUNGS)
    assert (ladder.start, ladder.rungs["large"].edge("on_plateau")) == ("small", "stop")
    assert ladder == Ladder(dict(RUNGS)) == Ladder.from_mapping(RUNGS)
    with pytest.raises(AttributeError):
        ladder.start = "large"
    with pytest.raises(LadderError, match=r"small\.on_plateau"):
        Ladder({"small": {"on_plateau": "huge"}})


@pytest.mark.parametrize("form", ["dict", "Ladder", "path", "text of a path"])
def test_a_ladder_is_taken_in_every_form(caller, form):
    """A dict, a Ladder, a path and its text walk alike."""
    path = caller / "mine.yaml"
    path.write_text("rungs:\n  small: {on_plateau: large}\n  large: {on_plateau: stop}\n")
    ladder = {"dict": RUNGS, "Ladder": Ladder(RUNGS), "path": path, "text of a path": str(path)}[form]
    loop = Loop([0.5])
    Supervisor(score_fn=first_number, ladder=ladder).run("anything", inner_loop=loop)
    assert set(loop.models) == {"small", "large"}


@pytest.mark.parametrize("task", ["", "  ", None, 3])
def test_a_task_says_something(task):
    """There is nothing to solve in nothing."""
    with pytest.raises(UsageError, match="task is"):
        Supervisor(score_fn=first_number).run(task, inner_loop=Loop([1.0]))


@pytest.mark.parametrize("judge", [{"test_code": TESTS}, {"score_fn": first_number}, {"score_fn": "llm_judge"}])
def test_without_a_key_and_without_an_inner_loop_it_says_what_to_set(caller, judge):
    """Before anything is run."""
    with pytest.raises(UsageError) as told:
        Supervisor(**judge).run("anything")
    assert "ANTHROPIC_API_KEY" in told.value.sentence()


def test_a_ladder_of_a_search_alone_cannot_write(caller):
    """What mends code cannot write it from nothing."""
    with pytest.raises(UsageError, match="only a local search"):
        Supervisor(score_fn=first_number, ladder="offline").run("anything")


def test_a_key_lies_in_the_callers_env_file(server, caller, monkeypatch):
    """A .env file in the folder of the caller is read."""
    from loops import hands_in

    monkeypatch.delenv("ANTHROPIC_API_KEY")
    (caller / ".env").write_text("ANTHROPIC_API_KEY=sk-test\n")
    hands_in(server, "1.0 done")
    assert Supervisor(score_fn=first_number).run("anything").stop_reason == "solved"


def test_importing_the_package_imports_nothing_heavy():
    """Nor does asking for its version; names are resolved when they are used."""
    asked = """
        import sys
        import pytest_noepicycle
        pytest_noepicycle.__version__, pytest_noepicycle.__all__
        heavy = {"anthropic", "langgraph", "docker", "git", "yaml", "cattrs", "httpx2", "pytest"}
        print(sorted(heavy & set(sys.modules)))
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(asked)], capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout.strip() == "[]"


def test_making_a_supervisor_imports_no_model_and_no_engine():
    """What costs a second to import waits until it is needed."""
    asked = """
        import sys
        from pytest_noepicycle import Supervisor
        Supervisor(score_fn=len, ladder={"a": {}})
        print(sorted({"anthropic", "langgraph", "docker", "git"} & set(sys.modules)))
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(asked)], capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout.strip() == "[]"


def test_every_public_name_exists():
    """All that is listed can be had."""
    import pytest_noepicycle

    assert all(getattr(pytest_noepicycle, name) is not None for name in pytest_noepicycle.__all__)
    assert Path(pytest_noepicycle.__file__).exists()


def test_a_rung_without_a_key_is_never_asked(server, monkeypatch):
    """Where no edge leads past it, it is said what to do."""
    ladder = {"a": {"api_key_env": "NO_SUCH_KEY", "on_plateau": None, "on_error": "b"}, "b": {}}
    with pytest.raises(UsageError, match="a have no API key"):
        Supervisor(score_fn=first_number, ladder=ladder).run("anything")
    assert server.requests == []
