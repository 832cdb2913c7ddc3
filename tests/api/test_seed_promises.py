"""What the published idea promises, each promise as it was printed: snippets, thresholds, transitions, warnings.

``KEPT_BY`` maps what it says, in its order, to the test that holds it. Snippets have only the import's name changed;
where they say ``...`` the test puts the arguments that it needs.
"""

from __future__ import annotations

import ast
import inspect
import itertools
import os
import re
import shutil
import subprocess
import sys
import warnings
from pathlib import Path

import pytest
from loops import Loop, briefs, first_number, hands_in

from pytest_noepicycle import Ladder, Supervisor
from pytest_noepicycle.domain.decision import Action, Situation, decide
from pytest_noepicycle.domain.run import Attempt, StopReason
from pytest_noepicycle.domain.settings import Thresholds
from pytest_noepicycle.ladders import DEFAULT_LADDER

DEMANDS = "tests/rungs/test_prompt_demands.py::"
KEPT_BY = {
    # How it works
    "scores, computes the delta, continues, switches, stops": "test_the_three_decisions_and_the_history",
    "stops when solved, out of budget, all rungs tried": "test_the_four_stop_reasons",
    "tells a dip from a recovery": "test_a_first_score_is_no_regression_and_a_recovery_no_plateau",
    "the default ladder": "test_the_default_ladder_asks_claude_alone",
    # Installation, quickstart
    "Docker, and a key in the environment": "test_the_quickstart",
    "a key in a .env file": "test_the_key_may_lie_in_a_dotenv_file",
    "CLI": "test_the_quickstart_on_the_command_line",
    "Python API": "test_the_quickstart",
    # Plug-and-play
    "a scorer, a cap, your own LangGraph agent": "test_plug_and_play_with_a_langgraph_agent",
    "solved | plateau | budget | exhausted": "test_the_four_stop_reasons",
    # The ladder
    "on_plateau, on_regression, on_budget_low": "test_the_transitions_of_the_default_ladder",
    "regression: iteration > 0 only": "test_a_first_score_is_no_regression_and_a_recovery_no_plateau",
    "budget low leads down": "test_a_budget_that_runs_low_leads_down_the_ladder_to_its_end",
    "bring your own": "test_bring_your_own_ladder",
    # Context transfer
    "summary, by a cheap call, the default": "test_context_transfer_summary_is_a_briefing_by_a_cheap_model",
    "reset": "test_context_transfer_reset_is_the_task_and_the_best",
    "full": "test_context_transfer_full_is_the_whole_history",
    # Stopping thresholds
    "defaults": "test_the_printed_defaults_are_the_defaults",
    "of the movement": "test_thresholds_of_the_movement",
    "of the budget": "test_thresholds_of_the_budget",
    "all configurable": "test_all_thresholds_are_configurable",
    # Low test coverage warning, privacy
    "fewer than five tests": "test_fewer_than_five_tests_are_warned_about",
    "binary": "test_a_binary_signal_is_warned_about_in_these_words_and_the_window_widened",
    "llm_judge": "test_llm_judge_is_a_smoother_signal",
    "DeepSeek": "test_the_performance_ladder_is_opt_in_and_warned_about_at_every_use",
    # Status, known limitations
    "variable tracing": f"{DEMANDS}test_the_innermost_frames_are_shown_with_their_values",
    "--dry-run": "tests/cli/test_run_command.py::test_a_dry_run_asks_nothing",
    "check": "tests/cli/test_check.py::test_on_every_machine_it_comes_to_its_end_and_spends_nothing",
    "preflight": "tests/plugin/test_preflight.py::test_where_the_first_shot_solves_nothing_else_is_paid",
    "MCP server": "tests/cli/test_mcp.py::test_an_assistant_mends_reads_and_applies",
    "direction injection": f"{DEMANDS}test_each_stalled_attempt_is_given_another_way_to_look",
    "constraint extraction": f"{DEMANDS}test_what_must_hold_is_read_off_the_failure",
    "loop-aware inner agent": "tests/rungs/test_agent_rung.py::test_it_knows_how_the_loop_around_it_fares",
    "near-identical broken solutions": "test_fixation_is_seen_whatever_the_text_looks_like",
}
"""What is printed → the test, in this file unless another is named."""

HAIKU, SONNET, OPUS = "claude-haiku-4-5", "claude-sonnet-4-6", "claude-opus-4-8"
TESTS = "from solution import f\n\ndef test_basic(): assert f([1,2,3]) == [3,2,1]\n"
STUB = "def f(*args, **kwargs):\n    raise NotImplementedError\n"
REVERSED = "def f(items):\n    return items[::-1]\n"

QUICKSTART = """
from pytest_noepicycle import Supervisor

supervisor = Supervisor(
    test_code=open("tests.py").read(),
    budget_cap=30_000,
)
result = supervisor.run("Write a Python function f that reverses a list")
print(result.solution)
print(f"Score: {result.score:.0%}, Tokens: {result.tokens_spent}")
"""

COMMAND_LINE = r"""
# write a test file
echo 'from solution import f

def test_basic(): assert f([1,2,3]) == [3,2,1]' > tests.py

# run noepicycle
noepi run "Write a Python function f that reverses a list" \
    --tests tests.py --budget 30000
"""

PLUG_AND_PLAY = """
from pytest_noepicycle import Supervisor

supervisor = Supervisor(
    score_fn=lambda solution: run_tests(solution),  # your scorer
    budget_cap=50_000,                               # tokens
    # ladder="default"  # or pass your own
)

result = supervisor.run(
    task="Fix the failing authentication middleware",
    inner_loop=your_langgraph_agent,  # your existing agent
)

print(result.solution)       # best solution found
print(result.iterations)     # how many inner loop iterations ran
print(result.tokens_spent)   # total tokens used
print(result.stop_reason)    # "solved" | "plateau" | "budget" | "exhausted"
"""

BRING_YOUR_OWN = """
from pytest_noepicycle import Supervisor, Ladder

my_ladder = Ladder({
    "claude-haiku-4-5": {
        "on_plateau": "claude-sonnet-4-6",
        "on_regression": "claude-opus-4-8",
        "on_budget_low": None,
    },
    "claude-sonnet-4-6": {"on_plateau": "claude-opus-4-8"},
    "claude-opus-4-8": {"on_plateau": None},
})

supervisor = Supervisor(score_fn=score_fn, budget_cap=1_000, ladder=my_ladder)
"""

OPT_IN = """
# opt-in explicitly — do not use with sensitive codebases
from pytest_noepicycle.ladders import PERFORMANCE_LADDER
supervisor = Supervisor(..., ladder=PERFORMANCE_LADDER)
"""

TRANSFERS = {
    "summary": 'Supervisor(..., context_transfer="summary")  # default',
    "reset": 'Supervisor(..., context_transfer="reset")    # task + best only, nothing else',
    "full": 'Supervisor(..., context_transfer="full")     # full history (not recommended)',
}

DEFAULTS = """
delta_threshold	0.02
plateau_window	2
budget_low_pct	0.25
budget_stop_pct	0.05
grace_period	2
"""

CONFIGURED = """
Supervisor(
    ...,
    delta_threshold=0.05,   # stricter plateau detection
    plateau_window=3,        # require more evidence before switching
    grace_period=3,          # more cycles before reassessing after switch
)
"""


def filled(snippet, arguments="score_fn=first_number"):
    """Return a printed snippet with arguments in the place of its dots."""
    assert snippet.count("...") == 1
    return snippet.replace("...", arguments)


def made(snippet, *arguments):
    """Return the supervisor that a printed call makes."""
    space = {"Supervisor": Supervisor, "first_number": first_number}
    exec(f"made = {filled(snippet, *arguments).strip()}", space)
    return space["made"]


def engine_answers() -> bool:
    """Whether a container engine answers here."""
    asked = shutil.which("docker") and subprocess.run(["docker", "info"], capture_output=True, timeout=30, check=False)
    return bool(asked) and asked.returncode == 0


def narrow(**more):
    """Return a supervisor over scripted loops, with a budget that nothing here exhausts."""
    return Supervisor(score_fn=first_number, **{"budget_cap": 100_000, **more})


def test_each_promise_is_kept_by_a_test_that_there_is():
    """A test that is renamed or taken away leaves no promise behind."""
    top = Path(__file__).parents[2]
    for promise, test in KEPT_BY.items():
        file, _, name = test.rpartition("::")
        tree = ast.parse((top / file).read_text("utf-8") if file else Path(__file__).read_text("utf-8"))
        assert name in {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}, promise


@pytest.mark.slow
@pytest.mark.parametrize("sandbox", ["process", pytest.param("docker", marks=pytest.mark.docker)])
def test_the_quickstart_on_the_command_line(server, caller, sandbox):
    """The lines of the shell as they are printed: the solution is on standard output, the model was asked once."""
    server.edits(("solution.py", STUB, REVERSED))
    lines = COMMAND_LINE
    if sandbox == "process":  # as printed it needs Docker; another sandbox is asked for by name
        lines = f"{COMMAND_LINE.rstrip()} --sandbox process"
    elif not engine_answers():
        pytest.skip("no container engine answers; .ci/run starts one")
    path = os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))
    done = subprocess.run(
        ["sh", "-e", "-c", lines], env={**os.environ, "PATH": path}, capture_output=True, text=True, timeout=240
    )
    assert (done.returncode, done.stdout) == (0, REVERSED), done.stderr
    assert [request.body["model"] for request in server.requests] == [HAIKU]
    assert (caller / "tests.py").read_text() == TESTS.replace("\n\n\n", "\n\n")


def test_the_key_may_lie_in_a_dotenv_file(server, caller, monkeypatch):
    """In the folder of the project; the environment has none."""
    key = os.environ["ANTHROPIC_API_KEY"]
    monkeypatch.delenv("ANTHROPIC_API_KEY")
    (caller / ".env").write_text(f"ANTHROPIC_API_KEY={key}\n")
    hands_in(server, "1.0 done")
    assert narrow().run("anything").stop_reason == "solved"


@pytest.mark.filterwarnings("ignore:unclosed file:ResourceWarning")  # the snippet's own open()
@pytest.mark.parametrize("sandbox", ["process", pytest.param("docker", marks=pytest.mark.docker)])
def test_the_quickstart(server, caller, capsys, sandbox):
    """A test file, a task, a budget: the model's answer is proven, printed, and its tokens are the provider's."""
    (caller / "tests.py").write_text(TESTS)
    server.edits(("solution.py", STUB, REVERSED), usage={"input_tokens": 700, "output_tokens": 50})
    snippet = QUICKSTART
    if sandbox == "process":  # as printed it needs Docker; another sandbox is asked for by name
        snippet = QUICKSTART.replace("budget_cap=30_000,", "budget_cap=30_000, sandbox='process',")
    elif not engine_answers():
        pytest.skip("no container engine answers; .ci/run starts one")
    with pytest.warns(UserWarning, match=r"Binary scoring|Low test coverage"):
        exec(snippet, {})
    assert capsys.readouterr().out == f"{REVERSED}\nScore: 100%, Tokens: 750\n"
    assert "Task: Write a Python function f that reverses a list" in server.requests[0].prompt
    assert [request.body["model"] for request in server.requests] == [HAIKU]


def test_plug_and_play_with_a_langgraph_agent(caller, capsys):
    """An agent that somebody has already: asked through its graph, charged by its messages' metadata."""
    from langchain_core.messages import AIMessage
    from langgraph.graph import END, START, MessagesState, StateGraph

    answers = itertools.count(1)

    def think(state):
        usage = {"input_tokens": 90, "output_tokens": 10, "total_tokens": 100}
        return {"messages": [AIMessage("let me think", usage_metadata=usage)]}

    def answer(state):
        usage = {"input_tokens": 45, "output_tokens": 5, "total_tokens": 50}
        return {"messages": [AIMessage(f"```python\nright {next(answers)}\n```", usage_metadata=usage)]}

    graph = StateGraph(MessagesState)
    graph.add_node("think", think)
    graph.add_node("answer", answer)
    graph.add_edge(START, "think")
    graph.add_edge("think", "answer")
    graph.add_edge("answer", END)
    asked = []

    def run_tests(solution):
        asked.append(solution)
        return {1: 0.25, 2: 0.5, 3: 1.0}[int(solution.split()[1])]

    exec(PLUG_AND_PLAY, {"run_tests": run_tests, "your_langgraph_agent": graph.compile()})
    assert asked == ["right 1", "right 2", "right 3"]
    assert capsys.readouterr().out == "right 3\n3\n450\nsolved\n"


def test_bring_your_own_ladder(caller):
    """A regression leads where the caller's own ladder says, and not where the default one would."""
    space = {"score_fn": first_number}
    exec(BRING_YOUR_OWN, space)
    loop = Loop([0.5, 0.2, 0.2])
    space["supervisor"].run("anything", inner_loop=loop)
    assert loop.models[:3] == [HAIKU, HAIKU, OPUS]
    assert isinstance(space["my_ladder"], Ladder)


def test_the_performance_ladder_is_opt_in_and_warned_about_at_every_use(caller):
    """Once where it is imported, once where it is used, and again the next time."""
    for _ in range(2):
        with pytest.warns(UserWarning, match="Chinese data jurisdiction") as caught:
            exec(filled(OPT_IN), {"Supervisor": Supervisor, "first_number": first_number})
        assert len(caught) == 2
    with pytest.warns(UserWarning, match="Chinese data jurisdiction"):
        Supervisor(score_fn=first_number, ladder="performance")


def test_the_default_ladder_asks_claude_alone(caller):
    """Haiku, Sonnet, Opus, in this order; without a word of warning."""
    models = [rung.model for rung in DEFAULT_LADDER.rungs.values() if rung.asks]
    assert models == [HAIKU, SONNET, OPUS]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        narrow()


def test_a_first_score_is_no_regression_and_a_recovery_no_plateau(caller):
    """However low the first score is, it is no fall; a dip leads on, and what rises again is gone on with."""
    first = narrow().run("anything", inner_loop=Loop([0.0, 0.5, 1.0]))
    assert [entry.decision for entry in first.history] == ["continue", "continue", "stop"]
    dip = narrow().run("anything", inner_loop=Loop([0.6, 0.3, 0.4, 0.8, 1.0]))
    assert [entry.signal for entry in dip.history] == ["none", "regression", "none", "none", "solved"]
    assert dip.score == 1.0


SIGNALS = {
    "plateau": ([0.5, 0.5], 0.9),
    "regression": ([0.5, 0.2], 0.9),
    "budget low": ([0.5], 0.2),
}
TRANSITIONS = [
    (HAIKU, "plateau", SONNET),
    (HAIKU, "regression", SONNET),
    (HAIKU, "budget low", None),
    (SONNET, "plateau", OPUS),
    (SONNET, "regression", OPUS),
    (SONNET, "budget low", HAIKU),
    (OPUS, "plateau", None),
    (OPUS, "regression", None),
    (OPUS, "budget low", SONNET),
]


@pytest.mark.parametrize(("rung", "signal", "leads_to"), TRANSITIONS)
def test_the_transitions_of_the_default_ladder(rung, signal, leads_to):
    """Each edge of the printed list, taken by the decision itself; None is stop."""
    scores, left = SIGNALS[signal]
    attempts = tuple(Attempt(i, rung, score, 0.0, f"e{i}") for i, score in enumerate(scores, start=1))
    limits = Thresholds(grace_period=0)
    decision = decide(Situation(DEFAULT_LADDER, rung, attempts, limits, budget_left=left, since_switch=len(attempts)))
    assert (decision.action is Action.STOP) is (leads_to is None)
    assert decision.rung == leads_to


def test_a_budget_that_runs_low_leads_down_the_ladder_to_its_end(caller):
    """Opus to Sonnet to Haiku, each once, then stop: the run ends although every rung may be entered again."""
    loop = Loop([0.5, 0.2, 0.2, 0.1, 0.1], tokens=300)
    result = narrow(budget_cap=2_400).run("anything", inner_loop=loop)
    assert result.stop_reason == "budget"
    assert loop.models == [HAIKU, HAIKU, SONNET, SONNET, OPUS, OPUS, SONNET, HAIKU]
    assert [entry.signal for entry in result.history[5:]] == ["budget_low", "budget_low", "budget_stop"]


def test_the_three_decisions_and_the_history(caller):
    """Continue on gain, switch on a plateau, stop when solved; each entry is read by attribute and by key."""
    result = narrow().run("anything", inner_loop=Loop([0.3, 0.6, 0.6, 0.6, 1.0]))
    assert [entry.decision for entry in result.history] == ["continue", "continue", "continue", "switch", "stop"]
    assert (result.stop_reason, result.score, result.iterations) == ("solved", 1.0, 5)
    entry = result.history[3]
    assert (entry["model"], entry["iteration"], entry["score"], entry["delta"]) == (HAIKU, 4, 0.6, 0.0)
    assert (entry["tokens_used"], entry.decision) == (10, entry["decision"])
    assert "gained less than 0.02" in entry.reason
    assert dict(entry)["reason"] == entry.reason


def test_the_best_is_never_lost(caller):
    """What came after it was worse; the best and its score are what is returned."""
    result = narrow().run("anything", inner_loop=Loop([0.3, 0.8, 0.1, 0.1, 0.2]))
    assert (result.solution, result.score) == ("0.8 number 2", 0.8)


@pytest.mark.parametrize(
    ("thresholds", "scores", "models"),
    [
        ({}, [0.5, 0.51, 0.52], [HAIKU] * 3 + [SONNET]),
        ({"delta_threshold": 0.005}, [0.5, 0.51, 0.52], [HAIKU] * 4),
        ({}, [0.5] * 9, [HAIKU] * 3 + [SONNET] * 2 + [OPUS]),
        ({"plateau_window": 3}, [0.5] * 9, [HAIKU] * 4 + [SONNET]),
        ({"grace_period": 4}, [0.5] * 9, [HAIKU] * 3 + [SONNET] * 4 + [OPUS]),
        ({"grace_period": 1, "plateau_window": 1}, [0.5] * 9, [HAIKU] * 2 + [SONNET] + [OPUS]),
    ],
    ids=["default delta", "finer delta", "default window", "wider window", "longer grace", "shortest"],
)
def test_thresholds_of_the_movement(caller, thresholds, scores, models):
    """Each threshold by its name, told by the models that the loop was given."""
    loop = Loop(scores)
    narrow(**thresholds).run("anything", inner_loop=loop)
    assert loop.models[: len(models)] == models


def test_the_printed_defaults_are_the_defaults():
    """Of the thresholds, and of the arguments by the same names."""
    printed = dict(line.split() for line in DEFAULTS.strip().splitlines())
    assert {name: getattr(Thresholds(), name) for name in printed} == {k: float(v) for k, v in printed.items()}
    given = inspect.signature(Supervisor).parameters
    assert {name: given[name].default for name in printed} == {k: float(v) for k, v in printed.items()}


def test_all_thresholds_are_configurable(caller):
    """Gains of 0.04 are none at 0.05; three of them are looked at, and three more of the next model."""
    loop = Loop([0.5, 0.54, 0.58, 0.62, 0.62])
    made(CONFIGURED).run("anything", inner_loop=loop)
    assert loop.models[:8] == [HAIKU] * 4 + [SONNET] * 3 + [OPUS]


@pytest.mark.parametrize(
    ("shares", "iterations"),
    [({}, 8), ({"budget_low_pct": 0.5}, 5), ({"budget_low_pct": 0.0, "budget_stop_pct": 0.35}, 7)],
)
def test_thresholds_of_the_budget(caller, shares, iterations):
    """On Haiku a low budget stops; with a tenth of it an iteration, the shares say after how many."""
    rising = [0.1 * i for i in range(1, 10)]
    result = narrow(budget_cap=1000, **shares).run("anything", inner_loop=Loop(rising, tokens=100))
    assert (result.stop_reason, result.iterations) == ("budget", iterations)


def test_solved_by_a_score_below_one_where_that_is_enough(caller):
    """The success threshold is the caller's."""
    result = narrow(success_threshold=0.75).run("anything", inner_loop=Loop([0.3, 0.8]))
    assert (result.stop_reason, result.score) == ("solved", 0.8)


def test_fixation_is_seen_whatever_the_text_looks_like(caller):
    """The same program with other comments and blanks is the same attempt; three of them where three are allowed."""
    texts = ["x = 1", "x  =  1  # again", "x = (1)", "x = 1 # more"]

    def loop(context):
        return texts[len(context.attempts) % 4], 1

    results = [
        Supervisor(score_fn=lambda text: 0.5, plateau_window=9, fixation_threshold=n).run("t", inner_loop=loop)
        for n in (2, 3)
    ]
    assert [result.history[n].signal for n, result in zip((1, 2), results, strict=True)] == ["fixation"] * 2


BINARY = """⚠ noepicycle: Binary scoring signal detected (possible low test
  coverage). Widening plateau_window from 2 to 4 for more reliable
  convergence detection. Consider adding more tests or using
  score_fn="llm_judge" for a smoother signal."""


def test_a_binary_signal_is_warned_about_in_these_words_and_the_window_widened(caller):
    """Zeros and ones alone: said once, and four attempts instead of two before a plateau is seen."""
    loop = Loop([0.0] * 9)
    with pytest.warns(UserWarning, match="Binary") as caught:
        result = narrow().run("anything", inner_loop=loop)
    assert [" ".join(str(one.message).split()) for one in caught] == [" ".join(BINARY.split())]
    assert loop.models[:5] == [HAIKU] * 4 + [SONNET]
    assert len(result.warnings) == 1


@pytest.mark.parametrize("number", [pytest.param(4, marks=pytest.mark.slow), 5])
def test_fewer_than_five_tests_are_warned_about(caller, number):
    """Four are few, and five are enough."""
    checks = "".join(f"\n\ndef test_{n}():\n    assert f({n}) == {n}\n" for n in range(number))
    supervisor = Supervisor(test_code=f"from solution import f\n{checks}", sandbox="process")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = supervisor.run("the same number", inner_loop=lambda context: ("def f(n):\n    return n\n", 1))
    assert result.stop_reason == "solved"
    said = [str(one.message) for one in caught if "Low test coverage" in str(one.message)]
    assert ["Only 4 tests judge" in text for text in said] == ([True] if number == 4 else [])
    assert list(result.warnings) == said


def test_llm_judge_is_a_smoother_signal(server):
    """A model scores by points between nothing and all: two values, and no word of a binary signal."""
    for points in (4, 8):
        hands_in(server, f"draft {points}")
        scored = dict.fromkeys(("correctness", "completeness", "edges", "clarity"), points) | {"problems": ""}
        server.uses_tool(scored, name="judge")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", "noepicycle: ANTHROPIC_BASE_URL is set")
        result = Supervisor(score_fn="llm_judge", success_threshold=0.8).run("Write a haiku")
    assert [entry.score for entry in result.history] == [0.4, 0.8]
    assert result.stop_reason == "solved"


def test_a_signal_that_is_not_binary_is_not_warned_about(caller):
    """One score between is enough."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = narrow().run("anything", inner_loop=Loop([0.0, 0.5, 0.0, 0.0]))
    assert result.warnings == ()


def requests_of_a_switch(server, mode):
    """Run two failing attempts on Haiku and a right one on Sonnet; return each request's whole text."""
    hands_in(server, "0.5 the best", "0.4 the worse WRONG_TEXT")
    if mode == "summary":
        briefs(server, "Sorting was tried; it loses the order.")
    hands_in(server, "1.0 right")
    result = made(TRANSFERS[mode], "score_fn=first_number, grace_period=0").run("Sort the names")
    assert (result.stop_reason, result.solution) == ("solved", "1.0 right")
    assert result.tokens_spent == sum(usage["input_tokens"] + usage["output_tokens"] for usage in server.served)
    return result, [(request.body["model"], request.prompt) for request in server.requests]


def test_context_transfer_summary_is_a_briefing_by_a_cheap_model(server):
    """The default: the new model reads the task, the best, and what was tried, in no words of a failed attempt."""
    assert inspect.signature(Supervisor).parameters["context_transfer"].default == "summary"
    result, asked = requests_of_a_switch(server, "summary")
    assert [model for model, _ in asked] == [HAIKU, HAIKU, HAIKU, SONNET]
    assert "WRONG_TEXT" in asked[2][1]
    told = asked[3][1]
    assert re.search("Task: Sort the names.*Best solution so far.*0.5 the best.*Approaches tried:.*loses", told, re.S)
    assert "WRONG_TEXT" not in told
    assert result.history[2].tokens_used == sum(u["input_tokens"] + u["output_tokens"] for u in server.served[2:])


def test_context_transfer_reset_is_the_task_and_the_best(server):
    """Nothing else: no briefing is paid for, and nothing of the attempts is told."""
    _, asked = requests_of_a_switch(server, "reset")
    assert [model for model, _ in asked] == [HAIKU, HAIKU, SONNET]
    assert "0.5 the best" in asked[2][1]
    assert not re.search("WRONG_TEXT|tried|0.40|last candidate|another way", asked[2][1])


def test_context_transfer_full_is_the_whole_history(server):
    """Not recommended, and what it says."""
    _, asked = requests_of_a_switch(server, "full")
    assert [model for model, _ in asked] == [HAIKU, HAIKU, SONNET]
    assert "WRONG_TEXT" in asked[2][1]
    assert "0.5 the best" in asked[2][1]


@pytest.mark.parametrize(
    ("loop", "more", "reason"),
    [
        (Loop([1.0]), {}, StopReason.SOLVED),
        (Loop([0.5]), {"ladder": {"a": {"on_plateau": None, "on_error": "b"}, "b": {}}}, StopReason.PLATEAU),
        (Loop([0.1, 0.2], tokens=90), {"budget_cap": 100}, StopReason.BUDGET),
        (Loop([0.5]), {}, StopReason.EXHAUSTED),
    ],
    ids=["solved", "plateau", "budget", "exhausted"],
)
def test_the_four_stop_reasons(caller, loop, more, reason):
    """Each compares equal to the word that was printed."""
    result = narrow(**more).run("anything", inner_loop=loop)
    assert result.stop_reason is reason
    assert result.stop_reason == str(reason)
