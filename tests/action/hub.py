"""A small model of GitHub: branches, pull requests and comments, with other people and other runs at work in it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from pytest_noepicycle.domain.publishing import Finished, Head, Overtaken, Policy, Pull, Site


@dataclass
class Commit:
    """One commit: by whom, and for ours on which base commit, with which patch."""

    sha: str
    by: str
    parent: str | None
    head: Head


@dataclass
class Request:
    """A pull request; ``closed_by`` is who closed it last."""

    number: int
    branch: str
    base: str
    open: bool = True
    merged: bool = False
    closed_by: str = ""
    notes: list[str] = field(default_factory=list)


@dataclass
class Hub:
    """The repository. ``lost`` collects commits of people that no branch holds any more."""

    commits: dict[str, Commit] = field(default_factory=dict)
    branches: dict[str, str] = field(default_factory=dict)
    requests: list[Request] = field(default_factory=list)
    between: Callable[[], None] | None = None  # happens once, between a look and the first change after it

    def commit(self, branch: str, by: str, parent: str | None, head: Head | None = None) -> str:
        """Put a new commit on a branch and return its name."""
        sha = f"{len(self.commits):04x}"
        self.commits[sha] = Commit(sha, by, parent, head or Head(sha))
        self.branches[branch] = sha
        return sha

    def held(self) -> set[str]:
        """Return the commits that some branch holds."""
        found: set[str] = set()
        for sha in self.branches.values():
            at: str | None = sha
            while at is not None and at not in found:
                found.add(at)
                at = self.commits[at].parent
        return found

    def interrupt(self) -> None:
        """Let what was put between happen now, once."""
        then, self.between = self.between, None
        if then is not None:
            then()


@dataclass
class HubForge:
    """The hub as publishing sees it, for one run."""

    hub: Hub
    run: Finished
    policy: Policy

    @property
    def branch(self) -> str:
        """The failure's branch."""
        return self.policy.branch(self.run)

    def look(self) -> Site:
        """Return what there is now; then others may act."""
        hub = self.hub
        site = Site(
            base_head=hub.branches[self.run.base],
            head=self._head(self.branch),
            pulls=tuple(self._pull(r) for r in reversed(hub.requests) if r.base == self.run.base),
            on_base=self.run.commit in self._ancestors(hub.branches[self.run.base]),
        )
        hub.interrupt()
        return site

    def push(self, expected: str | None, attempt: int) -> str:
        """Replace the branch where it is as expected."""
        if self.hub.branches.get(self.branch) != expected:
            raise Overtaken("the branch moved")
        made = self.hub.commit(self.branch, "noepi", self.run.commit)
        head = Head(made, True, self.run.commit, self.run.digest, attempt)
        self.hub.commits[made].head = head
        self.hub.interrupt()
        return made

    def create(self) -> Pull:
        """Open a pull request, as GitHub does: one for each branch and base."""
        if any(r.open and r.branch == self.branch and r.base == self.run.base for r in self.hub.requests):
            raise Overtaken("a pull request already exists")
        self.hub.requests.append(Request(len(self.hub.requests) + 1, self.branch, self.run.base))
        return self._pull(self.hub.requests[-1])

    def update(self, pull: Pull) -> Pull:
        """Change title and body: nothing that the model holds."""
        if not self._request(pull).open:
            raise Overtaken("the pull request was closed")
        return pull

    def comment(self, pull: Pull, kind: str) -> None:
        """Remember the comment."""
        self._request(pull).notes.append(kind)

    def close(self, pull: Pull) -> None:
        """Close it."""
        request = self._request(pull)
        if request.open:
            request.open, request.closed_by = False, "noepi"

    def _request(self, pull: Pull) -> Request:
        return self.hub.requests[pull.number - 1]

    def _head(self, branch: str) -> Head | None:
        sha = self.hub.branches.get(branch)
        return self.hub.commits[sha].head if sha else None

    def _pull(self, request: Request) -> Pull:
        ours = request.closed_by == "noepi" and "green" in request.notes
        notes = frozenset(request.notes)
        head = self._head(request.branch)
        return Pull(request.number, request.branch, request.open, request.merged, ours, head, notes)

    def _ancestors(self, sha: str | None) -> set[str]:
        found = set()
        while sha is not None:
            found.add(sha)
            sha = self.hub.commits[sha].parent
        return found
