"""Each hook, in a project's own conftest: what it is told, and what it can change."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from mending import RIGHT, TOTAL, WRONG, checks_of

LADDER = """
    rungs:
      mine: {kind: house-rules, on_plateau: stop}
"""
PROPOSER = f"""
    import json, pathlib
    from pytest_noepicycle.domain.patch import Proposal


    class HouseRules:
        def __init__(self, rung):
            self.rung = rung

        def propose(self, context):
            for path in sorted(context.files):
                source = context.read(path) or b""
                if path.endswith(".py") and b"{WRONG}" in source:
                    mended = source.replace(b"{WRONG}", b"{RIGHT}")
                    yield Proposal(context.best.with_file(path, mended, context.read_baseline), "count is a factor")


    def pytest_noepi_proposers():
        return {{"house-rules": HouseRules}}


    def pytest_noepi_decision(state, decision):
        with open("told.jsonl", "a") as file:
            file.write(json.dumps([state.rung, str(decision.action)]) + chr(10))


    def pytest_noepi_report(result):
        pathlib.Path("reported").write_text(str(result.stop_reason))
"""
FILES = {
    "pytest.ini": "[pytest]\nnoepi_reruns = 1\n",
    "bread.py": TOTAL,
    "test_bread.py": checks_of("bread"),
    "ladder.yaml": LADDER,
}


def test_a_project_adds_a_rung_of_its_own_and_is_told_what_happens(story):
    """What its rung proposes is judged, tried and proven as anything else; decisions and the end are told."""
    place = story({**FILES, "conftest.py": PROPOSER})
    told = place.fix("--noepi-ladder=ladder.yaml")
    assert told.result["stop_reason"] == "solved", told.text
    assert RIGHT in place.read("bread.py")
    assert told.result["rungs"] == ["mine"]
    assert [json.loads(line) for line in place.read("told.jsonl").splitlines()] == [["mine", "verify"]]
    assert place.read("reported") == "solved"


def test_a_kind_that_nobody_adds_is_named_with_the_line(story):
    """Without the hook the ladder's file is wrong, and says where."""
    told = story(FILES).fix("--noepi-ladder=ladder.yaml")
    assert told.status == 4
    assert "ladder.yaml:2" in told.text
    assert "'house-rules' is not one of search, model, agent" in told.text


@pytest.mark.slow
def test_a_protected_file_is_never_changed_and_a_finer_score_never_solves(story):
    """With its one product file closed the run gains nothing, whatever the score hook says."""
    hooks = """
        def pytest_noepi_protect(path):
            return path == "bread.py"


        def pytest_noepi_score(run, baseline):
            return 1.0
    """
    place = story({**FILES, "conftest.py": hooks})
    told = place.fix("--noepi-ladder", "offline")
    assert not told.result["solved"], told.text
    assert place.read("bread.py") == TOTAL


GUIDE = Path(__file__).parents[2] / "docs/hooks.md"
MONEY = "def read(text):\n    return round(float(text) * 100)\n"
SHOP = {
    "pytest.ini": "[pytest]\nnoepi_reruns = 1\n",
    "shop/__init__.py": "",
    "shop/money.py": MONEY,
    "shop/generated/__init__.py": "",
    "shop/generated/rates.py": "from shop import money\n\n\ndef rate(text):\n    return money.parse(text)\n",
    "shop/prices.py": """
        from shop import money


        def price(text):
            return money.parse(text)


        def label(text):
            return f"{price(text)} EUR"
    """,
    "test_shop.py": """
        from shop import prices


        def test_price():
            assert prices.price("3.20") == 320


        def test_label():
            assert prices.label("3.20") == "3.20 EUR"
    """,
}


def test_every_hook_has_an_example_in_the_guide_that_does_what_it_says(story):
    """All of them in one conftest: the closed file is refused, the other one mended, the rest scored and told."""
    text = GUIDE.read_text("utf-8")
    hooks = re.findall(r"^```python\n(.*?)^```", text, re.S | re.M)
    (ladder,) = re.findall(r"^```yaml\n(.*?)^```", text, re.S | re.M)
    place = story({**SHOP, "conftest.py": "\n\n".join(hooks), "ladder.yaml": ladder})
    told = place.fix("--noepi-ladder=ladder.yaml")
    assert told.result["tests"]["fixed"] == ["test_shop.py::test_price"], told.text
    assert told.result["patch"]["paths"] == ["shop/prices.py"]
    (attempt, *_) = [event for event in told.events if event["event"] == "attempt"]
    refused = [refusal["path"] for refusal in attempt["refusals"]]
    assert refused == ["conftest.py", "shop/generated/rates.py"]  # a conftest that names the old helper is never open
    assert attempt["score"] == 0.75  # one passes, the other one comes as far as its assertion
    assert re.match(r"follow: \w+, \w+: ", place.read("decisions.log"))
    assert place.read("noepi.log") == f"{told.result['stop_reason']}: 1 of 2 mended\n"


def test_the_guide_leaves_no_hook_out():
    """Each of the specifications has a function in an example."""
    from pytest_noepicycle.inside import hookspecs

    named = {name for name in vars(hookspecs) if name.startswith("pytest_noepi_")}
    assert named == set(re.findall(r"^def (pytest_noepi_\w+)", GUIDE.read_text("utf-8"), re.M))
