"""A rung of kind ``agent`` in a real run: its test runs happen in the sandbox, its turns stand in the ledger."""

from __future__ import annotations

import model_server

FAULT = "def plural(word):\n    raise NotImplementedError\n"
TEST = "from words import plural\n\n\ndef test_plural():\n    assert plural('box') == 'boxes'\n"
OLD = "    raise NotImplementedError\n"
HALF = {"path": "words.py", "old": OLD, "new": "    return word + 's'\n"}
MEND = {"path": "words.py", "old": OLD, "new": "    return word + ('es' if word[-1] in 'sxz' else 's')\n"}


def test_an_agent_tries_its_edits_in_the_sandbox_before_it_proposes(story):
    """After a first lean shot that did not help; the work tree is changed by the end of the run alone."""
    with model_server.running() as server:
        rung = f'{{kind: agent, model: claude-haiku-4-5, base_url: "{server.url}", max_output: 600, steps: 4}}'
        ini = "[pytest]\nnoepi_reruns = 1\n"
        files = {"words.py": FAULT, "test_words.py": TEST, "pytest.ini": ini, "ladder.yaml": f"agent: {rung}\n"}
        server.edits(("words.py", OLD, "    return word\n"))
        server.uses_tool({"ids": ["test_words.py::test_plural"], "edits": [HALF]}, name="run_tests")
        server.edits(tuple(MEND.values()))
        told = story(files).fix("--noepi-ladder=ladder.yaml", env={"ANTHROPIC_API_KEY": model_server.KEY})
        asked = server.requests[2].prompt

    assert told.result["stop_reason"] == "solved", told.text
    purposes = [event["purpose"] for event in told.events if event["event"] == "call_reserved"]
    assert purposes == ["preflight", "agent", "agent"]
    assert "test_words.py::test_plural failed: AssertionError" in asked
    assert "'boxs' == 'boxes'" in asked
    assert told.result["tokens"]["spent"] == sum(sum(usage.values()) for usage in server.served)
