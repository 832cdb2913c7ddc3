"""The steps of the Action as programs, each with the environment that ``action.yml`` gives it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import failing
import publish as publish_step
import pytest
from action.acting import ROOT
from action.github_server import REPOSITORY, TOKEN, Fault, GitHubServer
from action.records_to_publish import FILES, patch_of, record

from pytest_noepicycle.errors import EngineUnavailable
from pytest_noepicycle.publishing import publish

PASSING = {"calc.py": "def double(n):\n    return n + n\n", "test_calc.py": FILES["test_calc.py"]}
SECRETS = {"ANTHROPIC_API_KEY": "sk-ant-0123456789", "GITHUB_TOKEN": TOKEN, "ACTIONS_RUNTIME_TOKEN": "runtime"}
CURIOUS = """
import os
from calc import double

def test_double():
    print("\\n::set-output name=done::evil")
    print("SEEN", sorted(n for n in os.environ if n.startswith(("GITHUB_", "ACTIONS_", "ANTHROPIC_", "NOEPI_"))))
    assert double(4) == 8
"""


@dataclass(frozen=True)
class Left:
    """What a step left: its status, its output for people, its outputs and the summary."""

    status: int
    text: str
    outputs: dict[str, str]
    summary: str


@pytest.fixture
def step(tmp_path: Path) -> Callable[..., Left]:
    """Return a function that runs one step in a folder."""
    home = tmp_path / "runner"
    home.mkdir()

    def run(name: str, folder: Path, **inputs: str) -> Left:
        for file in ("output", "summary"):
            (home / file).write_text("")
        given = {f"NOEPI_INPUT_{key.upper()}": value for key, value in inputs.items() if key.islower()}
        env = {
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
            "HOME": str(home),
            "RUNNER_TEMP": str(home),
            "GITHUB_OUTPUT": str(home / "output"),
            "GITHUB_STEP_SUMMARY": str(home / "summary"),
            "GITHUB_ENV": str(home / "env"),
            "GITHUB_REPOSITORY": REPOSITORY,
            "GITHUB_REF": "refs/heads/main",
            "GITHUB_REF_NAME": "main",
            **{key: value for key, value in inputs.items() if key.isupper()},
            **given,
        }
        words = [sys.executable, "-E", "-s", str(ROOT / "action" / f"{name}.py")]
        done = subprocess.run(words, cwd=folder, env=env, capture_output=True, timeout=240, check=False)
        text = (done.stdout + done.stderr).decode("utf-8", "replace")
        return Left(done.returncode, text, _outputs(home / "output"), (home / "summary").read_text("utf-8"))

    return run


def _outputs(path: Path) -> dict[str, str]:
    lines, found = path.read_text("utf-8").splitlines(), {}
    while lines:
        name, _, end = lines.pop(0).partition("<<")
        place = lines.index(end)
        found[name], lines = "\n".join(lines[:place]), lines[place + 1 :]
    return found


def test_the_projects_tests_see_neither_secret_nor_runner(story, step, tmp_path):
    """Nothing by which the runner is spoken to, and no key, is in their environment; what they print is unheard."""
    folder = story({**FILES, "test_calc.py": CURIOUS, "pytest.ini": "[pytest]\n"}).project
    words = "-p no:langsmith_plugin -p no:asyncio -p no:anyio"
    left = step("run_tests", folder, pytest_args=words, working_directory=".", python=sys.executable, **SECRETS)
    assert left.status == 0, left.text
    assert left.outputs == {"done": "true"}
    seen = next(line for line in left.text.splitlines() if line.startswith("SEEN"))
    assert seen == "SEEN ['GITHUB_REF', 'GITHUB_REF_NAME', 'GITHUB_REPOSITORY', 'NOEPI_SESSION_FILE']"
    word = next(line for line in left.text.splitlines() if line.startswith("::stop-commands::"))[17:]
    before, _, after = left.text.partition("::set-output name=done::evil")
    assert f"::stop-commands::{word}" in before
    assert f"\n::{word}::\n" in after
    facts = json.loads((tmp_path / "runner/noepi/session.json").read_text())
    assert [failure["test"] for failure in facts["failures"]] == ["test_calc.py::test_double"]


@pytest.mark.parametrize(
    ("files", "inputs", "status", "said"),
    [
        (PASSING, {}, 0, "Every test passes"),
        ({"a.py": ""}, {}, 0, "No tests were found"),
        (PASSING, {"python": "/nowhere/python"}, 1, "Name the project"),
        (PASSING, {"pytest_args": "--no-such-option"}, 1, "Read what it says above"),
        (PASSING, {"pytest_args": "'"}, 1, "No closing quotation"),
        (PASSING, {"working_directory": "nowhere"}, 1, "nowhere"),
    ],
)
def test_tests_that_do_not_fail_and_those_that_cannot_run(story, step, files, inputs, status, said):
    """Nothing to mend is a notice; what cannot run is an error with what to do."""
    folder = story({"pytest.ini": "[pytest]\naddopts = -p no:langsmith_plugin -p no:asyncio\n", **files}).project
    left = step("run_tests", folder, **{"python": sys.executable, **inputs})
    assert (left.status, said in left.text) == (status, True), left.text


def test_a_green_run_closes_what_is_no_longer_needed(story, step, github, tmp_path):
    """From a run without failures over its record to the closed pull request, step by step."""
    where = {"GITHUB_API_URL": github.api, "GITHUB_SERVER_URL": github.url}
    first = record(tmp_path / "runner/noepi/record", github.head("main"), patch_of())
    opened = step("publish", tmp_path, token=TOKEN, mode="publish", **where)
    assert opened.outputs["pull-request-operation"] == "created", opened.text
    github.commit("main", {**PASSING, "pytest.ini": "[pytest]\naddopts = -p no:langsmith_plugin -p no:asyncio\n"})
    here = story({})
    here.command("git", "clone", "-q", str(github.bare), "checkout")
    folder = here.project / "checkout"
    for name in first.iterdir():
        name.unlink()
    assert step("run_tests", folder, python=sys.executable).outputs == {"done": "true"}
    left = step("fix", folder, ladder="default")
    assert left.outputs["stop-reason"] == "nothing_to_fix", left.text
    closed = step("publish", tmp_path, token=TOKEN, mode="publish", **where)
    assert closed.outputs["pull-request-operation"] == "closed", closed.text
    assert github.pulls[0]["state"] == "closed"


@pytest.mark.parametrize(("mode", "status", "kind"), [("fix-and-publish", 0, "::warning"), ("publish", 1, "::error")])
def test_without_the_right_to_write_artifact_and_summary_are_the_result(step, github, tmp_path, mode, status, kind):
    """In one job a token that may not write is no failure, in a job of its own it is. Both say so."""
    record(tmp_path / "runner/noepi/record", github.head("main"), patch_of())
    github.faults.append(Fault("POST", "/pulls$", 403, "Resource not accessible by integration"))
    where = {"GITHUB_API_URL": github.api, "GITHUB_SERVER_URL": github.url}
    left = step("publish", tmp_path, token=TOKEN, mode=mode, artifact="noepi", **where)
    assert left.status == status
    assert kind in left.text
    assert left.outputs == {"pull-request-operation": "none"}
    assert "pull-requests: write" in left.summary
    assert "in this run's artifact" in left.summary
    assert TOKEN not in left.text + left.summary
    github.faults.append(Fault("POST", "/pulls$", 403, "Resource not accessible by integration"))
    unkept = step("publish", tmp_path, token=TOKEN, mode=mode, artifact="", **where)
    assert "no artifact was kept" in unkept.summary


PULLS, REF = "/pulls$", "git/ref/heads/main"


@pytest.mark.parametrize(
    ("fault", "status", "advice"),
    [
        (Fault("GET", REF, 401, "Bad credentials"), 1, "has it expired"),
        (Fault("POST", PULLS, 403, "Resource not accessible by integration"), 1, "pull-requests: write"),
        (Fault("GET", REF, 404, "Not Found"), 1, "the token may not see it"),
        (Fault("POST", PULLS, 409, "Conflict", times=9), 0, "the next run tries again"),
        (
            Fault("POST", PULLS, 422, "A pull request already exists for acme:x.", times=9),
            0,
            "the next run tries again",
        ),
        (Fault("POST", PULLS, 422, "No commits between main and x"), 1, "there is nothing to merge"),
        (Fault("POST", PULLS, 422, "Draft pull requests are not supported", times=2), 1, "GitHub's own words"),
        (Fault("GET", REF, 429, "slow", {"Retry-After": "900"}), 1, "Run the job again later"),
        (Fault("GET", REF, 403, "You have exceeded a secondary rate limit", times=9), 1, "githubstatus"),
        (Fault("GET", REF, 500, "oh", times=9), 1, "githubstatus"),
        (Fault("POST", PULLS, 503, "oh", times=9), 0, "the next run tries again"),
        (Fault("GET", "info/refs", 403), 1, "contents: write"),
        (Fault("POST", "git-receive-pack", 500, "oh", times=9), 1, "git apply takes best.patch"),
    ],
    ids=lambda value: f"{value.method}-{value.status}-{value.message[:9]}" if isinstance(value, Fault) else "",
)
def test_however_publishing_fails_the_record_is_whole_and_the_job_says_what_to_do(
    github, tmp_path, monkeypatch, capsys, fault, status, advice
):
    """Each refusal of GitHub and of git: nothing of patch or report is lost, and no token is shown."""
    folder = record(tmp_path / "noepi/record", github.head("main"), patch_of())
    (folder / "report.md").write_text("The report")
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    where = {"GITHUB_API_URL": github.api, "GITHUB_SERVER_URL": github.url, "GITHUB_REPOSITORY": REPOSITORY}
    inputs = {"NOEPI_INPUT_TOKEN": TOKEN, "NOEPI_INPUT_MODE": "publish", "NOEPI_INPUT_BASE": "main"}
    inputs["NOEPI_INPUT_ARTIFACT"] = "noepi"
    files = {name: str(tmp_path / name) for name in ("GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY")}
    for name, value in {**where, **inputs, **files, "RUNNER_TEMP": str(tmp_path)}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(publish_step, "publish", lambda asked: publish(replace(asked, sleep=lambda seconds: None)))
    github.faults.append(fault)
    assert publish_step.main() == status
    summary, said = (tmp_path / "GITHUB_STEP_SUMMARY").read_text("utf-8"), capsys.readouterr().out
    assert advice in summary
    assert "in this run's artifact" in summary
    assert _outputs(tmp_path / "GITHUB_OUTPUT")["pull-request-operation"] == "none"
    assert github.open_pulls() == []
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before
    assert TOKEN not in summary + said


def test_an_artifact_that_was_changed_between_the_jobs_is_refused(step, github, tmp_path):
    """The second job fails with what to do, and nothing is pushed; so it does for a whole other record."""
    where = {"GITHUB_API_URL": github.api, "GITHUB_SERVER_URL": github.url}
    folder = record(tmp_path / "runner/noepi/record", github.head("main"), patch_of())
    other = step("publish", tmp_path, token=TOKEN, mode="publish", digest="0123456789abcdef0123", **where)
    (folder / "best.patch").write_bytes(b"--- a/calc.py\n+++ b/calc.py\n")
    left = step("publish", tmp_path, token=TOKEN, mode="publish", digest=patch_of().digest, **where)
    assert (other.status, left.status) == (1, 1)
    assert "is not the one that the job named" in other.summary
    assert "best.patch and patch.json are not the same patch" in left.summary
    assert github.git("for-each-ref", "--format=%(refname)") == "refs/heads/main"


def test_a_runner_without_docker_is_told_which_one_has_it(capsys):
    """No other sandbox is offered: in a workflow there is none for code of unknown origin."""
    assert failing.report(EngineUnavailable("no engine answers")) == 1
    said = capsys.readouterr().out
    assert "no engine answers%0A  Run this job where Docker is" in said
    assert "process" not in said


def test_nothing_to_publish_is_no_failure(step, tmp_path):
    """A job whose fix job left no record says so."""
    left = step("publish", tmp_path, token=TOKEN, mode="publish")
    assert left.status == 0
    assert left.outputs == {"pull-request-operation": "none"}


@pytest.mark.parametrize(
    ("environ", "base", "above", "workflow"),
    [
        ({"GITHUB_REF": "refs/heads/main", "GITHUB_REF_NAME": "main"}, "main", "", ""),
        ({"GITHUB_REF": "refs/pull/5/merge", "GITHUB_HEAD_REF": "x/y", "GITHUB_BASE_REF": "main"}, "x/y", "main", ""),
        ({"GITHUB_REF": "refs/tags/v1", "GITHUB_REF_NAME": "v1"}, "", "", ""),
        ({"NOEPI_INPUT_BASE": "dev", "GITHUB_REF": "refs/heads/main", "GITHUB_REF_NAME": "main"}, "dev", "", ""),
        ({"GITHUB_WORKFLOW_REF": "a/b/.github/workflows/ci.yml@refs/heads/main"}, "", "", ""),
        (
            {"GITHUB_WORKFLOW_REF": "a/b/.github/workflows/ci.yml@refs/heads/main", "NOEPI_INPUT_OWN_TOKEN": "true"},
            "",
            "",
            "ci.yml",
        ),
    ],
)
def test_base_and_workflow_come_from_the_runner(environ, base, above, workflow):
    """The branch of the event is the base; only a workflow's own token needs a start of the checks."""
    request = publish_step.request({"RUNNER_TEMP": "/nowhere", "NOEPI_INPUT_LABELS": "a, b\nc", **environ})
    assert (request.base, request.above, request.wishes.workflow) == (base, above, workflow)
    assert request.wishes.labels == ("a", "b", "c")
    assert request.wishes.draft


def test_a_workflow_that_followed_another_repairs_the_branch_of_that_one(tmp_path):
    """On ``workflow_run`` the event names the branch; the runner's own reference is the default branch."""
    event = tmp_path / "event.json"
    event.write_text(json.dumps({"workflow_run": {"head_branch": "release"}}))
    environ = {"RUNNER_TEMP": "/nowhere", "GITHUB_EVENT_PATH": str(event), "GITHUB_REF": "refs/heads/main"}
    assert publish_step.request({**environ, "GITHUB_REF_NAME": "main"}).base == "release"


@pytest.mark.docker
def test_a_pull_request_is_proved_against_its_base(story, step, github: GitHubServer, tmp_path):
    """Mode verify: the base is the event's, the base's tests judge, and the summary has the evidence."""
    quiet = "[pytest]\naddopts = -p no:langsmith_plugin -p no:asyncio -p no:anyio\n"
    base = github.commit("main", {"pytest.ini": quiet})
    github.commit("feature", {**FILES, "pytest.ini": quiet, **PASSING})
    here = story({})
    here.command("git", "clone", "-q", str(github.bare), "checkout")
    here.command("git", "-C", "checkout", "checkout", "-q", "feature")
    event = tmp_path / "event.json"
    event.write_text(json.dumps({"pull_request": {"base": {"sha": base}}}))
    more = {"GITHUB_EVENT_PATH": str(event), **SECRETS}
    left = step("verify", here.project / "checkout", python=sys.executable, **more)
    assert left.status == 0, left.text
    assert left.outputs["stop-reason"] == "proved"
    assert "noepi verify" in left.summary
