"""The composition of ``noepi publish``: a finished run and a repository in, one pull request kept in order."""

from __future__ import annotations

import re
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from urllib.parse import urlsplit

from pytest_noepicycle import inspection
from pytest_noepicycle.adapters.forge import GitHubForge, Page, Wishes
from pytest_noepicycle.adapters.github import GitHub
from pytest_noepicycle.adapters.pushing import Clone
from pytest_noepicycle.adapters.records import Record
from pytest_noepicycle.domain.evidence import Flag
from pytest_noepicycle.domain.publishing import Finished, Policy, plain_branch, possible_branch, trailers
from pytest_noepicycle.errors import UsageError
from pytest_noepicycle.inspection import Paper
from pytest_noepicycle.report import pull_request
from pytest_noepicycle.settling import Published, settle

_REPOSITORY = re.compile(r"[A-Za-z0-9_.-]+/[A-Za-z0-9_.-]+")
_NEW_FILE = "100644"


@dataclass(frozen=True, slots=True)
class Request:
    """What to publish, and where: a record's ``folder``, ``owner/name``, the base branch (empty: the default one).

    ``above`` is the branch that the base itself is to be merged into. ``digest`` is what the patch must have, where
    another job named it; ``title`` and ``message`` replace ours.
    """

    folder: Path
    repository: str
    token: str = field(repr=False)
    base: str = ""
    above: str = ""
    server: str = "https://github.com"
    api: str = "https://api.github.com"
    digest: str = ""
    title: str = ""
    message: str = ""
    run_url: str = ""
    policy: Policy = field(default_factory=Policy)
    wishes: Wishes = field(default_factory=Wishes)
    sleep: Callable[[float], None] = time.sleep


def publish(request: Request) -> Published:
    """Publish a finished run: create, update or close its pull request, or do nothing and say why.

    :raises Tampered: where the record does not hold together.
    :raises Refused: where the guard turns the patch down.
    :raises NoepiError: where git or GitHub failed; nothing half-done needs to be cleared up.
    """
    _check(request)
    paper = inspection.read(Record(request.folder), request.digest or None)
    github = GitHub(request.api, request.token, request.sleep)
    base = request.base or str(github.get(f"/repos/{request.repository}")["default_branch"])
    run = replace(paper.finished(request.repository, base), above=request.above)
    with tempfile.TemporaryDirectory(prefix="noepi-publish-") as folder:
        address = f"{request.server.rstrip('/')}/{request.repository}.git"
        clone = Clone.at(Path(folder).resolve(), address, request.token)
        forge = _forge(request, paper, run, github, clone)
        done = settle(run, request.policy, forge)
    return replace(done, notes=tuple(forge.remarks))


def _forge(request: Request, paper: Paper, run: Finished, github: GitHub, clone: Clone) -> GitHubForge:
    """Look at the patch once more and return the forge that may publish it."""
    found: tuple[Flag, ...] = ()
    modes: dict[str, str] = {}
    if run.digest and run.fixed:
        clone.fetch(run.commit)
        files = inspection.check_commit(paper, clone)
        found = inspection.check_guard(paper, clone, files)
        modes = {path: blob.mode for path, blob in files.items()}
    told = pull_request.Told(paper.result, paper.patch, run.base, run.commit, paper.events, found, (), request.run_url)
    words = _words(request.title, run) or pull_request.title(told)

    def write(attempt: int) -> str:
        contents = zip(paper.paths(), (change.after or b"" for change in paper.patch.changes), strict=True)
        changed = {path: (modes.get(path, _NEW_FILE), content) for path, content in contents}
        subject = pull_request.spoken_for(request.message) or words
        return clone.commit(run.commit, changed, lambda tree: f"{subject}\n\n{trailers(run, tree, attempt)}\n")

    return GitHubForge(
        github=github,
        clone=clone,
        run=run,
        policy=request.policy,
        page=Page(
            words,
            lambda remarks: pull_request.body(replace(told, remarks=(*_untidy(paper), *remarks))),
            lambda kind: pull_request.note(kind, told if paper.patch.changes else None, run.base),
        ),
        wishes=request.wishes,
        paths=paper.paths(),
        write=write,
    )


def _words(title: str, run: Finished) -> str:
    """Return the user's own title; a partial gain is said in it all the same."""
    share = "" if run.complete else f" ({run.fixed} of {run.targets} failing tests)"
    return pull_request.spoken_for(title + share) if title else ""


def _untidy(paper: Paper) -> tuple[str, ...]:
    if paper.result.get("dirty") is not True:
        return ()
    return ("The work tree of the run differed from that commit in other files than those of the patch.",)


def _check(request: Request) -> None:
    """See that the request can be one.

    :raises UsageError: where it cannot.
    """
    if not _REPOSITORY.fullmatch(request.repository):
        raise UsageError(f"{request.repository!r} is no repository", hint="Name it as OWNER/NAME with --repo.")
    if not request.token:
        raise UsageError("there is no token to publish with", hint="Set GITHUB_TOKEN, or name another variable.")
    if not plain_branch(request.policy.prefix):
        hint = "Begin our branches with letters, digits, dots, dashes and slashes."
        raise UsageError(f"{request.policy.prefix!r} can be no branch", hint=hint)
    if request.base and not possible_branch(request.base):
        raise UsageError(f"{request.base!r} can be no branch", hint="Name a branch of the repository.")
    for address in (request.server, request.api):
        parts = urlsplit(address)
        near = parts.hostname in ("127.0.0.1", "localhost", "::1")
        if parts.scheme != "https" and not (parts.scheme == "http" and near):
            raise UsageError(f"{address} is no https address", hint="The token would travel in the open.")
