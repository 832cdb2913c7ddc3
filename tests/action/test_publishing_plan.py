"""What is to be done with a finished run: each rule as a row, then random histories against a model of GitHub."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
from action.hub import Hub, HubForge

from pytest_noepicycle.domain.publishing import (
    IDENTITY,
    Finished,
    Head,
    Policy,
    Pull,
    Site,
    head_of,
    marked,
    marker,
    plain_branch,
    plan,
    possible_branch,
    trailers,
)
from pytest_noepicycle.settling import settle

RUN = Finished("acme/w", "main", "c1", "f1", digest="d1", fixed=2, targets=2, proven=True, stop="solved")
POLICY = Policy()
BRANCH = POLICY.branch(RUN)
OTHER = POLICY.branch(replace(RUN, failure="f2"))
OURS = Head("h1", True, "c1", "d0", 1)
FOREIGN = Head("h2")
OPEN = Pull(7, BRANCH, head=OURS)
GREEN = replace(RUN, green=True, digest="", fixed=0, proven=False, stop="nothing_to_fix")


@pytest.mark.parametrize(
    ("run", "site", "operation", "reason"),
    [
        (RUN, Site("c1"), "created", "no pull request for this failure yet"),
        (RUN, Site("c1", OURS, (OPEN,)), "updated", "gets the newer patch"),
        (RUN, Site("c1", replace(OURS, digest="d1"), (OPEN,)), "none", "exactly this patch already"),
        (RUN, Site("c1", replace(OURS, attempt=3), (OPEN,)), "none", "3 patches were published"),
        (RUN, Site("c1", replace(OURS, commit="c0", attempt=3), (OPEN,)), "updated", "newer patch"),
        (RUN, Site("c1", FOREIGN, (OPEN,)), "none", "a person's commit"),
        (RUN, Site("c1", FOREIGN), "none", "not ours"),
        (RUN, Site("c1", OURS), "created", "no pull request"),
        (RUN, Site("c1", OURS, (replace(OPEN, open=False),)), "none", "closed by a person"),
        (RUN, Site("c1", OURS, (replace(OPEN, open=False, closed_by_us=True),)), "created", "failure is back"),
        (RUN, Site("c1", None, (replace(OPEN, open=False, merged=True),)), "created", "failure is back"),
        (RUN, Site("c2", None, (replace(OPEN, open=False, merged=True),)), "none", "was merged after"),
        (RUN, Site("c1", None, (Pull(3, OTHER, head=OURS),)), "none", "#3 is open for another failure"),
        (RUN, Site("c1", None, (Pull(3, OTHER, open=False),)), "created", "no pull request"),
        (RUN, Site("c2"), "created", "no pull request"),
        (RUN, Site("c2", fits=False), "none", "changed the same files"),
        (RUN, Site("c2", on_base=False), "none", "merge commit"),
        (replace(RUN, proven=False), Site("c1"), "none", "not proven"),
        (replace(RUN, digest="", fixed=0, stop="plateau"), Site("c1"), "none", "gained nothing (plateau)"),
        (replace(RUN, fixed=1), Site("c1"), "created", "no pull request"),
        (replace(RUN, base=BRANCH), Site("c1"), "none", "circles"),
        (GREEN, Site("c1"), "none", "no pull request of ours is open"),
        (GREEN, Site("c1", None, (OPEN,)), "closed", "passes again"),
        (GREEN, Site("c2", None, (OPEN,)), "none", "moved on"),
        (GREEN, Site("c1", None, (replace(OPEN, head=FOREIGN),)), "none", "person's hands"),
        (GREEN, Site("c1", None, (replace(OPEN, notes=frozenset({"green"})),)), "none", "person's hands"),
    ],
)
def test_each_situation_has_one_operation_and_its_reason(run, site, operation, reason):
    """The operation and the reason for each state of branch, base and pull requests."""
    chosen = plan(run, site, POLICY)
    assert chosen.operation == operation
    assert reason in chosen.reason


def test_only_complete_fixes_where_that_is_asked_for():
    """``publish: solved`` turns partial gains off, and says so."""
    chosen = plan(replace(RUN, fixed=1), Site("c1"), Policy(partial=False))
    assert chosen.operation == "none"
    assert "1 of 2" in chosen.reason


def test_a_push_names_what_it_may_replace():
    """A push is held to the branch's head as it was looked at; a new branch must not exist."""
    assert plan(RUN, Site("c1", OURS, (OPEN,)), POLICY).expected == OURS.sha
    assert plan(RUN, Site("c1"), POLICY).expected is None
    assert plan(RUN, Site("c1", OURS), POLICY).expected == OURS.sha


def test_a_person_hears_of_each_patch_once():
    """A branch in a person's hands gets one comment for each patch, and no second one for the same."""
    first = plan(RUN, Site("c1", FOREIGN, (replace(OPEN, head=FOREIGN),)), POLICY)
    assert first.notes == {7: "beside-d1"}
    told = replace(OPEN, head=FOREIGN, notes=frozenset({"beside-d1"}))
    assert plan(RUN, Site("c1", FOREIGN, (told,)), POLICY).notes == {}


def test_the_fingerprint_names_repository_branch_and_failure():
    """Three parts, each of which makes another name; the commit and the patch do not."""
    others = [replace(RUN, repository="acme/x"), replace(RUN, base="dev"), replace(RUN, failure="f2")]
    assert len({run.fingerprint for run in [RUN, *others]}) == 4
    assert replace(RUN, commit="c9", digest="d9", repository="ACME/W").fingerprint == RUN.fingerprint
    assert POLICY.owns(BRANCH)
    assert not POLICY.owns("noepi/fix-by-hand")
    assert not POLICY.owns("main")


@pytest.mark.parametrize(
    ("change", "ours"),
    [
        ({}, True),
        ({"tree": "t2"}, False),
        ({"email": "ann@example.org"}, False),
        ({"message": "A commit of somebody else"}, False),
    ],
)
def test_our_commit_is_known_by_committer_trailers_and_tree_together(change, ours):
    """An amended commit, a commit of a person and one of another bot are none of ours."""
    facts = {"message": "Fix\n\n" + trailers(RUN, "t1", 2), "tree": "t1", "email": IDENTITY[1], **change}
    head = head_of("s", **facts)
    assert head.ours is ours
    assert head == (Head("s", True, "c1", "d1", 2) if ours else Head("s"))


def test_a_note_is_known_again():
    """The marker is read back; other comments carry none."""
    assert marked("Hello\n" + marker("beside-0a1b")) == "beside-0a1b"
    assert marked("<!-- something else -->") is None


@pytest.mark.parametrize(
    ("name", "plain"),
    [("main", True), ("noepi/fix", True), ("-f", False), ("a..b", False), ("a b", False), ("a/", False)],
)
def test_names_that_can_be_branches(name, plain):
    """What a tool could read as an option or a range is no name for a branch; people's may have more in them."""
    assert plain_branch(name) is plain
    assert possible_branch(name) is plain
    assert possible_branch(f"feature/#1-ä@x{name}") is (plain or name == "-f")


class History:
    """One random history: people push, commit, close, open again and merge; runs come in, also two at once."""

    def __init__(self, seed: int) -> None:
        self.dice = random.Random(seed)
        self.hub = Hub()
        self.hub.commit("main", "ann", None)
        self.told: list[str] = []
        self.log: list[str] = []

    def step(self) -> None:
        """Let one thing happen."""
        what = self.dice.choice(
            ["run", "run", "run", "two", "push", "person", "close", "reopen", "merge", "green", "again"]
        )
        self.log.append(what)
        getattr(self, what)()

    def run(self, old: bool = False) -> None:
        """A run ends: for one of two failures, complete or partial, at the head or at an older commit."""
        main = [c.sha for c in self.hub.commits.values() if c.sha in self._main()]
        commit = self.dice.choice(main) if old else self.hub.branches["main"]
        failure, digest = self.dice.choice(["f1", "f2"]), self.dice.choice(["d1", "d2", "d3"])
        fixed, proven = self.dice.choice([0, 1, 2, 2]), self.dice.random() < 0.9
        last = Finished("acme/w", "main", commit, failure, digest, fixed, 2, proven, stop="solved")
        self.last = last
        self._settle(last)

    def again(self) -> None:
        """The same run is published once more, or an old one comes late."""
        if hasattr(self, "last"):
            self._settle(self.last)
        self.run(old=True)

    def two(self) -> None:
        """Two runs at once: the second does all of its work between two steps of the first."""
        self.hub.between = self.run
        self.run()
        self.hub.between = None

    def push(self) -> None:
        """The base moves on."""
        self.hub.commit("main", "ann", self.hub.branches["main"])

    def person(self) -> None:
        """A person commits to a branch of ours."""
        ours = [b for b in self.hub.branches if b != "main"]
        if ours:
            branch = self.dice.choice(ours)
            self.hub.commit(branch, "ann", self.hub.branches[branch])

    def close(self) -> None:
        """A person closes a pull request."""
        for request in self._some(open=True):
            request.open, request.closed_by = False, "ann"

    def reopen(self) -> None:
        """A person opens one again, as GitHub allows it: not beside another open one of the branch."""
        for request in self._some(open=False):
            busy = any(r.open and r.branch == request.branch for r in self.hub.requests)
            if not request.merged and not busy:
                request.open = True

    def merge(self) -> None:
        """A person merges; the base holds the branch's commits then."""
        for request in self._some(open=True):
            request.open, request.merged, request.closed_by = False, True, "ann"
            self.hub.commit("main", "ann", self.hub.branches["main"])

    def green(self) -> None:
        """A run finds nothing that fails."""
        self._settle(Finished("acme/w", "main", self.hub.branches["main"], "", green=True, stop="nothing_to_fix"))

    def check(self) -> None:
        """What must hold after every step."""
        busy = [r.branch for r in self.hub.requests if r.open]
        assert len(busy) == len(set(busy)), self.log
        people = {c.sha for c in self.hub.commits.values() if c.by == "ann"}
        assert people <= self.hub.held(), self.log
        assert all(self.told), self.log
        repeated = [n for r in self.hub.requests for n in set(r.notes) if r.notes.count(n) > 1]
        assert not repeated or "two" in self.log, self.log  # two runs at once may say the same

    def _settle(self, run: Finished) -> None:
        before = {r.number: r.open for r in self.hub.requests if r.closed_by == "ann"}
        done = settle(run, POLICY, HubForge(self.hub, run, POLICY))
        self.told.append(done.reason)
        closed = [r for r in self.hub.requests if before.get(r.number) is False and r.open]
        assert not closed, f"opened again what a person had closed: {self.log}"

    def _some(self, **state: bool):
        fitting = [r for r in self.hub.requests if r.open is state["open"]]
        return [self.dice.choice(fitting)] if fitting else []

    def _main(self) -> set[str]:
        found, at = set(), self.hub.branches["main"]
        while at is not None:
            found.add(at)
            at = self.hub.commits[at].parent
        return found


def test_two_hundred_random_histories_lose_nothing_and_explain_everything():
    """At most one open pull request per failure, no person's commit lost, no run without a reason."""
    operations: set[str] = set()
    for seed in range(200):
        history = History(seed)
        for _ in range(25):
            history.step()
            history.check()
        operations |= {r.closed_by for r in history.hub.requests}
    assert operations >= {"", "ann", "noepi"}
