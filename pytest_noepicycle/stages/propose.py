"""Proposals on their way to the sandbox: judged by the guard, none tried twice."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import PurePath

from pytest_noepicycle.domain.guard import Refusal, Territory, judge
from pytest_noepicycle.domain.patch import Patch, Proposal
from pytest_noepicycle.domain.session import Session
from pytest_noepicycle.domain.settings import Settings


def territory(
    session: Session,
    settings: Settings,
    files: frozenset[str],
    links: frozenset[str],
    forbidden: Callable[[str], bool],
) -> Territory:
    """Return what the guard is to know of a tree; ``forbidden`` asks the project's own hooks."""
    ini = PurePath(session.inipath) if session.inipath else None
    steering = {ini.relative_to(session.tree).as_posix()} if ini and ini.is_relative_to(session.tree) else set()
    closed = [path for path in sorted(files) if path.endswith(".py") and forbidden(path)]
    return Territory(
        files=files,
        links=links,
        python_files=session.python_files,
        configuration=frozenset(steering),
        taken=session.interpreter.top_level,
        editable=settings.editable,
        protect=(*settings.protect, *closed),
        product=settings.product,
    )


@dataclass(slots=True)
class Gate:
    """Lets through what may be tried; ``seen`` are digests of patches that were judged in a trial."""

    territory: Territory
    seen: set[str] = field(default_factory=set)
    refused: list[tuple[Proposal, tuple[Refusal, ...]]] = field(default_factory=list)

    def admit(self, proposals: Iterable[Proposal]) -> Iterator[Proposal]:
        """Yield the proposals that the guard lets through, each patch once and none that was judged before."""
        offered = {Patch().digest}
        for proposal in proposals:
            if proposal.patch.digest in offered | self.seen:
                continue
            offered.add(proposal.patch.digest)
            refusals = judge(proposal.patch, self.territory)
            if refusals:
                self.refused.append((proposal, refusals))
                continue
            yield proposal
