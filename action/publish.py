"""Publishing. This step alone holds the token that may write, and runs nothing of the project."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping
from pathlib import Path

import console
import gate

from pytest_noepicycle.adapters.forge import Wishes
from pytest_noepicycle.domain.publishing import Operation, Policy
from pytest_noepicycle.errors import NoepiError
from pytest_noepicycle.publishing import Request, publish
from pytest_noepicycle.report.pull_request import quoted
from pytest_noepicycle.settling import Published

_FORBIDDEN = 403


def request(environ: Mapping[str, str]) -> Request:
    """Return what to publish, from the inputs and from what the runner says of the run."""

    def given(name: str) -> str:
        return console.setting(name, environ)

    server, repository = environ.get("GITHUB_SERVER_URL", ""), environ.get("GITHUB_REPOSITORY", "")
    return Request(
        folder=Path(environ["RUNNER_TEMP"], "noepi", "record").resolve(),
        repository=repository,
        token=given("token"),
        base=given("base") or _branch(environ),
        above=environ.get("GITHUB_BASE_REF", ""),
        server=server,
        api=environ.get("GITHUB_API_URL", ""),
        digest=given("digest"),
        title=given("title"),
        message=given("commit-message"),
        run_url=f"{server}/{repository}/actions/runs/{environ.get('GITHUB_RUN_ID', '')}",
        policy=Policy(prefix=given("branch") or Policy().prefix, partial=given("publish") != "solved"),
        wishes=Wishes(
            draft=given("draft").lower() != "false",
            labels=tuple(label.strip() for label in re.split(r"[,\n]", given("labels")) if label.strip()),
            workflow=_workflow(environ) if given("own-token") == "true" else "",
        ),
    )


def _branch(environ: Mapping[str, str]) -> str:
    """Return the branch that the run was for: a pull request's own, that of the workflow before, or the pushed one."""
    if environ.get("GITHUB_HEAD_REF"):
        return environ["GITHUB_HEAD_REF"]
    before = gate.at(gate.event_of(environ), "workflow_run", "head_branch")
    if isinstance(before, str):
        return before
    return environ.get("GITHUB_REF_NAME", "") if environ.get("GITHUB_REF", "").startswith("refs/heads/") else ""


def _workflow(environ: Mapping[str, str]) -> str:
    """Return the file of this workflow: what runs the tests here can run them on the new branch."""
    found = re.search(r"/\.github/workflows/([\w.-]+\.ya?ml)@", environ.get("GITHUB_WORKFLOW_REF", ""))
    return found[1] if found else ""


def _tell(done: Published, *, left: bool) -> None:
    """Tell the operation and its reason; ``left`` means that there is a patch which no pull request holds."""
    console.output(
        pull_request_operation=done.operation,
        pull_request_number=done.number,
        pull_request_url=done.url,
        pull_request_branch=done.branch,
        pull_request_head_sha=done.head_sha,
    )
    console.command("notice", f"Pull request: {done.operation} ({done.reason}). {done.url}", title="pytest-noepicycle")
    link = f" [#{done.number}]({done.url})" if done.number else ""
    notes = "".join(f"\n- {note}" for note in done.notes)
    kept = f"\n{_kept()}\n" if left else ""
    console.summarise(f"**Pull request: {done.operation}**{link}: {quoted(done.reason, 600)}\n{kept}{notes}")


def _kept() -> str:
    """Say where the patch is, whatever became of the pull request."""
    if console.setting("artifact"):
        return "The patch and the report are in this run's artifact."
    return "The report with the patch is in this run's summary; the input 'artifact' is empty, so no artifact was kept."


def _failed(error: NoepiError) -> int:
    """Say what to do; where only the right to write is missing, artifact and summary are the result."""
    lenient = getattr(error, "status", 0) == _FORBIDDEN and console.setting("mode") == "fix-and-publish"
    console.output(pull_request_operation="none")
    console.command("warning" if lenient else "error", f"{error.sentence()}\n{_kept()}", title="Nothing was published")
    console.summarise(f"**Nothing was published.** {quoted(str(error), 600)}\n\n{quoted(error.hint, 600)}\n\n{_kept()}")
    return 0 if lenient else 1


def main() -> int:
    """Publish the record that lies ready."""
    chosen = request(os.environ)
    if not (chosen.folder / "result.json").is_file():
        console.command("notice", "There is no record to publish.", title="pytest-noepicycle")
        console.output(pull_request_operation="none")
        return 0
    try:
        with console.group("pytest-noepicycle: publish"):
            done = publish(chosen)
    except NoepiError as error:
        return _failed(error)
    _tell(done, left=done.operation is Operation.NONE and (chosen.folder / "best.patch").is_file())
    return 0


if __name__ == "__main__":
    sys.exit(main())
