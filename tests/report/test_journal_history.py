"""The journal read back: as it was written, cut short, damaged, gone on with; and the history that it tells."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from journals import LONG, Pretended, check_form

from pytest_noepicycle.codec import encode
from pytest_noepicycle.domain.budget import Ledger, Usage
from pytest_noepicycle.domain.run import Attempt, StopReason
from pytest_noepicycle.errors import ProviderError, RecordError
from pytest_noepicycle.ports import Answer, Question
from pytest_noepicycle.report import journal, reading
from pytest_noepicycle.report.journal import LONGEST, JournalFile
from pytest_noepicycle.supervisor.purse import Purse


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
        '{"verified": false, "tests": {"fixed": [], "broken": []}, "tokens": {"spent": 1, "cap": 2}}'
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


@dataclass
class Scripted:
    """A model that answers, is busy, or is cut off, as its script says."""

    script: list[str]

    def input_bound(self, question: Question) -> int:
        """Bound the question."""
        return 10

    def ask(self, question: Question, *, seconds: float) -> Answer:
        """Do what the script says next."""
        step = self.script.pop(0)
        if step != "answers":
            raise ProviderError(step, kind=step)
        return Answer({"edits": []}, "here", "tool_use", Usage(7, 3), {"id": "m"})


@pytest.mark.parametrize("keep_content", [True, False])
def test_calls_to_models_are_read_back_as_they_were_booked(tmp_path: Path, keep_content: bool):
    """What a purse writes keeps to the form; the ledger of the reader is the ledger of the purse."""
    file, rung = JournalFile(tmp_path / "decisions.jsonl"), LONG.rungs["claude-haiku-4-5"]
    file.write("run_started", ladder=encode(LONG), budget={"tokens": 100_000, "usd": None})
    purse = Purse(Ledger(100_000), file, clock=lambda: 0.0, sleep=lambda s: None, keep_content=keep_content)
    question = Question("system", "stable", "prompt", "t", "d", {}, 1000)
    model = Scripted(["answers", "auth", "timeout"])
    purse.ask(model, question, rung=rung, purpose="propose", seconds=9)
    for _ in range(2):
        with pytest.raises(ProviderError):
            purse.ask(model, question, rung=rung, purpose="propose", seconds=9)
    purse.charge(rung, "inner_loop", Usage(5, 5))
    file.close()
    check_form(journal.read(tmp_path / "decisions.jsonl"))
    past = reading.read(tmp_path)
    assert past.ledger == purse.ledger
    assert [bool(call.lost) for call in past.calls] == [False, False, True, False]
    assert bool(past.calls[0].question) is keep_content
    assert past.open_calls == past.calls


@pytest.mark.parametrize("text", ["{", "[]", '{"tests": 3}', '{"tests": {"fixed": 1, "broken": []}, "tokens": {}}'])
def test_a_damaged_result_is_an_error_and_no_traceback(tmp_path: Path, text: str):
    """What stands beside the journal is looked at too."""
    written(tmp_path, Pretended().run(1))
    (tmp_path / "result.json").write_text(text)
    with pytest.raises(RecordError, match=r"result\.json"):
        reading.read(tmp_path)


def test_what_a_dry_run_and_a_comparison_tell_is_read_back():
    """The estimate stands with the suspects, the other edits in an event of their own."""
    quote = {"rung": "small", "model": "m", "tokens": 9, "usd": None, "lacking": ""}
    suspects = {
        "event": "suspects",
        "suspects": [{"path": "m.py", "line": 3, "reason": "run by all"}],
        "estimate": {"first": "small", "question": "why?", "quotes": [quote]},
    }
    several = {"event": "choice", "tried": 4, "others": [{"note": "n", "diff": "d"}], "word": "several"}
    events = [{"v": 1, "seq": n, "t": 0.0, **event} for n, event in enumerate([suspects, several], 1)]
    check_form(events)
    past = reading.of_events(events, "r")
    assert past.suspects == ("m.py:3  run by all",)
    assert past.estimate is not None
    assert past.estimate.quotes[0].usd is None
    assert past.choice is not None
    assert [one.note for one in past.choice.others] == ["n"]
