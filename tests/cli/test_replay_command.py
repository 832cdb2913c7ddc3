"""``noepi replay`` and ``noepi report`` over records on disk: a real run, one that died, many, a damaged one."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from journals import Pretended, check_form

SLIP = {
    "calc.py": "def double(n):\n    return n + 3\n",
    "test_calc.py": "from calc import double\n\n\ndef test_double():\n    assert double(4) == 8\n"
    "    assert double(5) == 10\n",
}


def keep(home: Path, run_id: str, events: list[dict[str, Any]], result: dict[str, Any] | None = None) -> None:
    """Write a record as a run would leave it."""
    folder = home / ".noepi/runs" / run_id
    folder.mkdir(parents=True)
    (folder / "decisions.jsonl").write_text("".join(json.dumps(event) + "\n" for event in events), "utf-8")
    if result is not None:
        (folder / "result.json").write_text(json.dumps(result), "utf-8")
    (home / ".noepi/last").write_text(run_id + "\n", "utf-8")


@pytest.mark.slow
def test_a_real_run_keeps_to_the_form_and_every_decision_agrees(story):
    """The journal of a repair is whole: each event as its schema says, each decision taken again, each report made."""
    here = story(SLIP)
    ran = here.fix("--noepi-ladder", "offline")
    check_form(ran.events)
    told = here.noepi("replay", ran.record.name, "--json")
    data = json.loads(told.text)
    assert (told.status, data["agree"], data["recorded"]) == (0, True, data["retaken"])
    assert data["decisions"][0]["again"]["action"] == "verify"
    page = Path(here.noepi("report", "--format", "html").text.strip())
    assert "1 of 1 failing tests mended" in page.read_text("utf-8")
    assert "+    return n + n" in here.noepi("report", "--format", "text").text


def test_a_run_that_died_is_reported_and_replayed_as_far_as_it_came(story):
    """No result, half a last line: the report says what is known, and that nothing is proven."""
    here = story({})
    keep(here.project, "20260101-000000-dead", Pretended(gains={1: 2}).run(3))
    with (here.project / ".noepi/runs/20260101-000000-dead/decisions.jsonl").open("a") as journal:
        journal.write('{"v": 1, "se')
    for words in (["report"], ["report", "--format", "text"]):
        told = here.noepi(*words)
        assert told.status == 0
        assert "did not come to its end" in told.text
        assert "0.50; nothing of it is proven" in told.text.replace("\n  ", " ")
    assert "xychart-beta" in here.noepi("report").text
    assert json.loads(here.noepi("report", "--json").text)["finished"] is False
    assert "3 decisions taken again, each comes out as it is recorded" in here.noepi("replay", "20260101").text


def test_other_settings_say_where_they_part_and_what_nobody_can_know(story):
    """A sentence for people, the numbers for programs."""
    here = story({})
    keep(here.project, "r", Pretended().run(40))
    told = here.noepi("replay", "r", "--set", "plateau_window=1", "--set", "grace_period=0")
    assert told.status == 0
    assert "the run parts from the record at decision 1" in told.text
    assert "would have gone on with claude-haiku-4-5 and spared 1 attempt" in told.text
    assert "the journal cannot know" in told.text
    data = json.loads(here.noepi("replay", "r", "--set", "budget_stop_pct=1", "--json").text)
    assert data["first_difference"]["unknown_from"] is None
    assert data["first_difference"]["known"]["attempts"] > 0
    assert "would have gone the same way" in here.noepi("replay", "r", "--set", "delta_threshold=0.01").text


def test_a_record_that_was_changed_does_not_agree(story):
    """The status says so to programs, and the decision is shown both ways."""
    here = story({})
    events = Pretended().run(2)
    events[-1] = {**events[-1], "action": "stop", "stop": "plateau", "reason": "so it was written"}
    keep(here.project, "r", events)
    told = here.noepi("replay", "r")
    assert told.status == 1
    assert "1 of 2 decisions do not come out as recorded" in told.text
    assert "recorded: stop (" in told.text
    assert "so it was written" in told.text


def test_all_runs_stand_in_one_table_with_their_sums(story):
    """What was mended, by whom, at what cost; a damaged record has its row and hides no other."""
    here = story({})
    targets = Pretended(gains={1: 4})
    ended = [
        *targets.run(1),
        {"v": 1, "seq": 9, "t": 7.0, "event": "run_ended", "stop_reason": "solved", "solved": True},
    ]
    fixed = ended[2]["targets"]
    spent = {"spent": 40, "cap": 100, "input": 40, "output": 0, "cache_read": 0, "cache_write": 0}
    result = {
        "verified": True,
        "tests": {"fixed": fixed, "broken": []},
        "tokens": spent,
        "cost_usd": 0.5,
        "why": "idea",
    }
    keep(here.project, "1-solved", ended, result)
    keep(here.project, "2-died", Pretended().run(2))
    keep(here.project, "3-damaged", [])
    (here.project / ".noepi/runs/3-damaged/decisions.jsonl").write_text("no\n")
    data = json.loads(here.noepi("report", "--all", "--json").text)
    assert [run["stop_reason"] for run in data["runs"]] == ["solved", None, None]
    assert data["total"] == {
        "mended": 4,
        "tokens": 40,
        "cost_usd": 0.5,
        "by_rung": {"local-search": 1},
        "by_end": {"solved": 1, "unfinished": 1, "unreadable": 1},
    }
    text = here.noepi("report", "--all").text
    assert "1-solved   4 of 4  solved" in text
    assert "the line is damaged" in text
    assert "| `2-died` | 0 of 4 | unfinished |" in here.noepi("report", "--all", "--format", "md").text


@pytest.mark.skipif(os.name == "nt", reason="a browser is named by a shell script")
def test_the_page_is_written_beside_the_record_and_opened(story):
    """The browser that the person has named gets the page's address."""
    here = story({"browser": '#!/bin/sh\nprintf %s "$1" > opened\n'})
    (here.project / "browser").chmod(0o755)
    keep(here.project, "r", Pretended().run(1))
    told = here.noepi("report", "--open", env={"BROWSER": f"{here.project / 'browser'} %s"})
    page = here.project / ".noepi/runs/r/report.html"
    assert told.status == 0, told.text
    assert page.is_file()
    assert here.read("opened") == page.as_uri()


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["replay", "r", "--set", "patience=3"], "'patience' is no threshold"),
        (["replay", "none"], "no runs are named 'none'"),
        (["report", "--all", "--format", "html"], "--all prints a table over all runs"),
        (["report", "r", "--format", "pdf"], "invalid choice"),
    ],
)
def test_wrong_use_is_a_sentence(story, words: list[str], sentence: str):
    """Nothing is written, no traceback is shown."""
    here = story({})
    keep(here.project, "r", Pretended().run(1))
    told = here.noepi(*words)
    assert told.status in (1, 2)
    assert sentence in told.text
    assert "Traceback" not in told.text
