"""Outcomes are judged by what was checked, kept line by line, and printed whole."""

from dataclasses import asdict, replace

import pytest

from pytest_noepicycle.bench import outcomes
from pytest_noepicycle.bench.outcomes import Mended, Outcome, judge, same_code

ONE = Outcome(
    package="toolz",
    key="toolz==1|a.py|core/AddNot|0",
    place="toolz/a.py:7",
    family="AddNot",
    before="if x:",
    after="if not x:",
    failing=2,
    stop_reason="solved",
    mended=Mended.EXACTLY,
    seconds=3.21,
    candidates=14,
)


@pytest.mark.parametrize(
    ("solved", "green", "same", "mended"),
    [
        (None, False, False, Mended.CRASHED),
        (False, True, True, Mended.NOT),
        (True, False, True, Mended.DISPROVED),
        (True, True, False, Mended.PLAUSIBLE),
        (True, True, True, Mended.EXACTLY),
    ],
)
def test_judge(solved, green, same, mended):
    """A claim counts only where the suite agrees, and exactly only where the code is as before."""
    assert judge(solved, green=green, same=same) is mended


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("x = 1\n", "x = 1\n", True),
        ("x = (1)  # one\n", "x = 1\n", True),
        ("x = 1\n", "x = 2\n", False),
        ("x = 1\n", "x = \n", False),
    ],
)
def test_same_code(one, other, same):
    """Layout and comments do not make a difference."""
    assert same_code(one, other) is same


def test_results_survive_a_kill_in_the_middle_of_a_line(tmp_path):
    """What was written before and after a cut line is read back, and the cut line is not."""
    file = tmp_path / "results.jsonl"
    assert outcomes.read_results(file) == ({}, frozenset())
    outcomes.append(file, asdict(ONE))
    file.write_bytes(file.read_bytes() + b'{"key": "half')
    outcomes.append(file, {"key": "toolz==1|b.py", "unfit": True})
    assert outcomes.read_results(file) == ({ONE.key: ONE}, frozenset({"toolz==1|b.py"}))


def test_a_crash_is_tried_again(tmp_path):
    """A fault whose repair left no result does not count as finished."""
    file = tmp_path / "results.jsonl"
    outcomes.append(file, asdict(replace(ONE, mended=Mended.CRASHED)))
    assert outcomes.read_results(file) == ({}, frozenset())


def test_totals():
    """Every kind is counted, also those that did not occur."""
    found = [ONE, replace(ONE, mended=Mended.NOT, seconds=5.0, candidates=20)]
    counts = outcomes.totals(found)
    assert (counts["faults"], counts["exactly"], counts["not"], counts["disproved"]) == (2, 1, 1, 0)
    assert (counts["median_seconds"], counts["median_candidates"]) == (4.1, 17)
    assert outcomes.totals([])["faults"] == 0


def test_table_shows_every_outcome_and_the_totals():
    """Failures are printed like successes, and packages, families and the whole have a line each."""
    failed = replace(ONE, package="semver", place="semver/b.py:9", mended=Mended.NOT, stop_reason="exhausted")
    lines = outcomes.as_text([ONE, failed]).splitlines()
    assert [line.split()[:2] for line in lines[1:3]] == [["toolz", "toolz/a.py:7"], ["semver", "semver/b.py:9"]]
    assert "exhausted" in lines[2]
    assert [line.split()[0] for line in lines[5:]] == ["semver", "toolz", "AddNot", "all"]


def test_table_of_nothing():
    """Where nothing was measured the table says so with a zero."""
    assert outcomes.as_text([]).splitlines()[-1].split()[:2] == ["all", "0"]


def test_result_and_candidates_of_a_recorded_run(tmp_path):
    """The result is read from the record, and candidates are added up over its attempts, cut lines left out."""
    run = tmp_path / ".noepi" / "runs" / "r1"
    run.mkdir(parents=True)
    assert outcomes.read_result(tmp_path) == {}
    (run / "result.json").write_text('{"solved": true, "stop_reason": "solved"}')
    events = ['{"event": "attempt", "candidates": 3}', '{"event": "decision"}', '{"event": "attempt", "candidates": 4}']
    (run / "decisions.jsonl").write_text("\n".join([*events, '{"event": "att']))
    assert outcomes.read_result(tmp_path)["solved"] is True
    assert outcomes.candidates_tried(tmp_path) == 7
