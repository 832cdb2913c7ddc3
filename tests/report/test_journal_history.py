"""The journal read back: as it was written, cut short, damaged, gone on with; and the history that it tells."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from journals import LONG, Pretended, check_form

from pytest_noepicycle.codec import encode
from pytest_noepicycle.domain.run import Attempt, StopReason
from pytest_noepicycle.errors import RecordError
from pytest_noepicycle.report import journal, reading
from pytest_noepicycle.report.journal import LONGEST, JournalFile


def written(folder: Path, events: list[dict], *, end: str = "\n") -> Path:
    """Write a journal as a run would."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "decisions.jsonl"
    path.write_text("\n".join(json.dumps(event) for event in events) + end, "utf-8")
    return path


def test_a_line_that_a_crash_cut_short_is_left_out(tmp_path: Path):
    """What was flushed whole is read; half a line is no event."""
    events = Pretended().run(2)
    path = written(tmp_path, events, end='\n{"v": 1, "seq')
    assert list(journal.read(path)) == events


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ("not json", "decisions.jsonl:2: the line is damaged"),
        ("[1]", "decisions.jsonl:2: the line is no event"),
        ('{"v": 2, "event": "task"}', "version 2"),
        ("\xff\x00", "decisions.jsonl:2: the line is damaged"),
    ],
)
def test_a_damaged_line_is_named_with_its_number(tmp_path: Path, line: str, sentence: str):
    """Whoever reads the record is told where, and that the patch does not depend on it."""
    (tmp_path / "decisions.jsonl").write_bytes(
        b'{"v": 1, "event": "task", "text": "x"}\n' + line.encode("latin-1") + b"\n"
    )
    with pytest.raises(RecordError, match=sentence.replace(".", r"\.")):
        reading.read(tmp_path)


@pytest.mark.parametrize(
    "event", [{"event": "attempt"}, {"event": "run_ended", "stop_reason": "fine"}, {"event": "refuted"}]
)
def test_an_event_that_lacks_its_fields_is_an_error_and_no_traceback(tmp_path: Path, event: dict):
    """A record that something else has changed is refused with a sentence."""
    written(tmp_path, [event])
    with pytest.raises(RecordError, match="cannot be read"):
        reading.read(tmp_path)


def test_events_of_a_later_version_of_the_tool_are_passed_over(tmp_path: Path):
    """Changes are additive: an unknown event or key disturbs no reader."""
    events = [*Pretended(gains={1: 4}).run(1), {"v": 1, "seq": 99, "t": 9.0, "event": "sung", "loudly": True}]
    written(tmp_path, events)
    assert reading.read(tmp_path).last == "sung"
    assert len(reading.read(tmp_path).steps) == 1


def test_an_attempt_has_its_calls_candidates_and_decisions():
    """Everything between two attempts belongs to the second."""
    past = reading.of_events(Pretended(ladder=LONG, gains={1: 1}).run(6), "r")
    last = past.steps[-1]
    assert [call.name for call in last.calls] == [f"{last.attempt.rung}#{last.attempt.iteration}"]
    assert last.calls[0].question["prompt"].endswith(f"({last.attempt.iteration})")
    assert last.calls[0].answer["text"] == "I have changed a line."
    assert [candidate.patch for candidate in last.candidates] == [f"p{last.attempt.iteration}"]
    assert [str(taken.decision.action) for taken in past.steps[0].decisions] == ["continue"]
    assert past.course == (0.25,) * len(past.steps)
    assert past.stop is None


def test_a_resumed_run_is_one_run_and_what_it_had_paid_for_stays_paid():
    """The attempt that was broken off is made again under its number; both calls are in the ledger."""
    run = Pretended()
    first = run.run(5)
    again = [
        {**first[0], "event": "resumed"},
        *[e for e in first if e.get("iteration") == 5 or e.get("call", "").endswith("#5")],
    ]
    renamed = [{**event, "call": "again"} if "call" in event else event for event in again]
    past = reading.of_events([*first, *renamed], "r")
    assert past.resumed == 1
    assert [step.attempt.iteration for step in past.steps] == [1, 2, 3, 4, 5]
    assert [call.name for call in past.steps[-1].calls] == [f"{past.steps[-1].attempt.rung}#5", "again"]
    assert past.ledger.spent == 10 * sum(
        "#" in e["call"] or e["call"] == "again" for e in [*first, *renamed] if e["event"] == "call_settled"
    )


def test_a_result_counts_only_for_a_run_that_is_over(tmp_path: Path):
    """The result of an earlier end says nothing of a run that was resumed since."""
    events = [*Pretended().run(2), {"event": "run_ended", "stop_reason": "budget", "solved": False}]
    (tmp_path / "result.json").write_text(
        '{"verified": false, "tests": {"fixed": []}, "tokens": {"spent": 1, "cap": 2}}'
    )
    written(tmp_path, events)
    assert reading.read(tmp_path).stop is StopReason.BUDGET
    assert reading.read(tmp_path).result
    written(tmp_path, [*events, {**events[0], "event": "resumed"}])
    assert reading.read(tmp_path).stop is None
    assert not reading.read(tmp_path).result


def test_a_refuted_proof_takes_the_course_back_to_nothing():
    """What was gained before it does not count any more, in no report."""
    events = Pretended(gains={1: 2}).run(1)
    amended = replace(Attempt(1, "local-search", 0.0, 0.0, "refuted:p1"), note="the cold run failed")
    past = reading.of_events([*events, {"event": "refuted", "patch": "p1", "attempt": encode(amended)}], "r")
    assert past.course == (0.0,)
    assert past.standing == frozenset()
    assert past.steps[0].refuted == "the cold run failed"


def test_what_is_written_keeps_to_the_form_and_long_texts_are_cut_in_the_middle(tmp_path: Path):
    """The file is readable at every moment; secrets and floods do not come into it."""
    file = JournalFile(tmp_path / "decisions.jsonl", secrets=("a very secret value",))
    file.write("task", text="x" * (LONGEST + 7) + "a very secret value")
    file.write("unaffordable", why="a very secret value")
    events = list(journal.read(tmp_path / "decisions.jsonl"))
    file.close()
    check_form(events)
    assert "26 characters left out" in events[0]["text"]
    assert events[1]["why"] == "[redacted]"
