"""One repository on GitHub for one finished run: what is there, and the few changes that a plan may ask for."""

from __future__ import annotations

import urllib.parse
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from pytest_noepicycle.adapters.github import GitHub, GitHubError
from pytest_noepicycle.adapters.pushing import Clone
from pytest_noepicycle.domain.publishing import Finished, Head, Overtaken, Policy, Pull, Site, head_of, marked

_NO_DRAFTS = "This is an ordinary pull request: drafts are not to be had in this repository."


@dataclass(frozen=True, slots=True)
class Page:
    """The words for a pull request: ``body`` is asked with what there is to remark, ``note`` with a comment's kind."""

    title: str
    body: Callable[[tuple[str, ...]], str]
    note: Callable[[str], str]


@dataclass(frozen=True, slots=True)
class Wishes:
    """How the user wants a pull request; ``workflow`` is the file of one that is started on its branch."""

    draft: bool = True
    labels: tuple[str, ...] = ()
    workflow: str = ""


@dataclass(slots=True)
class GitHubForge:
    """The repository as publishing sees it. ``paths`` are the patch's, ``write`` makes its commit for an attempt.

    ``remarks`` grows by what a reader of the pull request must know of how it came about.
    """

    github: GitHub
    clone: Clone
    run: Finished
    policy: Policy
    page: Page
    wishes: Wishes
    paths: tuple[str, ...]
    write: Callable[[int], str]
    remarks: list[str] = field(default_factory=list)

    @property
    def branch(self) -> str:
        """The failure's branch."""
        return self.policy.branch(self.run)

    def look(self) -> Site:
        """Return what there is now."""
        base_head = self.github.get(self._path(f"git/ref/heads/{_quoted(self.run.base)}"))["object"]["sha"]
        moved = not self.run.green and base_head != self.run.commit
        return Site(
            base_head=base_head,
            head=self._head(self.branch),
            pulls=tuple(self._pulls()),
            on_base=not moved or self._holds(base_head),
            fits=not moved or self._fits(base_head),
            inherited=self._inherited(),
        )

    def push(self, expected: str | None, attempt: int) -> str:
        """Put the patch on the failure's branch, and start its checks."""
        commit = self.write(attempt)
        self.clone.push(commit, self.branch, expected)
        if self.wishes.workflow:
            self.remarks.append(self._started())
        return commit

    def create(self) -> Pull:
        """Open the pull request: a draft where that can be, else an ordinary one that says so."""
        wanted = {"title": self.page.title, "head": self.branch, "base": self.run.base}
        try:
            made = self._post_pull(wanted, self.wishes.draft)
        except GitHubError as error:
            if error.status == 403:
                error.hint += f" The branch {self.branch} is there: a person can open the pull request from it."
            if not self.wishes.draft or error.status != 422 or "draft" not in str(error).lower():
                raise
            self.remarks.append(_NO_DRAFTS)
            made = self._post_pull(wanted, False)
        self._label(int(made["number"]))
        return self._pull(made)

    def update(self, pull: Pull) -> Pull:
        """Give it the new title and body."""
        words = {"title": self.page.title, "body": self.page.body(tuple(self.remarks))}
        made = self.github.patch(self._path(f"pulls/{pull.number}"), words)
        if made.get("state") != "open":
            raise Overtaken(f"#{pull.number} was closed meanwhile")
        return self._pull(made)

    def comment(self, pull: Pull, kind: str) -> None:
        """Leave a comment of that kind."""
        self.github.post(self._path(f"issues/{pull.number}/comments"), {"body": self.page.note(kind)})

    def close(self, pull: Pull) -> None:
        """Close it; its branch stays."""
        self.github.patch(self._path(f"pulls/{pull.number}"), {"state": "closed"})

    def _path(self, rest: str) -> str:
        return f"/repos/{self.run.repository}/{rest}"

    def _head(self, branch: str) -> Head | None:
        found = self.github.find(self._path(f"git/ref/heads/{_quoted(branch)}"))
        if found is None:
            return None
        sha = found["object"]["sha"]
        commit = self.github.get(self._path(f"git/commits/{sha}"))
        return head_of(sha, commit["message"], commit["tree"]["sha"], commit["committer"]["email"])

    def _holds(self, base_head: str) -> bool:
        """Whether the base branch holds the commit that the run was proven at."""
        compared = self.github.find(self._path(f"compare/{self.run.commit}...{base_head}"))
        return compared is not None and compared["status"] in ("ahead", "identical")

    def _fits(self, base_head: str) -> bool:
        """Whether the files of the patch are at the base's head what they were."""
        self.clone.fetch(base_head)
        then, now = self.clone.files(self.run.commit), self.clone.files(base_head)
        return all(then.get(path) == now.get(path) for path in self.paths)

    def _inherited(self) -> Pull | None:
        """Return the open pull request that mends the same failure in the branch above, if there is one."""
        if not self.run.above:
            return None
        branch = self.policy.branch(replace(self.run, base=self.run.above))
        owner = self.run.repository.partition("/")[0]
        found = self.github.every(self._path("pulls"), head=f"{owner}:{branch}", state="open")
        return next((self._pull(made) for made in found if self._is_here(made) and made["head"]["ref"] == branch), None)

    def _pulls(self) -> list[Pull]:
        """Return ours: all of this failure's branch, newest first, and the open ones of the base's other failures."""
        owner = self.run.repository.partition("/")[0]
        own = self.github.every(self._path("pulls"), head=f"{owner}:{self.branch}", state="all")
        others = self.github.every(self._path("pulls"), base=self.run.base, state="open")
        found = [made for made in own if self._is_here(made) and made["head"]["ref"] == self.branch]
        found.sort(key=lambda made: -int(made["number"]))
        found += [m for m in others if self._is_here(m) and m["head"]["ref"] != self.branch]
        newest_closed = next((m["number"] for m in found if m["state"] == "closed"), None)
        return [self._pull(made, known=made["state"] == "open" or made["number"] == newest_closed) for made in found]

    def _is_here(self, made: Mapping[str, Any]) -> bool:
        """Whether it comes from a branch of ours in this very repository, and not from a fork."""
        home = (made["head"].get("repo") or {}).get("full_name", "")
        return home.lower() == self.run.repository.lower() and self.policy.owns(made["head"]["ref"])

    def _pull(self, made: Mapping[str, Any], *, known: bool = False) -> Pull:
        number, author = int(made["number"]), (made.get("user") or {}).get("login", "")
        is_open, merged = made["state"] == "open", bool(made.get("merged_at"))
        notes = self._notes(number, author) if known else frozenset[str]()
        gone = known and not is_open and not merged
        return Pull(
            number=number,
            branch=made["head"]["ref"],
            open=is_open,
            merged=merged,
            closed_by_us=gone and "green" in notes and self._closer(number) == author,
            head=self._head(made["head"]["ref"]) if known and is_open else None,
            notes=notes,
            url=str(made.get("html_url", "")),
        )

    def _notes(self, number: int, author: str) -> frozenset[str]:
        comments = self.github.every(self._path(f"issues/{number}/comments"))
        kinds = (marked(c.get("body") or "") for c in comments if (c.get("user") or {}).get("login") == author)
        return frozenset(kind for kind in kinds if kind is not None)

    def _closer(self, number: int) -> str:
        return str((self.github.get(self._path(f"issues/{number}")).get("closed_by") or {}).get("login", ""))

    def _post_pull(self, wanted: Mapping[str, Any], draft: bool) -> Any:
        body = self.page.body(tuple(self.remarks))
        return self.github.post(self._path("pulls"), {**wanted, "body": body, "draft": draft})

    def _label(self, number: int) -> None:
        if not self.wishes.labels:
            return
        try:
            self.github.post(self._path(f"issues/{number}/labels"), {"labels": list(self.wishes.labels)})
        except (GitHubError, Overtaken) as error:
            self.remarks.append(f"The labels could not be set: {error}")

    def _started(self) -> str:
        """Start the workflow on the branch: what a workflow's own token pushes starts none by itself."""
        name = urllib.parse.quote(self.wishes.workflow, safe="")
        try:
            self.github.post(self._path(f"actions/workflows/{name}/dispatches"), {"ref": self.branch})
        except (GitHubError, Overtaken):
            return (
                f"Checks were not started: pushes by a workflow's own token start none. Add `workflow_dispatch` to "
                f"`{self.wishes.workflow}` and `actions: write` to the job, or close and reopen this pull request."
            )
        return f"Checks were started: `{self.wishes.workflow}` runs on this branch."


def _quoted(name: str) -> str:
    return urllib.parse.quote(name, safe="/")
