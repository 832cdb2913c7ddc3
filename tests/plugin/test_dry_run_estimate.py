"""``--noepi-dry-run`` tells what would be asked, word for word, and what it could cost; and asks nothing."""

from __future__ import annotations

import model_server
import pytest
from story import Story

KEY = {"ANTHROPIC_API_KEY": model_server.KEY}
FAULT = "def plural(word):\n    raise NotImplementedError\n"
TEST = "from pkg.words import plural\n\n\ndef test_plural():\n    assert plural('box') == 'boxes'\n"
MEND = ("pkg/words.py", "    raise NotImplementedError\n", "    return word + ('es' if word[-1] in 'sxz' else 's')\n")
INI = "[pytest]\nnoepi_reruns = 1\npythonpath = .\n"


def project(server: model_server.ModelServer, more: dict[str, str] | None = None) -> dict[str, str]:
    """Return a project with one fault and a ladder of two rungs."""
    at = f'base_url: "{server.url}", max_output: 600'
    ladder = f"""
        rungs:
          small: {{model: claude-haiku-4-5, {at}, price: {{input: 1, output: 5}}, on_plateau: other}}
          other: {{model: unpriced, {at}, api_key_env: NO_SUCH_KEY, on_plateau: stop}}
    """
    files = {"pkg/__init__.py": "", "pkg/words.py": FAULT, "test_words.py": TEST}
    return {**files, "pytest.ini": INI, "ladder.yaml": ladder, **(more or {})}


def test_the_estimate_is_the_question_that_is_asked_and_the_reservation_that_is_made(story, server):
    """Held against the run that follows; on the terminal, in the report, in the result and in the journal."""
    place: Story = story(project(server))
    looked = place.fix("--noepi-ladder=ladder.yaml", "--noepi-dry-run", env=KEY)
    assert server.requests == []
    assert looked.result["tokens"]["spent"] == 0
    estimate = looked.result["estimate"]
    small, other = estimate["quotes"]
    assert (other["usd"], "NO_SUCH_KEY" in other["lacking"], small["lacking"]) == (None, True, "")
    for text in (looked.text, (looked.record / "report.md").read_text("utf-8")):
        assert "def plural(word):" in text
        assert "word = 'box'" in text
        assert str(small["tokens"]) in text
        assert f"${small['usd']:.4f}" in text

    server.edits(MEND)
    told = place.fix("--noepi-ladder=ladder.yaml", env=KEY)
    assert told.result["stop_reason"] == "solved", told.text
    (call,) = [event for event in told.events if event["event"] == "call_reserved"]
    assert "\n\n".join(call["question"].values()) == estimate["question"]
    assert (call["tokens"], call["usd"]) == (small["tokens"], pytest.approx(small["usd"]))


def test_a_file_that_is_never_to_be_sent_is_in_no_question(story, server):
    """Not even where the fault is suspected in it; the traceback's line numbers are all that is told."""
    ini = f"{INI}noepi_never_send = pkg/words.py docs\n"
    place: Story = story(project(server, {"pytest.ini": ini}))
    estimate = place.fix("--noepi-ladder=ladder.yaml", "--noepi-dry-run", env=KEY).result["estimate"]
    assert "pkg/words.py:2 in plural" in estimate["question"]
    assert "def plural" not in estimate["question"]
    assert "word = " not in estimate["question"]


def test_the_question_does_not_grow_with_the_package(story, server, tmp_path):
    """Twenty thousand lines around the same fault: the very same tokens, below the 4,000 that are promised."""
    filler = "".join(f"def f{n}(x):\n    y = x + {n}\n    return y * 2\n\n\n" for n in range(40))
    more = {f"pkg/part{n}.py": filler for n in range(100)}
    assert sum(text.count("\n") for text in more.values()) == 20_000
    large: Story = story(project(server, more))
    small = Story.of(tmp_path / "small", project(server))
    runs = [one.fix("--noepi-ladder=ladder.yaml", "--noepi-dry-run", env=KEY).result for one in (small, large)]
    assert runs[0]["estimate"]["quotes"] == runs[1]["estimate"]["quotes"]
    # A bound counts every byte of the request as a token, and code has at least three bytes a token.
    assert all((quote["tokens"] - 600) / 3 < 4000 for quote in runs[1]["estimate"]["quotes"])
