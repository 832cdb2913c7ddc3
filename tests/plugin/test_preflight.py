"""The first paid question of a run is a lean one; only where it does not solve is more paid for."""

from __future__ import annotations

import model_server
import pytest

PENDING = "(word):\n    raise NotImplementedError"
FILES = {
    "words.py": f"def plural{PENDING}\n\n\ndef shout{PENDING}\n",
    "test_words.py": """
        from words import plural, shout


        def test_plural():
            assert plural("box") == "boxes"


        def test_shout():
            assert shout("a") == "A!"
    """,
    "pytest.ini": "[pytest]\nnoepi_reruns = 1\n",
}
PLURAL = ("words.py", f"def plural{PENDING}", "def plural(word):\n    return word + 'es'")
SHOUT = ("words.py", f"def shout{PENDING}", "def shout(word):\n    return word.upper() + '!'")
KEY = {"ANTHROPIC_API_KEY": model_server.KEY}


def fixed(story, server, *arguments: str, samples: int = 1):
    """Mend the project with one model of the server."""
    rung = f'{{model: claude-haiku-4-5, base_url: "{server.url}", max_output: 600, samples: {samples}}}'
    place = story({**FILES, "ladder.yaml": f"rungs:\n  model: {rung}\n"})
    return place.fix("--noepi-ladder=ladder.yaml", *arguments, env=KEY)


def purposes(told) -> list[str]:
    """Return what each call of a run was booked as."""
    return [event["purpose"] for event in told.events if event["event"] == "call_reserved"]


@pytest.mark.slow
def test_where_the_first_shot_solves_nothing_else_is_paid(story, server):
    """One call, booked as what it is, of one failure and half the tokens."""
    server.edits(PLURAL, SHOUT)
    told = fixed(story, server, samples=3)
    assert told.result["stop_reason"] == "solved", told.text
    assert purposes(told) == ["preflight"]
    asked = server.requests[0].prompt
    assert "test_plural" in asked
    assert "test_shout" not in asked


def test_where_it_does_not_the_next_question_is_whole_and_asked_as_often_as_the_rung_says(story, server):
    """Its gain is kept; each sample is a call of its own in the ledger, and the best of them counts."""
    server.edits(PLURAL)
    for edit in (SHOUT, ("words.py", "    raise NotImplementedError", "    return 'B!'")):
        server.edits(edit)
    told = fixed(story, server, samples=2)
    assert told.result["stop_reason"] == "solved", told.text
    assert purposes(told) == ["preflight", "propose", "propose"]
    assert told.result["tokens"]["spent"] == sum(sum(usage.values()) for usage in server.served)
