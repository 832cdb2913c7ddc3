"""What to do with a finished run on GitHub: one pull request per failure, nobody's commits lost, always a reason."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from pytest_noepicycle.errors import NoepiError

# Whom GitHub shows as the author where a workflow commits; others commit under it too, so that it proves nothing.
IDENTITY = "github-actions[bot]", "41898282+github-actions[bot]@users.noreply.github.com"
_NOTE = re.compile(r"<!-- noepi:note ([\w-]+) -->")
_TRAILER = re.compile(r"^Noepi-([A-Z][a-z]+): (\S+)$", re.MULTILINE)
_PLAIN_BRANCH = re.compile(r"(?!.*(?:\.\.|//|@\{|\.lock$|/$|\.$))[A-Za-z0-9][A-Za-z0-9._/-]{0,99}")
_NO_BRANCH = re.compile(r"[\x00-\x20\x7f~^:?*\[\\]|\.\.|//|@\{|^/|/$|\.$|\.lock$")
_NAME_LENGTH = 12


class Overtaken(NoepiError):
    """GitHub is not as it was looked at a moment ago: somebody else was quicker, or an answer got lost. Look again."""


class Operation(StrEnum):
    """What became of the pull request."""

    CREATED = "created"
    UPDATED = "updated"
    CLOSED = "closed"
    NONE = "none"


@dataclass(frozen=True, slots=True)
class Finished:
    """A finished run as far as publishing asks: ``commit`` is where it was proven, ``digest`` names the patch's bytes.

    ``green`` means that no test failed at all; ``stop`` is the run's stop reason. ``above`` is the branch that ``base``
    itself is to be merged into, where it belongs to a pull request.
    """

    repository: str
    base: str
    commit: str
    failure: str
    digest: str = ""
    fixed: int = 0
    targets: int = 0
    proven: bool = False
    green: bool = False
    stop: str = ""
    above: str = ""

    @property
    def fingerprint(self) -> str:
        """Return the name of this failure of this branch: the same failure has the same name in every run."""
        parts = "\n".join((self.repository.lower(), self.base, self.failure))
        return hashlib.sha256(parts.encode()).hexdigest()[:_NAME_LENGTH]

    @property
    def complete(self) -> bool:
        """Whether every target is mended."""
        return self.fixed >= self.targets > 0


@dataclass(frozen=True, slots=True)
class Policy:
    """What the user wants: branches begin with ``prefix``; ``partial`` gains are published too.

    At most ``most_open`` pull requests stand open for a base branch, and a commit is attempted ``attempts`` times.
    """

    prefix: str = "noepi/fix"
    partial: bool = True
    most_open: int = 1
    attempts: int = 3

    def branch(self, run: Finished) -> str:
        """Return the branch of a run's failure."""
        return f"{self.prefix}-{run.fingerprint}"

    def owns(self, branch: str) -> bool:
        """Whether a branch is one of ours, by its name."""
        rest = branch.removeprefix(f"{self.prefix}-")
        return rest != branch and re.fullmatch(rf"[0-9a-f]{{{_NAME_LENGTH}}}", rest) is not None


@dataclass(frozen=True, slots=True)
class Head:
    """The newest commit of a branch. ``ours`` means that nobody has added to it or changed it since we made it."""

    sha: str
    ours: bool = False
    commit: str = ""
    digest: str = ""
    attempt: int = 0


@dataclass(frozen=True, slots=True)
class Pull:
    """A pull request from a branch of ours. ``notes`` are the kinds of comments that we have left on it."""

    number: int
    branch: str
    open: bool = True
    merged: bool = False
    closed_by_us: bool = False
    head: Head | None = None
    notes: frozenset[str] = frozenset()
    url: str = ""

    @property
    def in_hands(self) -> bool:
        """Whether a person has taken it over: by a commit, or by opening again what we had closed."""
        return self.head is not None and (not self.head.ours or "green" in self.notes)


@dataclass(frozen=True, slots=True)
class Site:
    """GitHub as it was looked at: the base branch's head, the failure's branch, our pull requests, newest first.

    ``on_base`` says whether the run's commit belongs to the base branch, ``fits`` whether the files of the patch are
    at the base's head still what the patch was made for. ``inherited`` mends the same failure in the branch above.
    """

    base_head: str
    head: Head | None = None
    pulls: tuple[Pull, ...] = ()
    on_base: bool = True
    fits: bool = True
    inherited: Pull | None = None


@dataclass(frozen=True, slots=True)
class Plan:
    """What to do, and why. ``expected`` is the branch's head that a push may replace, None where it must be new.

    ``notes`` maps the number of a pull request to the kind of comment that it gets.
    """

    operation: Operation
    reason: str
    push: bool = False
    expected: str | None = None
    pull: Pull | None = None
    close: tuple[Pull, ...] = ()
    notes: Mapping[int, str] = field(default_factory=dict)
    attempt: int = 1


def plan(run: Finished, site: Site, policy: Policy) -> Plan:
    """Return what is to be done. Every plan has a reason, and none of them takes a commit of a person away."""
    if policy.owns(run.base):
        return _nothing(f"{run.base} is a branch of ours: a repair of a repair would go in circles")
    if run.green:
        return _green(run, site)
    return _unpublishable(run, site, policy) or _published(run, site, policy)


def _nothing(reason: str, **more: object) -> Plan:
    return Plan(Operation.NONE, reason, **more)  # type: ignore[arg-type]


def _green(run: Finished, site: Site) -> Plan:
    """Close what the base branch no longer needs; what a person has taken over only hears of it."""
    waiting = [pull for pull in site.pulls if pull.open]
    if not waiting:
        return _nothing("every test passes, and no pull request of ours is open")
    if run.commit != site.base_head:
        return _nothing(f"every test passes at {run.commit[:9]}, but {run.base} has moved on since")
    close = tuple(pull for pull in waiting if not pull.in_hands)
    notes = {pull.number: "green" for pull in waiting if "green" not in pull.notes}
    if close:
        return Plan(Operation.CLOSED, f"every test of {run.base} passes again", pull=close[0], close=close, notes=notes)
    return _nothing("every test passes; the open pull request is in a person's hands", notes=notes, pull=waiting[0])


def _unpublishable(run: Finished, site: Site, policy: Policy) -> Plan | None:
    """Return the reason against any pull request for this run, or None."""
    if not run.digest or not run.fixed:
        return _nothing(f"the run gained nothing ({run.stop})")
    if not run.proven:
        return _nothing("the patch was not proven by a cold run")
    if not run.complete and not policy.partial:
        return _nothing(f"{run.fixed} of {run.targets} mended, and only complete fixes are to be published")
    if site.inherited is not None:
        return _nothing(f"the failure is inherited from {run.above}, where #{site.inherited.number} mends it")
    if not site.on_base:
        where = f"{run.commit[:9]} is not a commit of {run.base}"
        return _nothing(f"{where}: on a pull request, check out its head instead of the merge commit")
    if not site.fits:
        return _nothing(f"{run.base} has changed the same files since {run.commit[:9]}: the next run looks again")
    return None


def _published(run: Finished, site: Site, policy: Policy) -> Plan:
    branch = policy.branch(run)
    own = [pull for pull in site.pulls if pull.branch == branch]
    current = next((pull for pull in own if pull.open), None)
    if current is not None:
        return _refreshed(run, site, current, policy)
    last = own[0] if own else None
    if last is not None and not last.merged and not last.closed_by_us:
        return _nothing(f"#{last.number} for this failure was closed by a person and stays closed", pull=last)
    if last is not None and last.merged and run.commit != site.base_head:
        return _nothing(f"#{last.number} was merged after the commit that this run looked at", pull=last)
    others = [pull for pull in site.pulls if pull.open]
    if len(others) >= policy.most_open:
        return _nothing(f"#{others[0].number} is open for another failure of {run.base}: merge or close it first")
    if site.head is not None and not site.head.ours:
        return _nothing(f"the branch {branch} holds a commit that is not ours; it is left as it is")
    again = "the failure is back" if last else "no pull request for this failure yet"
    expected = site.head.sha if site.head else None
    return Plan(Operation.CREATED, again, push=True, expected=expected)


def _refreshed(run: Finished, site: Site, pull: Pull, policy: Policy) -> Plan:
    """Update the open pull request of the same failure, unless a person works on it or it says all this already."""
    head = site.head
    if head is None or not head.ours:
        note = f"beside-{run.digest}"
        notes = {} if note in pull.notes else {pull.number: note}
        return _nothing(f"#{pull.number} holds a person's commit; it gets a comment at most", pull=pull, notes=notes)
    if head.commit == run.commit and head.digest == run.digest:
        return _nothing(f"#{pull.number} holds exactly this patch already", pull=pull)
    attempt = head.attempt + 1 if head.commit == run.commit else 1
    if attempt > policy.attempts:
        return _nothing(f"{policy.attempts} patches were published for {run.commit[:9]}; no more for it", pull=pull)
    why = f"#{pull.number} gets the newer patch"
    return Plan(Operation.UPDATED, why, push=True, expected=head.sha, pull=pull, attempt=attempt)


def trailers(run: Finished, tree: str, attempt: int) -> str:
    """Return the lines at the end of our commit's message, by which it is known again."""
    facts = {
        "Fingerprint": run.fingerprint,
        "Commit": run.commit,
        "Patch": run.digest,
        "Attempt": str(attempt),
        "Tree": tree,
    }
    return "\n".join(f"Noepi-{name}: {value}" for name, value in facts.items())


def head_of(sha: str, message: str, tree: str, email: str) -> Head:
    """Return a commit as the head of a branch: ours only where committer, trailers and tree say so together."""
    facts = dict(_TRAILER.findall(message))
    ours = email == IDENTITY[1] and facts.get("Tree") == tree and "Fingerprint" in facts
    if not ours:
        return Head(sha)
    attempt = facts.get("Attempt", "1")
    return Head(sha, True, facts.get("Commit", ""), facts.get("Patch", ""), int(attempt) if attempt.isdigit() else 1)


def plain_branch(name: str) -> bool:
    """Whether a name can be a branch of ours: one that no tool reads as anything else."""
    return _PLAIN_BRANCH.fullmatch(name) is not None


def possible_branch(name: str) -> bool:
    """Whether git lets anybody's branch have that name."""
    return not name.startswith("-") and _NO_BRANCH.search(name) is None and name != ""


def marker(kind: str) -> str:
    """Return the line by which a comment of ours is known again; nobody sees it."""
    return f"<!-- noepi:note {kind} -->"


def marked(text: str) -> str | None:
    """Return the kind of a comment of ours, None for any other."""
    found = _NOTE.search(text)
    return found[1] if found else None
