"""The example, end to end: what a person sees who types ``pytest --noepi-fix`` in it."""

from __future__ import annotations

import ast
import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import model_server
import pytest
from story import QUIET

EXAMPLE = Path(__file__).parents[1] / "example-repo"
SECONDS = 600  # no command here takes a tenth of it where nothing else runs; it keeps a broken one from hanging

# Each fault that the example ships with: the module, the right text, the text that was planted in its place.
PLANTED = (
    ("bank", 'delimiter=";"), start=1)', 'delimiter=";"), start=0)'),
    ("dates", "day.weekday() < 5", "day.weekday() <= 5"),
    ("invoices", "self.subtotal - percentage(", "self.subtotal + percentage("),
    ("journal", "if not entry.cleared and", "if entry.cleared and"),
    ("statements", "credits -= posting.cents", "debits -= posting.cents"),
    ("tables", "text[:width - 1] + ELLIPSIS", "text[:width] + ELLIPSIS"),
)
FROM_ROMAN = """
    rest, number = text, 0
    for value, numeral in NUMERALS:
        while rest.startswith(numeral):
            number += value
            rest = rest[len(numeral) :]
    if rest or not 1 <= number <= 3999 or to_roman(number) != text:
        raise ValueError(f"{text!r} is no Roman numeral")
    return number
"""


@dataclass(frozen=True)
class Ended:
    """A command that has ended: pytest's status, what it printed, and the record where there is one."""

    status: int
    output: str
    result: dict

    @property
    def stop_reason(self):
        """Return why the repair ended; None where none took place."""
        return self.result.get("stop_reason")


def in_folder(folder: Path, *options: str, **environment: str) -> Ended:
    """Run pytest in a folder as a person would: without the plugins of our own development, or a key unless given."""
    command = [sys.executable, "-m", "pytest", *QUIET, "-p", "no:cacheprovider", *options]
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("ANTHROPIC", "PYTEST", "COV"))}
    ended = subprocess.run(
        command,
        cwd=folder,
        env={**kept, "PYTHONDONTWRITEBYTECODE": "1", **environment},
        capture_output=True,
        encoding="utf-8",
        errors="replace",
        stdin=subprocess.DEVNULL,
        timeout=SECONDS,
        check=False,
    )
    return Ended(ended.returncode, ended.stdout + ended.stderr, newest_result(folder))


def newest_result(folder: Path) -> dict:
    """Return the newest recorded result, or nothing."""
    results = sorted(folder.glob(".noepi/runs/*/result.json"), key=lambda file: file.stat().st_mtime_ns)
    return json.loads(results[-1].read_text("utf-8")) if results else {}


def sources(folder: Path) -> dict[str, bytes]:
    """Return every file of a project but what pytest and the record leave."""
    files = (file for file in folder.rglob("*") if file.is_file() and ".noepi" not in file.parts)
    return {file.relative_to(folder).as_posix(): file.read_bytes() for file in files if "__pycache__" not in file.parts}


def module(name: str) -> str:
    """Return where a module of the example lies."""
    return f"src/ledgerline/{name}.py"


@pytest.fixture
def example(tmp_path):
    """A copy of the example with its faults in place, also where somebody has mended the original."""
    kept_out = shutil.ignore_patterns(".noepi", "__pycache__", ".pytest_cache", "hard-cases")
    copy = Path(shutil.copytree(EXAMPLE, tmp_path / "example", ignore=kept_out))
    for name, right, wrong in PLANTED:
        file = copy / module(name)
        file.write_bytes(file.read_bytes().replace(right.encode(), wrong.encode()))
    return copy


@pytest.fixture
def hard_case(tmp_path):
    """Return a copy of a hard case by its name."""

    def copied(name: str) -> Path:
        kept_out = shutil.ignore_patterns(".noepi", "__pycache__", ".pytest_cache")
        return Path(shutil.copytree(EXAMPLE / "hard-cases" / name, tmp_path / name, ignore=kept_out))

    return copied


def engine_answers() -> bool:
    """Whether a container engine answers here."""
    if shutil.which("docker") is None:
        return False
    asked = subprocess.run(["docker", "info"], capture_output=True, timeout=20, check=False)
    return asked.returncode == 0


@pytest.mark.parametrize(("name", "right", "wrong"), PLANTED, ids=[name for name, _, _ in PLANTED])
def test_each_planted_place_is_there_once(name, right, wrong):
    """The table above names places that exist: one of both texts, once."""
    text = (EXAMPLE / module(name)).read_text("utf-8")
    assert text.count(right) + text.count(wrong) == 1


@pytest.mark.parametrize("sandbox", ["process", pytest.param("docker", marks=[pytest.mark.docker, pytest.mark.slow])])
def test_example_is_mended_without_a_key(example, sandbox):
    """Six faults in six modules, ten failing tests: all mended as they were meant, proven, and nothing else touched."""
    if sandbox == "docker" and not engine_answers():
        pytest.skip("no container engine answers here")
    before = sources(example)
    ended = in_folder(example, "--noepi-fix", "--noepi-sandbox", sandbox)

    assert ended.status == 1, ended.output
    assert (ended.stop_reason, ended.result["verified"], ended.result["applied"]) == ("solved", True, True), (
        ended.output
    )
    assert len(ended.result["tests"]["fixed"]) == 10
    assert ended.result["tokens"]["spent"] == 0

    after = sources(example)
    assert {path for path in before if before[path] != after.get(path)} == {module(name) for name, _, _ in PLANTED}
    assert before.keys() == after.keys()
    for name, right, wrong in PLANTED:
        meant = before[module(name)].decode().replace(wrong, right)
        assert ast.dump(ast.parse(after[module(name)])) == ast.dump(ast.parse(meant)), name
    assert in_folder(example).status == 0


@pytest.mark.parametrize(
    ("name", "stop_reason"),
    [
        ("environment", "environment"),
        ("contradiction", "test_suspect"),
        pytest.param("needs-model", "exhausted", marks=pytest.mark.slow),
    ],
)
def test_hard_case_ends_with_its_own_reason(hard_case, name, stop_reason):
    """What no small edit can or may mend is named, costs nothing, and leaves every file as it was."""
    folder = hard_case(name)
    before = sources(folder)
    ended = in_folder(folder, "--noepi-fix")

    assert (ended.status, ended.stop_reason) == (1, stop_reason), ended.output
    assert ended.result["solved"] is False
    assert ended.result["tokens"]["spent"] == 0
    assert sources(folder) == before


def test_without_a_key_it_says_what_to_set(hard_case):
    """The model rungs are skipped by name, and the reader learns which variable is missing."""
    ended = in_folder(hard_case("needs-model"), "--noepi-fix")

    assert "claude-haiku-4-5" in {skipped["rung"] for skipped in ended.result["skipped_rungs"]}
    assert "ANTHROPIC_API_KEY" in ended.output


@pytest.mark.slow
def test_flaky_case_is_called_flaky(hard_case):
    """It is run until it fails, one time in four; then it is told from a fault and left alone."""
    folder = hard_case("flaky")
    before = sources(folder)
    # One failure in some sixty fails each time it is run again as well: nobody can tell that from a fault. Then the
    # search may find an edit that makes the test pass, which must not be written, or it would never fail again.
    careful = ("--noepi-fix", "--noepi-ladder", "offline", "--noepi-apply", "never", "--noepi-time-limit", "60")
    endings = (in_folder(folder, *careful) for _ in range(60))
    ended = next((one for one in endings if one.stop_reason == "flaky"), None)

    assert ended is not None, "in sixty runs it never failed, or never was called flaky"
    assert ended.status == 1, ended.output
    assert ended.result["tests"]["flaky"] == ["tests/test_retry.py::test_first_wait_is_short"]
    assert ended.result["tokens"]["spent"] == 0
    assert sources(folder) == before


def test_model_mends_what_the_search_cannot(hard_case, server, tmp_path):
    """With a model behind the ladder the missing function is written, and the usage recorded is the usage served."""
    folder = hard_case("needs-model")
    ladder = tmp_path / "ladder.yaml"
    ladder.write_text(
        f"""
name: served here
start: local-search
rungs:
  local-search: {{kind: search, on_plateau: model}}
  model:
    kind: model
    provider: anthropic
    model: claude-haiku-4-5
    base_url: {server.url}
    on_plateau: stop
"""
    )
    usage = {
        "input_tokens": 900,
        "output_tokens": 210,
        "cache_read_input_tokens": 30,
        "cache_creation_input_tokens": 40,
    }
    server.edits(("roman.py", "    raise NotImplementedError\n", FROM_ROMAN.lstrip("\n")), usage=usage)
    ended = in_folder(
        folder,
        "--noepi-fix",
        f"--noepi-ladder={ladder}",
        f"--noepi-sandbox={'docker' if engine_answers() else 'process'}",  # auto keeps a model's code to Docker
        ANTHROPIC_API_KEY=model_server.KEY,
    )

    assert ended.stop_reason == "solved", ended.output
    assert len(server.served) == 1
    kinds = ("spent", "input", "output", "cache_read", "cache_write")
    assert [ended.result["tokens"][kind] for kind in kinds] == [1180, 900, 210, 30, 40]
    assert in_folder(folder).status == 0
