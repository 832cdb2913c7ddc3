"""Look at GitHub, plan, do; and again where somebody else was quicker."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Protocol

from pytest_noepicycle.domain.publishing import Finished, Operation, Overtaken, Plan, Policy, Pull, Site, plan

LOOKS = 4  # at GitHub, where somebody else was quicker each time


class Forge(Protocol):
    """GitHub with one repository, for one finished run. A change that comes too late raises :class:`Overtaken`."""

    def look(self) -> Site:
        """Return what there is now."""
        ...

    def push(self, expected: str | None, attempt: int) -> str:
        """Put the patch on the failure's branch, whose head is still ``expected``, and return the new commit."""
        ...

    def create(self) -> Pull:
        """Open the pull request."""
        ...

    def update(self, pull: Pull) -> Pull:
        """Give an open pull request the new title and body."""
        ...

    def comment(self, pull: Pull, kind: str) -> None:
        """Leave a comment of that kind."""
        ...

    def close(self, pull: Pull) -> None:
        """Close a pull request; its branch stays."""
        ...


@dataclass(frozen=True, slots=True)
class Published:
    """What became of it: ``head_sha`` is the branch's commit where one was pushed; ``reason`` is never empty."""

    operation: Operation
    reason: str
    branch: str = ""
    number: int | None = None
    url: str = ""
    head_sha: str = ""
    notes: tuple[str, ...] = ()


def settle(run: Finished, policy: Policy, forge: Forge) -> Published:
    """Look, plan and do, again where somebody else was quicker; the same run a second time changes nothing."""
    overtaken = ""
    for _ in range(LOOKS):
        try:
            chosen = plan(run, forge.look(), policy)
            return replace(_carry_out(chosen, forge), branch=policy.branch(run))
        except Overtaken as error:
            overtaken = str(error)
    reason = f"GitHub changed {LOOKS} times while it was looked at ({overtaken}); the next run tries again"
    return Published(Operation.NONE, reason, branch=policy.branch(run))


def _carry_out(chosen: Plan, forge: Forge) -> Published:
    for pull in (*chosen.close, *([chosen.pull] if chosen.pull else [])):
        if pull.number in chosen.notes:
            forge.comment(pull, chosen.notes[pull.number])
            chosen = replace(chosen, notes={n: kind for n, kind in chosen.notes.items() if n != pull.number})
    for pull in chosen.close:
        forge.close(pull)
    sha = forge.push(chosen.expected, chosen.attempt) if chosen.push else ""
    shown = chosen.pull
    if chosen.push:
        shown = forge.update(chosen.pull) if chosen.pull else forge.create()
    number, url = (shown.number, shown.url) if shown else (None, "")
    return Published(chosen.operation, chosen.reason, number=number, url=url, head_sha=sha)
