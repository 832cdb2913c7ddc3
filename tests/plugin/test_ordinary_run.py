"""An ordinary run pays nothing and looks as ever; a repair begins only when it was asked for and something failed."""

from __future__ import annotations

import pytest

OURS = ("anthropic", "langgraph", "docker", "git", "yaml", "cattrs", "filelock")
WATCH = f"""
import sys
def pytest_unconfigure(config):
    print("LOADED", sorted(name for name in {OURS!r} if name in sys.modules))
    print("MODULES", sum(name.startswith("pytest_noepicycle") for name in sys.modules))
"""
GREEN = {"conftest.py": WATCH, "test_a.py": "def test_a():\n    assert True\n"}
RED = {"conftest.py": WATCH, "test_a.py": "def test_a():\n    assert 1 + 1 == 3\n\n\ndef test_b():\n    pass\n"}


@pytest.mark.parametrize("arguments", [[], ["--noepi-fix"], ["-n0"], ["-n2"], ["--noepi-fix", "-n2"]], ids=" ".join)
def test_a_green_run_imports_none_of_the_libraries(story, arguments):
    """Installed and unused, or used and not needed: no library of ours is loaded."""
    told = story(GREEN).pytest(*arguments, "-s" if "-n2" not in arguments else "-q")
    assert told.status == 0, told.text
    assert "LOADED []" in told.text


def test_a_red_run_without_the_option_is_plain_pytest(story):
    """Not asked, the plugin loads nothing and says nothing."""
    told = story(RED).pytest("-s")
    assert told.status == 1
    assert "LOADED []" in told.text
    assert not [line for line in told.text.splitlines() if "noepi" in line and not line.startswith("plugins:")]


def test_the_plugin_adds_few_modules(story):
    """The entry module is a table of contents: an ordinary run loads a handful of ours and no more."""
    told = story(GREEN).pytest("-s")
    count = int(told.text.split("MODULES ")[1].split()[0])
    assert count <= 8, told.text


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--noepi-ladder", "defualt"], "there is no ladder 'defualt'"),
        (["--noepi-budget", "-1"], "--noepi-budget: '-1' is not a number of tokens"),
        (["--noepi-budget-usd", "free"], "--noepi-budget-usd: 'free' is not an amount of US dollars"),
        (["--noepi-time-limit", "0"], "--noepi-time-limit: '0' is not a number of seconds"),
        (["--noepi-sandbox", "cloud"], "--noepi-sandbox: 'cloud' is not one of auto, docker, process"),
        (["--noepi-holdout", "1.5"], "--noepi-holdout: '1.5' is not a share from 0 to 0.9"),
        (["--noepi-workers", "none"], "--noepi-workers: 'none' is not a number of workers"),
        (["--noepi-apply", "always"], "--noepi-apply: 'always' is not one of solved, best, never"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_bad_options_are_usage_errors(story, arguments, sentence):
    """A sentence that names the option and what it takes, and pytest's own status for wrong use."""
    told = story(RED).pytest("--noepi-fix", *arguments)
    assert told.status == 4, told.text
    assert sentence in told.text


def test_bad_ini_values_are_usage_errors_too(story):
    """The ini twin is checked as the option is."""
    told = story({**RED, "pytest.ini": "[pytest]\nnoepi_memory = lots\n"}).pytest("--noepi-fix")
    assert told.status == 4
    assert "noepi_memory: 'lots' is not an amount of memory" in told.text


def test_no_tests_is_status_five(story):
    """Nothing collected is pytest's own status, and no repair begins."""
    told = story({"empty.py": ""}).pytest("--noepi-fix")
    assert told.status == 5
    assert not (told.project / ".noepi").exists()


def test_a_broken_ladder_file_is_named_when_it_is_needed(story):
    """Green, nobody reads it; red, the line with the mistake is named and the status is that of wrong use."""
    ladder = "rungs:\n  one:\n    kind: search\n    on_plateau: nowhere\n"
    green = story({**GREEN, "mine.yaml": ladder}).pytest("--noepi-fix", "--noepi-ladder", "mine.yaml")
    assert green.status == 0
    red = story({**RED, "mine.yaml": ladder}).pytest("--noepi-fix", "--noepi-ladder", "mine.yaml")
    assert red.status == 4, red.text
    assert "mine.yaml:4" in red.text
    assert "there is no rung 'nowhere'" in red.text


def test_docker_by_name_without_an_engine_is_asked_only_after_a_failure(story):
    """A green run does not care; a red one ends with the status of wrong use and says what to do."""
    nowhere = {"DOCKER_HOST": "unix:///nonexistent/docker.sock"}
    green = story(GREEN).pytest("--noepi-fix", "--noepi-sandbox", "docker", env=nowhere)
    assert green.status == 0
    red = story(RED).pytest("--noepi-fix", "--noepi-sandbox", "docker", env=nowhere)
    assert red.status == 4, red.text
    assert "--noepi-sandbox process" in red.text


def test_strict_configuration_knows_our_ini_keys(story):
    """A project may keep its settings in its ini file under --strict-config."""
    ini = "[pytest]\naddopts = --strict-config --strict-markers\nnoepi_reruns = 2\nnoepi_env = HOME_PAGE\n"
    assert story({**GREEN, "pytest.ini": ini}).pytest().status == 0
