"""A run that was killed goes on where it was: nothing is paid for twice, and what was in flight stays booked."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import model_server
import pytest
from breaking import PATIENCE, events, started, wait_until
from story import Story

pytestmark = pytest.mark.slow

CHECK = "from words import plural\n\n\ndef test_plural():\n    assert plural('box') == 'boxes'\n"
FILES = {
    "pytest.ini": "[pytest]\nnoepi_reruns = 1\n",
    "words.py": "def plural(word):\n    raise NotImplementedError\n",
    "test_words.py": CHECK,
    "test_sound.py": "def test_sound():\n    import words\n",
}
MEND = ("words.py", "    raise NotImplementedError\n", "    return word + ('es' if word[-1] in 'sxz' else 's')\n")
USAGE = {"input_tokens": 700, "output_tokens": 90}


@pytest.fixture
def place(story, server) -> Story:
    """A project whose fault needs a model, and a ladder that asks the server."""
    ladder = f"""
        name: served here
        rungs:
          model: {{kind: model, model: claude-haiku-4-5, base_url: "{server.url}", max_output: 600, on_plateau: stop}}
    """
    return story({**FILES, "ladder.yaml": ladder})


ARGUMENTS = ("--noepi-ladder=ladder.yaml", "--noepi-sandbox", "process")
KEY = {"ANTHROPIC_API_KEY": model_server.KEY}


def killed_when(place: Story, tmp_path: Path, moment: Callable[[], object]) -> None:
    """Start a repair and kill it as soon as the moment has come."""
    with started(place, *ARGUMENTS, temporary=tmp_path / "tmp", env=KEY) as process:
        wait_until(moment, "the moment never came")
        process.kill()
        process.wait(PATIENCE)


def test_an_answer_that_was_paid_for_is_not_asked_for_again(place, server, tmp_path):
    """Killed between the answer and its trial, the run takes the answer from its record."""
    server.edits(MEND, usage=USAGE)
    killed_when(place, tmp_path, lambda: any(one["event"] == "call_settled" for one in events(place)))
    told = place.fix(*ARGUMENTS[:1], "--noepi-resume", env=KEY)

    assert len(server.requests) == 1
    assert told.result["stop_reason"] == "solved", told.text
    assert told.result["applied"]
    assert told.result["tokens"]["spent"] == 790
    assert len(list(place.project.glob(".noepi/runs/*"))) == 1


def test_a_call_that_was_in_flight_stays_booked(place, server, tmp_path):
    """Nobody knows whether it was answered: its reservation counts, and the question is asked again."""
    server.breaks("stall")
    killed_when(place, tmp_path, lambda: server.requests)
    server.edits(MEND, usage=USAGE)
    told = place.fix(*ARGUMENTS[:1], "--noepi-resume", env=KEY)

    reserved = [one["tokens"] for one in told.events if one["event"] == "call_reserved"]
    assert told.result["stop_reason"] == "solved", told.text
    assert told.result["tokens"]["spent"] == reserved[0] + 790
    assert [one["seq"] for one in told.events] == list(range(1, len(told.events) + 1))


def test_a_run_that_ended_for_want_of_budget_goes_on_with_more(place, server):
    """The same record, the same ledger, a higher cap."""
    first = place.fix(*ARGUMENTS[:1], "--noepi-budget", "900", env=KEY)
    assert first.result["stop_reason"] == "budget", first.text
    server.edits(MEND, usage=USAGE)
    told = place.fix(*ARGUMENTS[:1], "--noepi-resume", env=KEY)

    assert told.result["stop_reason"] == "solved", told.text
    assert told.result["run_id"] == first.result["run_id"]
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    ("prepare", "arguments", "sentence"),
    [
        (lambda place: None, ("--noepi-resume",), "no run is recorded"),
        (lambda place: place.fix("--noepi-dry-run"), ("--noepi-resume",), "came to its end (dry_run)"),
        (lambda place: None, ("--noepi-resume=20200101",), "no runs are named '20200101'"),
    ],
)
def test_what_cannot_be_gone_on_with_is_said(place, prepare, arguments, sentence):
    """A usage error, with what to do."""
    prepare(place)
    told = place.fix(*arguments)
    assert told.status == 4
    assert sentence in told.text
    assert "Leave" in told.text


@pytest.fixture
def broken_off(place) -> Story:
    """A run that ended for want of budget, before the model was asked, and could go on with more."""
    told = place.fix(*ARGUMENTS[:1], "--noepi-budget", "900", env=KEY)
    assert told.result["stop_reason"] == "budget", told.text
    return place


@pytest.mark.parametrize(
    ("arguments", "env", "sentence"),
    [
        (("--noepi-ladder=offline", "--noepi-resume"), KEY, "was begun with --noepi-ladder=served here"),
        (("--noepi-ladder=ladder.yaml", "--noepi-resume"), {}, "model, which cannot be used now (no API key"),
        (("--noepi-ladder=ladder.yaml", "--noepi-resume", "-k", "plural"), KEY, "was begun over other tests"),
        (
            ("--noepi-ladder=ladder.yaml", "--noepi-resume", "test_words.py"),
            KEY,
            "test_words.py is a path of the project",
        ),
    ],
    ids=["ladder", "key", "tests", "swallowed"],
)
def test_a_run_that_was_begun_otherwise_is_not_gone_on_with(broken_off, server, arguments, env, sentence):
    """What it was begun with is named, and no model is asked."""
    told = broken_off.fix(*arguments, env=env)
    assert told.status == 4, told.text
    assert sentence in told.text
    assert "Traceback" not in told.text
    assert not server.requests


def test_a_ladder_of_the_same_name_that_asks_elsewhere_is_another(broken_off, server):
    """No rung is handed the answer of another model."""
    ladder = broken_off.project / ".noepi" / "elsewhere.yaml"
    ladder.write_text((broken_off.project / "ladder.yaml").read_text().replace("claude-haiku-4-5", "claude-opus-4-8"))
    told = broken_off.fix(f"--noepi-ladder={ladder}", "--noepi-resume", env=KEY)
    assert told.status == 4, told.text
    assert "another served here: rungs.model.model was 'claude-haiku-4-5' and is 'claude-opus-4-8'" in told.text


def test_a_patch_from_before_is_not_left_where_the_run_ends_without_one(broken_off):
    """What it was interrupted with is not what it ended with: apply finds nothing to apply."""
    (record,) = broken_off.project.glob(".noepi/runs/*")
    for name in ("best.patch", "patch.json"):
        (record / name).write_text("{}")
    told = broken_off.fix(*ARGUMENTS[:1], "--noepi-budget", "901", "--noepi-resume", env=KEY)
    assert told.result["stop_reason"] == "budget", told.text
    assert told.record == record
    assert not {"best.patch", "patch.json"} & {path.name for path in record.iterdir()}


@pytest.mark.parametrize(("name", "content"), [("checkpoint.sqlite", b"no database"), ("decisions.jsonl", None)])
def test_a_damaged_record_is_a_sentence(broken_off, name, content):
    """A file of states that is none, and a journal that cannot be read."""
    (file,) = broken_off.project.glob(f".noepi/runs/*/{name}")
    file.unlink()
    file.mkdir() if content is None else file.write_bytes(content)
    told = broken_off.fix(*ARGUMENTS[:1], "--noepi-resume", env=KEY)
    assert told.status == 4, told.text
    assert f"{name} cannot be read" in told.text
    assert "Traceback" not in told.text


def test_a_rung_that_cannot_be_used_any_more_is_left_by_its_plateau_edge(story, server, tmp_path):
    """Killed while it asked, the run goes on with the next rung when the key of the first is gone."""
    rung = f'{{kind: model, model: claude-haiku-4-5, base_url: "{server.url}", max_output: 600'
    ladder = f"""
        name: two
        rungs:
          first: {rung}, api_key_env: FIRST_KEY, on_plateau: second}}
          second: {rung}, on_plateau: stop}}
    """
    place = story({**FILES, "ladder.yaml": ladder})
    server.breaks("stall")
    with started(place, *ARGUMENTS, temporary=tmp_path / "tmp", env={**KEY, "FIRST_KEY": model_server.KEY}) as process:
        wait_until(lambda: server.requests, "nothing was asked")
        process.kill()
        process.wait(PATIENCE)
    server.edits(MEND, usage=USAGE)
    told = place.fix(*ARGUMENTS[:1], "--noepi-resume", env=KEY)

    assert told.status == 1, told.text
    assert told.result["stop_reason"] == "solved", told.text
    assert [one["rung"] for one in told.events if one["event"] == "call_reserved"] == ["first", "second"]
    assert told.result["rungs"] == ["second"]


def test_a_tree_that_has_changed_since_is_not_gone_on_with(place, server):
    """What was measured no longer holds."""
    place.fix(*ARGUMENTS[:1], "--noepi-budget", "900", env=KEY)
    (place.project / "words.py").write_text("def plural(word):\n    return word\n")
    told = place.fix(*ARGUMENTS[:1], "--noepi-resume", env=KEY)
    assert told.status == 4
    assert "files have changed since" in told.text
