"""What a question says beyond the sources: what must hold, where to look next, what the lines held."""

from __future__ import annotations

from dataclasses import replace

import pytest
from toy import World, context

from pytest_noepicycle.domain.expectation import expectations
from pytest_noepicycle.domain.failure import Failure, Frame
from pytest_noepicycle.domain.ladder import Rung
from pytest_noepicycle.domain.loop import REPAIR_DIRECTIONS
from pytest_noepicycle.domain.run import Attempt
from pytest_noepicycle.domain.score import Baseline
from pytest_noepicycle.rungs import prompt

RUNG = Rung("cheap", "model", "m")
REPORT = "def test_f():\n>       f()\n\nm.py:2: KeyError\nE       KeyError"


@pytest.mark.parametrize(
    ("exception", "message", "sentence"),
    [
        ("AssertionError", "assert 7 == 10\n +  where 7 = area(2, 5)", "area(2, 5) must be 10; it is 7"),
        ("AssertionError", "sums\nassert 7 == 10", "7 must be 10"),
        (
            "AssertionError",
            "assert 'a' in ['b']\n +  where ['b'] = names()",
            "'a' must be in names(), which is ['b']",
        ),
        ("AssertionError", "assert 3 < 2\n +  where 3 = len('abc')", "len('abc') must be less than 2; it is 3"),
        ("AssertionError", "assert False\n +  where False = is_ok(5)", "is_ok(5) must be true; it is False"),
        ("AssertionError", "assert not True\n +  where True = is_ok(5)", "is_ok(5) must be false; it is True"),
        ("AssertionError", "7 != 10 : sums differ", "7 and 10 must be equal, and are not"),
        ("AssertionError", "ValueError not raised by f", "ValueError must be raised, and nothing is"),
        ("Failed", "DID NOT RAISE <class 'ValueError'>", "ValueError must be raised, and nothing is"),
        (
            "Failed",
            "DID NOT RAISE any of (<class 'KeyError'>, <class 'pkg.errors.Gone'>)",
            "KeyError or Gone must be raised, and nothing is",
        ),
        ("TypeError", "f() takes no arguments", "TypeError must not be raised in f at m.py:2 (f() takes no arguments)"),
        ("KeyError", REPORT, "KeyError must not be raised in f at m.py:2"),
    ],
)
def test_what_must_hold_is_read_off_the_failure(exception, message, sentence):
    """Values, comparisons, truth and exceptions, of pytest's assertions and of unittest's."""
    failure = Failure("t.py::t", "call", exception, message, (Frame("m.py", 2, "f"),), REPORT)
    assert expectations([failure, failure]) == (sentence,)


def test_free_text_says_nothing_sure():
    """Better no sentence than a wrong one; and a long one is cut."""
    assert expectations([Failure("t", "call", "AssertionError", "the house is on fire")]) == ()
    (sentence,) = expectations([Failure("t", "call", "AssertionError", f"assert {'x' * 900} == 1")])
    assert len(sentence) == 240


def asked(*attempts: Attempt, failure: Failure | None = None, size: prompt.Size = prompt.WHOLE, **more):
    """Return the question for a module with one failing function."""
    world = World({"m.py": b"def f():\n    return 7\n", "conf/secret_plan.py": b"x = 1\n"}, {})
    known = context(world, Baseline(("t.py::a", "t.py::b"), ()))
    failures = (failure or Failure("t.py::a", "call", "AssertionError", "assert 7 == 8"), known.failures[1])
    return prompt.build(replace(known, attempts=attempts, failures=failures, **more), RUNG, size)


def test_each_stalled_attempt_is_given_another_way_to_look():
    """None before the first attempt of a model, none after a gain; a search that has ended is not counted."""
    searched = Attempt(1, "search", 0.0, 0.0, "e", exhausted=True)
    stalled = [Attempt(n, "cheap", 0.0, 0.0, "e") for n in (2, 3)]
    gained = Attempt(4, "cheap", 0.5, 0.5, "f")
    assert "another way" not in asked(searched).prompt
    assert REPAIR_DIRECTIONS[0] in asked(searched, stalled[0]).prompt
    assert REPAIR_DIRECTIONS[1] in asked(searched, *stalled).prompt
    assert "another way" not in asked(searched, *stalled, gained).prompt
    assert asked().stable == asked(searched, *stalled).stable


def test_the_innermost_frames_are_shown_with_their_values():
    """In the order of the traceback, and only those that are near to where it broke."""
    frames = [Frame("m.py", n, f"f{n}", (("depth", str(n)),)) for n in range(1, 6)]
    text = asked(failure=Failure("t.py::a", "call", "E", "broken", tuple(frames))).stable
    assert "depth = 5" in text
    assert "depth = 1" not in text
    assert text.index("depth = 4") < text.index("depth = 5")


def test_values_of_a_file_that_is_never_sent_are_not_shown():
    """By the project's own patterns, too."""
    frames = (Frame("m.py", 1, "f", (("plan", "'OPEN'"),)), Frame("conf/a.py", 1, "g", (("plan", "'HIDDEN'"),)))
    failure = Failure("t.py::a", "call", "E", "broken", frames)
    assert "HIDDEN" in asked(failure=failure).stable
    shown = asked(failure=failure, never_send=("conf",)).stable
    assert "OPEN" in shown
    assert "HIDDEN" not in shown


def test_a_lean_question_holds_one_failure_and_half_the_tokens():
    """It is booked under a name of its own."""
    question = asked(size=prompt.LEAN, failure=Failure("t.py::a", "call", "E", "x" * 9000))
    assert (question.purpose, asked().purpose) == ("preflight", "")
    assert "t.py::b" not in question.stable
    assert "t.py::b" in asked().stable
    sent = len((question.system + question.stable + question.prompt + repr(question.tool)).encode())
    assert sent / 3 < prompt.TOKENS / 2
