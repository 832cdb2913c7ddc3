"""``noepi verify``: anyone's patch, as a diff, as edits, or as the work tree against a revision."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from story import QUIET, Story, Told

PRODUCT = "def price(net, rate):\n    return net - net * rate\n"
FIXED = PRODUCT.replace("net - net", "net + net")
TESTS = """
    from shop.tax import price


    def test_without_tax():
        assert price(100, 0) == 100


    def test_with_tax():
        assert price(100, 0.5) == 150.0
"""
FILES = {"shop/__init__.py": "", "shop/tax.py": PRODUCT, "tests/test_tax.py": TESTS, "pytest.ini": "[pytest]\n"}
TARGET = "tests/test_tax.py::test_with_tax"
DIFF = """\
--- a/shop/tax.py
+++ b/shop/tax.py
@@ -1,2 +1,2 @@
 def price(net, rate):
-    return net - net * rate
+    return net + net * rate
"""


def verify(shop: Story, *words: str, **more: Any) -> Told:
    """Run the command in the process sandbox; as the script does, with nothing importable from the folder itself."""
    command = (sys.executable, "-P", "-m", "pytest_noepicycle.cli", "verify")
    return shop.command(*command, *words, "--sandbox", "process", "--json", "--", *QUIET, **more)


def document(told: Told) -> dict[str, Any]:
    """The one document on standard output."""
    return json.loads(told.text)


def commit(shop: Story) -> None:
    """Put the project under version control as it is."""
    for words in (["init", "-q"], ["add", "-A"], ["-c", "user.email=a@b.c", "-c", "user.name=n", "commit", "-qm", "1"]):
        subprocess.run(["git", *words], cwd=shop.project, check=True)


def test_a_right_diff_is_proved_and_nothing_is_changed(story):
    """The document is the one that is promised, the status 0, the tree as it was."""
    shop = story({**FILES, "change.patch": DIFF})
    told = verify(shop, "change.patch")
    found = document(told)
    assert told.status == 0, told.text
    assert found["verdict"] == "proved"
    assert (found["eligible"], found["solved"], found["score"], found["baseline_score"]) == (True, True, 1.0, 0.0)
    assert found["tests"]["fixed"] == [TARGET]
    assert (found["tests"]["still_failing"], found["tests"]["broken"], found["refused"]) == ([], [], [])
    for check in ("canaries", "perturbed", "reverted", "cold"):
        assert found["checks"][check] == "passed"
    assert shop.read("shop/tax.py") == PRODUCT


@pytest.mark.slow
def test_the_table_says_the_same_to_people(story):
    """Ruling, checks and tests in plain words."""
    shop = story({**FILES, "change.patch": DIFF})
    told = shop.noepi("verify", "change.patch", "--sandbox", "process", "--", *QUIET)
    assert told.status == 0, told.text
    for words in ("proved:", "perturbed  passed", f"mended        {TARGET}", "1 of 1 tests that passed before"):
        assert words in told.text


def test_the_work_tree_is_compared_with_a_revision_and_never_run_outside_the_sandbox(story, tmp_path: Path):
    """The fix is in the work tree, and so is code that would run as soon as anything of the tree is imported."""
    shop = story(FILES)
    commit(shop)
    mark = tmp_path / "ran-outside"
    trap = f"try:\n    open({str(mark)!r}, 'w').close()\nexcept OSError:\n    pass\n\n\n"
    (shop.project / "shop/tax.py").write_text(trap + FIXED)
    (shop.project / "tests/test_more.py").write_text(trap)
    (shop.project / "ignored.log").write_text("x")
    (shop.project / ".git/info/exclude").write_text("*.log\n")
    found = document(verify(shop, "--base", "HEAD", env={"PYTHONPATH": str(shop.project)}))
    assert found["verdict"] == "proved", found
    assert found["tests"]["changed"] == ["tests/test_more.py"]
    for name in ("conftest.py", "pytest.py", "sitecustomize.py", "iniconfig.py"):
        (shop.project / name).write_text(trap)
    refused = document(verify(shop))
    assert {edit["path"] for edit in refused["refused"]} == {
        *("conftest.py", "pytest.py", "sitecustomize.py", "iniconfig.py")
    }
    assert refused["eligible"] is False
    assert not mark.exists()


def test_changed_tests_are_told_apart_and_do_not_judge(story):
    """A patch that only makes the test agree with the fault gains nothing."""
    edits = {"edits": [{"path": "tests/test_tax.py", "old": "150.0", "new": "50.0"}]}
    shop = story({**FILES, "edits.json": json.dumps(edits)})
    told = verify(shop, "--edits", "edits.json")
    found = document(told)
    assert told.status == 1
    assert (found["verdict"], found["score"]) == ("refuted", 0.0)
    assert found["tests"]["changed"] == ["tests/test_tax.py"]
    assert [refusal["rule"] for refusal in found["refused"]] == ["test-file"]


def test_with_nothing_red_before_only_the_guards_count(story):
    """A refactoring is let through, and one that breaks a test is not."""
    green = {**FILES, "shop/tax.py": FIXED}
    edits = {name: {"edits": [{"path": "shop/tax.py", "old": "net +", "new": new}]} for name, new in _REWRITES.items()}
    shop = story({**green, **{f"{name}.json": json.dumps(document) for name, document in edits.items()}})
    kept, broken = (verify(shop, "--edits", f"{name}.json") for name in _REWRITES)
    assert (kept.status, document(kept)["verdict"], document(kept)["eligible"]) == (0, "nothing_to_prove", True)
    assert (broken.status, document(broken)["eligible"]) == (1, False)
    assert document(broken)["tests"]["broken"] == [TARGET]


_REWRITES = {"kept": "0 + net +", "broken": "net -"}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("nowhere.patch",), "cannot be read"),
        (("change.patch", "--edits", "edits.json"), "name one of them"),
        (("--base", "HEAD"), "no git repository"),
        (("change.patch", "--sandbox", "magic"), "one of auto, docker, process"),
        (("change.patch", "--python", "/no/python"), "cannot be started"),
        (("change.patch", "--", "-k", "tax"), "cannot choose what to prove"),
    ],
    ids=["no file", "two patches", "no repository", "no sandbox", "no python", "a choice by words"],
)
def test_wrong_use_is_said_at_once(story, words: tuple[str, ...], said: str):
    """Status 2, a sentence, and nothing that ran."""
    shop = story({**FILES, "change.patch": DIFF, "edits.json": '{"edits": []}'})
    told = shop.noepi("verify", *words)
    assert told.status == 2, told.text
    assert said in told.text


def test_a_patch_that_does_not_fit_is_no_verdict(story):
    """A diff of another state of the file is told as such, in the document too."""
    shop = story({**FILES, "change.patch": DIFF.replace("net - net", "net / net")})
    told = verify(shop, "change.patch")
    assert told.status == 1
    assert "does not fit" in told.text
