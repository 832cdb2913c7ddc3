"""Which events the Action works on, and how it speaks to the runner."""

from __future__ import annotations

import json
from typing import Any

import console
import gate
import pytest

REPO = "Acme/Widgets"
HERE, FORK = {"full_name": "acme/widgets"}, {"full_name": "eve/widgets"}
OWN = "noepi/fix-0123456789ab"
BOT = {"email": "41898282+github-actions[bot]@users.noreply.github.com"}
MESSAGE = "Mend\n\nNoepi-Fingerprint: 0123456789ab"


def pull(repo: Any) -> dict[str, Any]:
    """Return the payload of a pull request from a repository."""
    return {"pull_request": {"head": {"repo": repo}}}


def ran(repo: Any, **more: Any) -> dict[str, Any]:
    """Return the payload of a workflow that ran."""
    return {"workflow_run": {"head_repository": repo, "event": "push", **more}}


@pytest.mark.parametrize(
    ("name", "event", "environ", "reason"),
    [
        ("push", {}, {}, ""),
        ("schedule", {}, {}, ""),
        ("workflow_dispatch", {}, {}, ""),
        ("pull_request", pull(HERE), {}, ""),
        ("pull_request", pull(FORK), {}, "comes from a fork"),
        ("pull_request", pull(None), {}, "comes from a fork"),
        ("pull_request", {}, {}, "comes from a fork"),
        ("pull_request_target", pull(HERE), {}, "pull_request_target"),
        ("workflow_run", ran(HERE), {}, ""),
        ("workflow_run", ran(FORK), {}, "ran for a fork"),
        ("workflow_run", ran(HERE, event="pull_request_target"), {}, "pull_request_target"),
        ("workflow_run", ran(HERE, head_branch=OWN), {}, "branch of ours"),
        ("issue_comment", {}, {}, "none of those"),
        ("", {}, {}, "none of those"),
        ("push", {}, {"GITHUB_REF_NAME": OWN}, "branch of ours"),
        ("push", {}, {"GITHUB_REF_NAME": "noepi/fix-by-hand"}, ""),
        ("pull_request", pull(HERE), {"GITHUB_HEAD_REF": OWN}, "branch of ours"),
        ("push", {"head_commit": {"message": MESSAGE, "committer": BOT}}, {}, "one of ours"),
        ("push", {"head_commit": {"message": MESSAGE, "committer": {"email": "noreply@github.com"}}}, {}, ""),
        ("push", {"head_commit": {"message": "format", "committer": BOT}}, {}, ""),
        ("push", {}, {"GITHUB_RUN_ATTEMPT": "3"}, ""),
        ("push", {}, {"GITHUB_RUN_ATTEMPT": "4"}, "attempted 3 times"),
    ],
)
def test_events_that_are_worked_on_and_those_that_are_not(name, event, environ, reason):
    """Only trusted code meets the key, and nothing goes in circles."""
    found = gate.reason_against(
        "fix", "noepi/fix", {"GITHUB_EVENT_NAME": name, "GITHUB_REPOSITORY": REPO, **environ}, event
    )
    assert (reason in found) if reason else found == ""


@pytest.mark.parametrize(("name", "allowed"), [("pull_request", True), ("push", False), ("pull_request_target", False)])
def test_anybodys_pull_request_may_be_verified(name, allowed):
    """There is no key and no token in that mode, so that forks are welcome; the base's rights are never at hand."""
    environ = {"GITHUB_EVENT_NAME": name, "GITHUB_REPOSITORY": REPO}
    assert (gate.reason_against("verify", "noepi/fix", environ, pull(FORK)) == "") is allowed


@pytest.fixture
def runner(tmp_path, monkeypatch):
    """Return a function that reads what a step left for the runner."""
    for name in ("OUTPUT", "STEP_SUMMARY"):
        monkeypatch.setenv(f"GITHUB_{name}", str(tmp_path / name))
    return lambda name: (tmp_path / name).read_text("utf-8")


def test_a_refused_event_ends_with_success_a_notice_and_the_stop_reason(runner, monkeypatch, capsys, tmp_path):
    """The step does not fail: there is nothing for anybody to mend."""
    (tmp_path / "event.json").write_text(json.dumps(pull(FORK)))
    settings = {"GITHUB_EVENT_PATH": str(tmp_path / "event.json"), "GITHUB_EVENT_NAME": "pull_request"}
    for name, value in {**settings, "NOEPI_INPUT_MODE": "fix", "GITHUB_REPOSITORY": REPO}.items():
        monkeypatch.setenv(name, value)
    assert gate.main() == 0
    assert (
        "::notice title=pytest-noepicycle::Nothing was done: the pull request comes from a fork"
        in capsys.readouterr().out
    )
    assert "go<<" in runner("OUTPUT")
    assert "\nrefused\n" in runner("OUTPUT")
    assert "did nothing" in runner("STEP_SUMMARY")
    monkeypatch.setenv("NOEPI_INPUT_MODE", "frobnicate")
    assert gate.main() == 1


def test_an_output_cannot_set_another_one(runner):
    """A value with lines like the runner's own stays one value."""
    console.output(patch="x\nsolved=true\nEOF\nnoepi_\n", solved=False, score=None)
    first, *rest = runner("OUTPUT").splitlines()
    name, _, end = first.partition("<<")
    assert name == "patch"
    assert rest[: rest.index(end)] == ["x", "solved=true", "EOF", "noepi_", ""]
    assert end not in "x\nsolved=true\nEOF\nnoepi_\n"


def test_commands_are_escaped(capsys):
    """No line break or separator in a message or a property becomes one of the runner's."""
    console.command("notice", "a\n::error::b%", file="a,b:c\n", line=3, title="")
    assert capsys.readouterr().out == "::notice file=a%2Cb%3Ac%0A,line=3::a%0A::error::b%25\n"


def test_nobody_is_heard_between_the_words(capsys):
    """What is printed meanwhile stands between a stop and a word that nobody can foresee."""
    with console.unheard():
        console.command("set-output", "evil")
    lines = capsys.readouterr().out.splitlines()
    word = lines[0].removeprefix("::stop-commands::")
    assert len(word) >= 32
    assert lines[-1] == f"::{word}::"


def test_a_summary_is_cut_to_what_the_runner_takes(runner):
    """A longer one would be dropped whole; a block that is cut is closed."""
    console.summarise("# Title\n\n```diff\n" + "+é\n" * 600_000 + "```\n")
    raw = runner("STEP_SUMMARY")
    assert len(raw.encode()) <= 1024 * 1024
    assert raw.count("\n```") == 2
    assert raw.endswith("it is in the artifact._\n\n")
