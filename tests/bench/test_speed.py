"""The bench of speed: its table, and one small real run of every way that needs no container engine."""

from __future__ import annotations

import json

from pytest_noepicycle import cli
from pytest_noepicycle.bench.speed.measure import Row, Table, spread
from pytest_noepicycle.bench.speed.table import as_json, as_text

TABLE = Table(
    3,
    2,
    (
        Row("python -m pytest", (200.0, 210.0, 190.0), (1.0, 1.0, 1.0)),
        Row("docker run, as confined", (500.0, 630.0, 570.0), (2.5, 3.0, 3.0)),
        Row("mutmut, its own rate", missing="mutmut is not\ninstalled"),
        Row("worker, docker: session (any patch)", (20.0, 21.0, 38.0), (0.1, 0.1, 0.2)),
    ),
    Row("two workers to one, docker", (10.0, 10.0), (1.5, 1.7)),
)


def test_the_table_gives_ratios_first_and_says_why_a_row_is_missing():
    """Each row has the median with its quartiles; what could not be measured stands there with its reason."""
    lines = as_text(TABLE).splitlines()
    assert "3 rounds" in lines[0]
    assert "2 cores" in lines[0]
    rows = [" ".join(line.split()) for line in lines]
    assert "0.100 (0.100-0.150) 21.0 (20.5-29.5) worker, docker: session (any patch)" in rows
    assert "- - mutmut, its own rate: mutmut is not installed" in rows
    assert "worker, docker: session (any patch): 25.0 candidates to one of docker run (20.0-27.5)" in rows
    assert rows[-1] == "two workers to one, docker: 1.60 times as many candidates (1.55-1.65)"


def test_the_json_holds_the_same():
    """Medians and quartiles by their names, and the reason in the place of figures."""
    document = json.loads(json.dumps(as_json(TABLE)))
    assert document["rows"][0] == {
        "way": "python -m pytest",
        "ratio": [1.0, 1.0, 1.0],
        "milliseconds": [200.0, 195.0, 205.0],
        "samples": 3,
    }
    assert document["rows"][2] == {"way": "mutmut, its own rate", "missing": "mutmut is not\ninstalled"}


def test_the_spread_of_one_value_is_that_value():
    """A way that is tried once has no quartiles of its own."""
    assert spread([3.0]) == (3.0, 3.0, 3.0)


def test_a_small_run_measures_what_can_be_had_here(capsys):
    """Two rounds without containers: every row has two samples, or its reason; the levels are what they say."""
    assert cli.main(["bench", "speed", "--rounds", "2", "--sandbox", "process", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    rows = {row["way"]: row for row in document["rows"]}
    assert rows["python -m pytest"]["ratio"][0] == 1.0
    assert rows["worker, process: fork (any patch)"]["samples"] == 2
    assert all(row.get("samples") or row["missing"] for row in rows.values())
    assert not any(name.startswith("docker") for name in rows)


def test_no_rounds_are_wrong_use(capsys):
    """There would be nothing to print."""
    assert cli.main(["bench", "speed", "--rounds", "0"]) == 2
    assert "--rounds must be one or more" in capsys.readouterr().err
