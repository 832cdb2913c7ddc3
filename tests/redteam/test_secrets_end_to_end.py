"""Secrets around a project appear nowhere: not in what is printed, not in the record, not in what a model is sent."""

from __future__ import annotations

import json
from pathlib import Path

import model_server
import pytest
from corpus import require_engine
from story import Story

pytestmark = pytest.mark.slow

SECRETS = {
    "environment": "plain-variable-canary-1138",
    "token": "token-variable-canary-2187",
    "netrc": "netrc-canary-3720",
    "git": "git-config-canary-4077",
    "dotenv": "dotenv-canary-5150",
}
# Cries out all that it can find, but only where trials run: what an ordinary pytest run shows is not ours to hold.
HOSTILE = """
import glob
import os
import sys

HOME = {home!r}


def loot():
    places = [HOME + "/.netrc", os.path.expanduser("~/.netrc"), ".git/config", ".env", "../.netrc"]
    places += [os.path.join(os.path.dirname(__file__), ".git/config"), *glob.glob("/proc/[0-9]*/environ")]
    found = [repr(dict(os.environ))]
    for place in places:
        try:
            with open(place, errors="replace") as file:
                found.append(place + ": " + file.read())
        except OSError as error:
            found.append(repr(error))
    return "\\n".join(found)


def total(price, count):
    if "{half}" in sys.modules:
        print("LOOT", loot())
        print("LOOT", loot(), file=sys.stderr)
        if price + count != price * count:
            raise ValueError("LOOT " + loot())
    return price + count
"""
TESTS = """
    import pytest
    from shop import loot, total


    def test_total():
        assert total(3, 5) == 15, loot() if "_noepi_inside" in __import__("sys").modules else ""


    def test_twos():
        assert total(2, 2) == 4
"""
FIX = ("shop.py", "    return price + count\n", "    return price * count\n")
UNRAISED = (
    "shop.py",
    '        if price + count != price * count:\n            raise ValueError("LOOT " + loot())\n',
    "",
)


@pytest.fixture(params=["process", pytest.param("docker", marks=pytest.mark.docker)])
def sandbox(request) -> str:
    """Each sandbox in turn."""
    if request.param == "docker":
        require_engine()
    return request.param


def planted(story, home: Path) -> Story:
    """A hostile project in a home with secrets; nothing of the project itself holds one of them."""
    shop = story({"shop.py": HOSTILE.format(home=str(home), half="_noepi_inside"), "test_shop.py": TESTS})
    home.mkdir()
    (home / ".netrc").write_text(f"machine example.com login me password {SECRETS['netrc']}\n")
    (shop.project / ".git").mkdir()
    (shop.project / ".git/config").write_text(f"[http]\n\textraheader = AUTHORIZATION: basic {SECRETS['git']}\n")
    (shop.project / ".env").write_text(f"OTHER_SERVICE = {SECRETS['dotenv']}\n")
    return shop


def test_what_a_hostile_project_can_find_is_told_to_nobody(story, sandbox, tmp_path):
    """It cries out environment, home, version control and other processes; a model is asked, a record is written."""
    home = tmp_path / "home"
    shop = planted(story, home)
    environment = {"HOME": str(home), "PLAIN": SECRETS["environment"], "SOME_TOKEN": SECRETS["token"]}
    with model_server.running() as server:
        server.edits(UNRAISED)  # of no use: the record then holds a failed attempt too
        server.edits(UNRAISED, FIX)
        models = {"ANTHROPIC_BASE_URL": server.url, "ANTHROPIC_API_KEY": model_server.KEY}
        told = shop.fix("--noepi-ladder", "claude-only", sandbox=sandbox, env={**environment, **models})
        prompts = json.dumps([request.body for request in server.requests])
    assert server.requests, told.text
    assert told.result["stop_reason"] == "solved", told.text
    kept = b"".join(path.read_bytes() for path in told.record.rglob("*") if path.is_file()).decode("utf-8", "replace")
    assert "LOOT" in prompts, "the model was not told what failed, so that this test shows nothing"
    for name, secret in SECRETS.items():
        assert secret not in told.text, f"{name}: printed"
        assert secret not in kept, f"{name}: in the record"
        assert secret not in prompts, f"{name}: sent to a model"
        assert model_server.KEY not in kept
