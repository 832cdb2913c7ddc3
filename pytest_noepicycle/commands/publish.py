"""``noepi publish``: branch, commit and pull request from a finished run."""

from __future__ import annotations

import argparse
import os
import re
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_noepicycle.commands import records
from pytest_noepicycle.commands.command import DONE, print_json
from pytest_noepicycle.errors import UsageError

if TYPE_CHECKING:
    from pytest_noepicycle.publishing import Request


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    records.arguments(parser)
    environ = os.environ.get
    add = parser.add_argument
    add("--repo", default=environ("GITHUB_REPOSITORY", ""), metavar="OWNER/NAME", help="the repository")
    add("--base", default="", metavar="BRANCH", help="the branch to merge into (default: the repository's)")
    add("--token-env", default="GITHUB_TOKEN", metavar="NAME", help="the variable that holds the token")
    add("--api-url", default=environ("GITHUB_API_URL", "https://api.github.com"), metavar="URL", help="the REST root")
    add("--server-url", default=environ("GITHUB_SERVER_URL", "https://github.com"), metavar="URL", help="where git is")
    add("--branch", default="noepi/fix", metavar="PREFIX", help="what the branches begin with (default: noepi/fix)")
    add("--publish", default="best", choices=("best", "solved"), help="any proven gain, or complete fixes only")
    add("--title", default="", metavar="TEXT", help="a title in place of ours")
    add("--commit-message", default="", metavar="TEXT", help="a first line of the commit in place of ours")
    add("--label", action="append", default=[], metavar="NAME", help="a label; may be given more than once")
    add("--ready", action="store_true", help="open an ordinary pull request, no draft")
    add("--workflow", default="", metavar="FILE", help="a workflow to start on the branch (needs actions: write)")
    add("--digest", default="", metavar="NAME", help="what the patch must have, as the run's job named it")
    add("--run-url", default="", metavar="URL", help="where the run can be looked at")


def run(given: argparse.Namespace) -> int:
    """Publish, and print the operation with its reason."""
    from pytest_noepicycle import publishing

    done = publishing.publish(_request(given))
    if given.json:
        print_json({"schema_version": 1, **asdict(done)})
        return DONE
    print(f"{done.operation}: {done.reason}")
    for line in (done.url, *done.notes):
        if line:
            print(f"  {line}")
    return DONE


def _request(given: argparse.Namespace) -> Request:
    from pytest_noepicycle.adapters.forge import Wishes
    from pytest_noepicycle.domain.publishing import Policy
    from pytest_noepicycle.publishing import Request

    if given.workflow and not re.fullmatch(r"[\w.-]+\.ya?ml", given.workflow):
        raise UsageError(f"{given.workflow!r} is no workflow", hint="Name the file alone, such as ci.yml.")
    return Request(
        folder=_folder(given),
        repository=given.repo,
        token=os.environ.get(given.token_env, "").strip(),
        base=given.base,
        server=given.server_url,
        api=given.api_url,
        digest=given.digest,
        title=given.title,
        message=given.commit_message,
        run_url=given.run_url,
        policy=Policy(prefix=given.branch, partial=given.publish == "best"),
        wishes=Wishes(draft=not given.ready, labels=tuple(given.label), workflow=given.workflow),
    )


def _folder(given: argparse.Namespace) -> Path:
    """Return the record's folder: one that is named by its path, or a run that is recorded here."""
    if given.run_id and Path(given.run_id, "result.json").is_file():
        return Path(given.run_id).resolve()
    return records.found(given)[0].folder
