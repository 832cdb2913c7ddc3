"""``noepi check``: each part tried for real, a word of advice for each that is not fine, a status for programs."""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest


class Ear:
    """A port on loopback that takes every connection, counts it, and never says a word."""

    def __init__(self) -> None:
        self.calls: list[socket.socket] = []
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.port = self._socket.getsockname()[1]
        self._thread = threading.Thread(target=self._listen)
        self._thread.start()

    def _listen(self) -> None:
        while True:
            try:
                self.calls.append(self._socket.accept()[0])
            except OSError:
                return

    def close(self) -> None:
        """Hang up."""
        self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        self._thread.join()
        for call in self.calls:
            call.close()


@pytest.fixture
def ear() -> Iterator[Ear]:
    """A listener for what should not be said."""
    listening = Ear()
    yield listening
    listening.close()


def watched(ear: Ear, **env: str) -> dict[str, str]:
    """Return an environment in which whatever leaves this machine, or is asked of a model, comes to the ear."""
    at = f"http://127.0.0.1:{ear.port}"
    proxies = dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy", "ANTHROPIC_BASE_URL"), at)
    return {**proxies, "NO_PROXY": "127.0.0.1", "no_proxy": "127.0.0.1", **env}


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


KEY = {"ANTHROPIC_API_KEY": "sk-no-key-at-all"}
NO_ENGINE = {"DOCKER_HOST": "unix:///nonexistent/docker.sock"}


@pytest.mark.parametrize("key", [KEY, {}], ids=["key", "no key"])
@pytest.mark.parametrize("engine", ["none", "silent", pytest.param("answers", marks=pytest.mark.docker)])
def test_on_every_machine_it_comes_to_its_end_and_spends_nothing(story, ear, key, engine):
    """With and without key and engine, an engine that never answers among them: no model is asked, no proxy either."""
    mute = Ear()
    host = {"none": NO_ENGINE, "silent": {"DOCKER_HOST": f"tcp://127.0.0.1:{mute.port}"}, "answers": {}}[engine]
    if engine == "answers" and subprocess.run(["docker", "info"], capture_output=True, check=False).returncode:
        pytest.skip("no container engine answers; .ci/run starts one")
    try:
        told = story({}).noepi("check", "--json", env=watched(ear, **key, **host), seconds=60)
    finally:
        mute.close()
    assert told.status == 0, told.text
    found = {finding["part"]: finding for finding in json.loads(told.text)}
    assert found["key"]["state"] == ("fine" if key else "note")
    assert bool(mute.calls) is (engine == "silent")
    assert found["sandbox"]["text"].startswith("docker" if engine == "answers" else "process")
    assert ("Docker is not used" in found["sandbox"]["advice"]) is (engine != "answers")
    assert ear.calls == []
    assert "sk-no-key-at-all" not in told.text


def test_without_any_network_all_but_models_works(story):
    """In a network of its own that leads nowhere, the key is found and the sandbox tried."""
    alone = ["unshare", "--map-root-user", "--net"]
    if not shutil.which("unshare") or subprocess.run([*alone, "true"], capture_output=True, check=False).returncode:
        pytest.skip("this system gives no network of one's own; .ci/run does")
    place = story({})
    told = place.command(*alone, sys.executable, "-m", "pytest_noepicycle.cli", "check", "--json", env=NO_ENGINE | KEY)
    assert told.status == 0, told.text
    assert parts(told)["key"] == "fine"
    assert parts(told)["sandbox"] == "note"


def test_what_would_take_long_is_not_loaded_for_it(story, bare_python):
    """A plugin of the project's environment is named, and stays out of the two sample tests."""
    asked = [bare_python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"]
    site = Path(subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip())
    info = site / "dear-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: dear\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[pytest11]\ndear_one = dear\n")
    (site / "dear.py").write_text("raise RuntimeError('it was loaded')\n")
    try:
        told = story({}).noepi("check", "--python", bare_python, "--sandbox", "process", "--json")
    finally:
        shutil.rmtree(info)  # the interpreter is shared with other tests
        (site / "dear.py").unlink()
    assert told.status == 0, told.text
    plugins = next(finding for finding in json.loads(told.text) if finding["part"] == "plugins")
    assert plugins["text"] == "dear"


def test_an_interpreter_that_never_answers_is_named(story):
    """It is not waited for longer than a person would."""
    place = story({"python": "#!/bin/sh\nexec sleep 60\n"})
    (place.project / "python").chmod(0o755)
    told = place.noepi("check", "--python", str(place.project / "python"), "--json", seconds=50)
    assert told.status == 1
    found = {finding["part"]: finding for finding in json.loads(told.text)}
    assert "did not answer within 5 s" in found["project"]["text"]
    assert found["ladder"]["state"] == "fine"
