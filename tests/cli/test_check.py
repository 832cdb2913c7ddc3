"""``noepi check``: each part tried for real, a word of advice for each that is not fine, a status for programs."""

from __future__ import annotations

import json
import sys

import pytest


def parts(told) -> dict[str, str]:
    """Return the state of each part."""
    return {finding["part"]: finding["state"] for finding in json.loads(told.text)}


def test_a_machine_that_works_is_fine_and_says_what_is_missing_for_models(story):
    """The sandbox ran two sample tests; without a key there is a note, not a failure."""
    told = story({}).noepi("check", "--sandbox", "process", "--json")
    assert told.status == 0, told.text
    states = parts(told)
    assert states["sandbox"] in ("fine", "note")
    assert states["key"] == "note"
    assert {states[part] for part in ("engine", "project", "pytest", "ladder")} == {"fine"}


def test_a_key_in_a_dotenv_file_is_found_and_not_shown(story):
    """The key's name appears, its value nowhere."""
    told = story({".env": "ANTHROPIC_API_KEY=sk-very-secret\n"}).noepi("check", "--sandbox", "process", "--json")
    assert parts(told)["key"] == "fine"
    assert "sk-very-secret" not in told.text


@pytest.mark.parametrize(
    ("words", "env", "broken"),
    [
        (["--python", "/nowhere/python"], {}, "project"),
        (["--ladder", "nowhere.yaml"], {}, "ladder"),
        (["--sandbox", "docker"], {"DOCKER_HOST": "unix:///nonexistent/docker.sock"}, "sandbox"),
    ],
    ids=["interpreter", "ladder", "engine"],
)
def test_what_is_broken_is_named_with_what_to_do(story, words, env, broken):
    """The status is 1, the other parts are tried all the same."""
    told = story({}).noepi("check", *words, "--json", env=env)
    assert told.status == 1, told.text
    found = {finding["part"]: finding for finding in json.loads(told.text)}
    assert found[broken]["state"] == "broken"
    assert found[broken]["advice"]
    assert found["engine"]["state"] == "fine"


def test_an_environment_with_nothing_of_ours_is_enough(story, bare_python):
    """The project's interpreter needs pytest alone."""
    told = story({}).noepi("check", "--python", bare_python, "--sandbox", "process")
    assert told.status == 0, told.text
    assert "plugins  none" in told.text
    assert sys.version.split()[0] in told.text
