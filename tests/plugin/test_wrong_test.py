"""A model that says that a test is wrong: a finding with its reason in result, record and terminal, and no edit."""

from __future__ import annotations

import model_server

SOURCE = 'def plural(word):\n    """Return the plural; box is an exception and stays box."""\n    return word\n'
TEST = "from words import plural\n\n\ndef test_plural():\n    assert plural('box') == 'boxes'\n"
WHY = "the docs say that box stays box"
DOUBT = {
    "diagnosis": "",
    "edits": [{"path": "test_words.py", "old": "'boxes'", "new": "'box'"}],
    "test_is_wrong": True,
    "why_test_is_wrong": WHY,
}


def test_it_ends_as_a_finding_for_a_person_to_decide(story, server):
    """Both models say so: nothing is edited, not even what came with the answer, and the run says what to do."""
    at = f'base_url: "{server.url}", max_output: 600'
    ladder = f"rungs:\n  small: {{model: claude-haiku-4-5, {at}, on_plateau: large}}\n  large: {{model: m, {at}}}\n"
    ini = "[pytest]\nnoepi_reruns = 1\nnoepi_context_transfer = reset\n"
    place = story({"words.py": SOURCE, "test_words.py": TEST, "pytest.ini": ini, "ladder.yaml": ladder})
    for _ in range(4):
        server.uses_tool(DOUBT)
    told = place.fix("--noepi-ladder=ladder.yaml", env={"ANTHROPIC_API_KEY": model_server.KEY})
    result = told.result
    assert (result["stop_reason"], result["applied"], result["patch"]) == ("test_suspect", False, None), told.text
    (finding,) = result["tests"]["findings"]
    assert (finding["test"], finding["kind"]) == ("test_words.py::test_plural", "test-suspect")
    assert finding["hint"] == f"large says that this test is wrong: {WHY}"
    assert result["tests"]["still_failing"] == ["test_words.py::test_plural"]
    said = " ".join(told.text.split())
    assert f"large says that this test is wrong: {WHY}" in said
    assert "decide which of the tests is right" in said
    report = (told.record / "report.md").read_text("utf-8")
    assert f"large says that this test is wrong: {WHY}" in report
    assert "set aside" not in report
    assert (place.read("words.py"), place.read("test_words.py")) == (SOURCE, TEST)
    assert not [event for event in told.events if event["event"] == "candidate"]
