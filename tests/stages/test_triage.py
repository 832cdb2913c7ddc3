"""Triage: real, flaky, environment, contradiction, each from the smallest failure that shows it."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
from toy import World

from pytest_noepicycle.domain.failure import Failure, Frame
from pytest_noepicycle.domain.patch import Patch
from pytest_noepicycle.domain.run import Finding
from pytest_noepicycle.domain.trial import End, Outcome, Report, Status, Trial
from pytest_noepicycle.stages.baseline import contradictions
from pytest_noepicycle.stages.contradicting import paired
from pytest_noepicycle.stages.running import Clocks, run_all
from pytest_noepicycle.stages.scene import Surroundings
from pytest_noepicycle.stages.triage import collection_notes, triage

KNOWN = frozenset({"requests", "json", "mypkg"})


def triaged(world: World, *failed: str, reruns: int = 3):
    """Triage these tests of a world."""
    with ThreadPoolExecutor(1) as executor:
        return triage(failed, world.run, fresh=world.run, executor=executor, reruns=reruns, seconds=60, known=KNOWN)


def test_what_fails_each_time_is_real():
    """Three runs, three failures: a fault of the code, with the failure that the sandbox showed."""
    done = triaged(World({}, {"t::a": lambda n: False}), "t::a")
    assert [failure.test for failure in done.real] == ["t::a"]
    assert done.findings == ()


def test_what_passes_in_one_of_the_runs_is_flaky():
    """One pass of the same code is enough: it is never called real."""
    done = triaged(World({}, {"t::a": lambda n: False}, flaky={"t::a": [False, True, False]}), "t::a")
    assert done.real == ()
    assert [(f.test, f.kind) for f in done.findings] == [("t::a", "flaky")]


def test_one_run_is_cold_and_the_number_of_runs_is_the_users():
    """noepi_reruns counts all runs; one of them is in a fresh interpreter."""
    world = World({}, {"t::a": lambda n: False})
    triaged(world, "t::a", reruns=4)
    assert sorted(trial.cold for trial in world.trials) == [False, False, False, True]


def test_what_passes_each_time_is_looked_at_longer():
    """It failed once: it gets more rounds than the user asked for before it counts as absent."""
    world = World({}, {"t::a": lambda n: True})
    assert triaged(world, "t::a").absent == ("t::a",)
    assert len(world.trials) > 3


def test_a_rare_pass_is_found_where_the_failures_differ():
    """The message is another one each time, so chance has a hand in it; one of the further rounds passes."""
    turns = iter(range(100))

    def run(trial: Trial) -> Report:
        number = next(turns)
        failure = Failure("t::a", "call", "AssertionError", f"assert 0.{number} < 0.5")
        outcome = Outcome("t::a", Status.PASSED) if number == 6 else Outcome("t::a", Status.FAILED, failure=failure)
        return Report({"t::a": outcome}, End.COMPLETE)

    done = triage(("t::a",), run, fresh=run, reruns=3, seconds=60, known=KNOWN)
    assert [(f.kind, f.hint) for f in done.findings] == [("flaky", "passed in 1 of 7 runs of the same code")]


def test_a_test_that_another_failing_one_spoils_is_not_real():
    """In their order the second fails each time, in reverse it never does: neither chance nor a fault of its own."""

    def run(trial: Trial) -> Report:
        ids = trial.ids or ()
        spoilt = ids.index("t::b") > ids.index("t::a")
        ends = {"t::a": True, "t::b": spoilt}
        return Report({t: _ended(t, failed=ends[t]) for t in ids}, End.COMPLETE)

    done = triage(("t::a", "t::b"), run, fresh=run, reruns=3, seconds=60, known=KNOWN)
    assert [failure.test for failure in done.real] == ["t::a"]
    assert [(finding.test, finding.kind) for finding in done.findings] == [("t::b", "order-dependent")]
    assert [failure.test for failure in done.swayed] == ["t::b"]


def _ended(test: str, *, failed: bool) -> Outcome:
    if failed:
        return Outcome(test, Status.FAILED, failure=Failure(test, "call", "AssertionError", "no"))
    return Outcome(test, Status.PASSED)


@pytest.mark.parametrize(
    ("report", "why"),
    [
        (Report({}, End.TIMEOUT), "within the time"),
        (Report({"t::a": Outcome("t::a", Status.MISSING)}, End.TIMEOUT, collected=("t::a",)), "within the time"),
        (Report({"t::a": Outcome("t::a", Status.MISSING)}, End.COMPLETE), "parameters made by chance"),
        (Report({"t::a": Outcome("t::a", Status.SKIPPED)}, End.COMPLETE, collected=("t::a",)), "it is skipped"),
    ],
    ids=["nothing ran", "not reached", "not found", "skipped"],
)
def test_what_did_not_fail_nor_pass_is_neither_flaky_nor_for_want_of_surroundings(report, why):
    """Nothing is known of it, and that is said, with what it usually means."""
    done = triage(("t::a",), lambda t: report, fresh=lambda t: report, reruns=2, seconds=60, known=KNOWN)
    assert [finding.kind for finding in done.findings] == ["unreproduced"]
    assert why in done.findings[0].hint


def test_a_file_of_tests_that_is_no_python_is_for_a_person_to_mend():
    """No patch may change it; the tests that it hides are counted."""
    failure = Failure("t.py", "collect", "SyntaxError", "invalid syntax", (Frame("t.py", 2, "<module>"),))

    def run(trial: Trial) -> Report:
        return Report({"t.py": Outcome("t.py", Status.ERROR, failure=failure)}, End.COMPLETE)

    source = b"def test_a():\n    x = (\n\ndef test_b():\n    pass\n"
    around = Surroundings(files=frozenset({"t.py"}), read={"t.py": source}.get)
    done = triage(("t.py",), run, fresh=run, reruns=1, seconds=60, known=KNOWN, around=around)
    assert [finding.kind for finding in done.findings] == ["collection"]
    assert done.findings[0].hint.endswith("until then 2 tests cannot run: test_a, test_b")


def test_a_place_that_cannot_be_collected_is_said_with_what_it_hides():
    """A conftest hides all tests below its folder."""
    files = {"a/conftest.py": b"", "a/test_x.py": b"class TestX:\n    def test_1(self): pass\n", "test_y.py": b""}
    around = Surroundings(files=frozenset(files), read=files.get)
    failure = Failure("a/conftest.py", "collect", "NameError", "name 'x' is not defined")
    assert list(collection_notes([failure], around)) == [
        "a/conftest.py cannot be collected (NameError); until then 1 test cannot run: TestX::test_1"
    ]


def test_contradicting_tests_are_named_by_pair():
    """Each finding about the same call names the others."""
    found = paired([Finding("t::a", "contradiction", "f(1)"), Finding("t::b", "contradiction", "f(1)")])
    assert [(finding.hint, finding.others) for finding in found] == [
        ("f(1): see t::b", ("t::b",)),
        ("f(1): see t::a", ("t::a",)),
    ]


SOURCES = {
    "test_x.py": b"from m import f\nfrom n import g\n\n"
    b"def test_1():\n    assert f(1) == 2\n\n"
    b"def test_2():\n    assert f(1) == 3\n\n"
    b"def test_3():\n    assert f(2) == 3\n\n"
    b"def test_4():\n    x = 1\n    assert f(2) == 4\n\n"
    b"def test_5(monkeypatch):\n    assert f(1) == 5\n\n"
    b"def test_6():\n    assert 2 == f(1)\n\n"
    b"def test_7():\n    assert g(1) == 9\n\n",
    "test_y.py": b"from other import f\n\ndef test_1():\n    assert f(1) == 7\n",
    "test_z.py": b"from other import f\nf = 1\nbroken(\n",
}
IDS = [f"test_x.py::test_{n}" for n in range(1, 8)] + ["test_y.py::test_1", "test_z.py::test_1", "gone.py::test_1"]


def test_tests_that_demand_two_results_of_one_call_contradict_each_other():
    """Only plain calls of the same function with the same literals count; anything else may differ for a reason."""
    found = {finding.test for finding in contradictions(tuple(IDS[:1]), tuple(IDS[1:]), SOURCES.get)}
    assert found == {"test_x.py::test_1", "test_x.py::test_2", "test_x.py::test_6"}


def test_no_contradiction_is_seen_where_there_is_none():
    """The same demand twice, or calls that differ, are fine."""
    tests = ("test_x.py::test_1", "test_x.py::test_6", "test_x.py::test_3")
    assert contradictions(tests[:1], tests[1:], SOURCES.get) == ()


@pytest.mark.parametrize(
    "more",
    [
        {
            "test_w.py": b"from m import f\nimport pytest\n"
            b"@pytest.mark.usefixtures('dutch')\ndef test_1():\n    assert f(1) == 9\n"
        },
        {"conftest.py": b"import pytest\n@pytest.fixture(autouse=True)\ndef country(request):\n    pass\n"},
    ],
    ids=["decorator", "autouse fixture"],
)
def test_what_surrounds_a_test_may_change_what_a_call_gives(more):
    """Under a decorator or a fixture of its own accord the same call is another one."""
    sources = {**SOURCES, **more}
    found = contradictions(("test_w.py::test_1",) if "test_w.py" in more else tuple(IDS[:2]), tuple(IDS), sources.get)
    assert found == ()


def test_passing_tests_alone_do_not_contradict_each_other():
    """They pass: whatever it is, it is no reason to set a failure aside."""
    assert contradictions((), tuple(IDS), SOURCES.get) == ()


def test_tests_behind_a_hang_still_come_to_run():
    """A run ends at its first hang; what it kept from running is run again without the test that hung."""
    ids = ("t::a", "t::hangs", "t::b")

    def run(trial: Trial) -> Report:
        done: dict[str, Outcome] = {}
        for test in trial.ids or ids:
            if test == "t::hangs":
                done[test] = Outcome(test, Status.TIMEOUT)
                return Report(done, End.TIMEOUT, hung=test, collected=ids, seconds=1)
            done[test] = Outcome(test, Status.PASSED)
        return Report(done, End.COMPLETE, collected=ids, seconds=1)

    report = run_all(run, Trial(Patch(), None, Clocks().limits((), 60)))
    assert {test: str(outcome.status) for test, outcome in report.outcomes.items()} == {
        "t::a": "passed",
        "t::hangs": "timeout",
        "t::b": "passed",
    }
    assert report.hung == "t::hangs"


@pytest.mark.parametrize(
    ("duration", "fixed", "expected"), [(0.0, None, 5.0), (1.0, None, 10.0), (9.0, None, 30.0), (9.0, 2.0, 2.0)]
)
def test_a_test_may_take_ten_times_its_time_within_bounds(duration, fixed, expected):
    """Five seconds at least, thirty at most, or what the user has set."""
    assert Clocks({"t::a": duration}, fixed).of("t::a") == expected


def test_a_run_that_never_begins_is_not_repeated_and_says_why():
    """Pytest could not be called at all: one more try, no loop, and the reason reaches the user."""
    calls = []

    def run(trial: Trial) -> Report:
        calls.append(trial)
        missing = {test: Outcome(test, Status.MISSING) for test in trial.ids or ()}
        return Report(missing, End.DIED, why="pytest was called in a way it does not understand")

    with ThreadPoolExecutor(1) as executor:
        done = triage(("t::a",), run, fresh=run, executor=executor, reruns=1, seconds=60, known=KNOWN)
    assert len(calls) == 2
    assert [finding.kind for finding in done.findings] == ["unreproduced"]
    assert "was called in a way it does not understand" in done.findings[0].hint
