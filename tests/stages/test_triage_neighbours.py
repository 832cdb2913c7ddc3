"""Neighbours: which tests another one fails or passes together with, in a world where state is a set of names."""

from __future__ import annotations

import pytest

from pytest_noepicycle.domain.failure import Failure, Frame
from pytest_noepicycle.domain.run import Finding
from pytest_noepicycle.domain.trial import End, Outcome, Report, Status, Trial
from pytest_noepicycle.stages.left_behind import leaves_something
from pytest_noepicycle.stages.neighbours import Company, Orders, by_neighbours
from pytest_noepicycle.stages.running import Clocks
from pytest_noepicycle.stages.scene import Surroundings
from pytest_noepicycle.stages.triage import Triage

NAMES = [f"t.py::test_{number}" for number in range(12)]
VICTIM = "t.py::test_victim"
ALL = (*NAMES, VICTIM)
CALLS = b"".join(b"def test_%d(): f()\n" % number for number in range(12)) + b"def test_victim(): f()\n"
CHANGES = CALLS.replace(b"f()", b"m.STATE = 1")


class Chain:
    """Tests of which the victim passes or fails by which others ran before it; ``trials`` are counted."""

    def __init__(self, needed: set[str], *, fails: bool) -> None:
        self.needed, self.fails, self.trials = needed, fails, 0

    def run(self, trial: Trial) -> Report:
        """Run the tests in the order that was asked for."""
        self.trials += 1
        ids = trial.ids if trial.ids is not None else ALL
        return Report({test: self._outcome(test, ids) for test in ids}, End.COMPLETE, collected=ALL)

    def _outcome(self, test: str, ids: tuple[str, ...]) -> Outcome:
        met = self.needed <= set(ids[: ids.index(test)])
        failed = test == VICTIM and met is self.fails
        return Outcome(test, Status.FAILED, failure=failure()) if failed else Outcome(test, Status.PASSED)


def failure() -> Failure:
    """Return the victim's failure."""
    return Failure(VICTIM, "call", "AssertionError", "no", (Frame("t.py", 1, "test_victim"),))


def sorted_by(chain: Chain, start: Triage, source: bytes, whole: tuple[str, ...] = ALL, runs: int = 32) -> Triage:
    """Return what comes of a triage in that world, whose whole suite runs in the order ``whole``."""
    report = chain.run(Trial((), whole, Clocks().limits((), 9)))  # type: ignore[arg-type]
    company = Company(chain.run, Clocks(), 9.0, lambda: False, runs)
    around = Surroundings(files=frozenset({"t.py"}), read={"t.py": source}.get)
    return by_neighbours(start, Orders((), whole, report.outcomes), company, around)


ABSENT = Triage((), (), absent=(VICTIM,))


@pytest.mark.parametrize("culprits", [{NAMES[0]}, {NAMES[11]}, {NAMES[2], NAMES[9]}])
def test_a_test_that_others_spoil_is_told_by_whom(culprits):
    """One culprit or a pair of them is found among all that ran before, in few runs."""
    chain = Chain(culprits, fails=True)
    done = sorted_by(chain, ABSENT, CHANGES)
    assert [(f.kind, set(f.others)) for f in done.findings] == [("order-dependent", culprits)]
    assert all(test in done.findings[0].hint for test in culprits)
    assert chain.trials <= 32


def test_state_that_only_the_code_can_have_kept_is_the_codes():
    """The test before does nothing but call it: that is a fault of the code, not of the tests."""
    done = sorted_by(Chain({NAMES[3]}, fails=True), ABSENT, CALLS)
    assert [(f.kind, f.others) for f in done.findings] == [("shared-state", (NAMES[3],))]


@pytest.mark.parametrize(("source", "real"), [(CHANGES, False), (CALLS, True)])
def test_a_test_that_needs_another_is_real_where_that_one_only_calls_the_code(source, real):
    """Where another test sets up its state by hand it depends on it; else the code fails when it is called first."""
    done = sorted_by(Chain({NAMES[5]}, fails=False), Triage((failure(),), ()), source)
    assert bool(done.real) is real
    assert [(f.kind, f.others) for f in done.findings] == ([] if real else [("order-dependent", (NAMES[5],))])


def test_what_fails_in_any_company_stays_real():
    """Nothing before it explains it."""
    chain = Chain({"nobody"}, fails=False)
    assert sorted_by(chain, Triage((failure(),), ()), CHANGES).real == (failure(),)


@pytest.mark.parametrize(
    ("source", "kind"), [(CALLS, "unreproduced"), (b"import random\n" + CALLS, "flaky")], ids=["nothing", "random"]
)
def test_what_never_fails_again_is_called_flaky_only_where_chance_is_seen(source, kind):
    """It failed outside and never inside: without a sign of chance, all that is known is that the two differ."""
    done = sorted_by(Chain({"nobody"}, fails=True), ABSENT, source)
    assert [finding.kind for finding in done.findings] == [kind]


def test_a_failure_of_the_whole_suite_by_chance_is_seen_to_pass_in_the_same_order():
    """It failed once among all others; run again among the very same it passes, and its code draws on chance."""
    chain = Chain({"nobody"}, fails=True)
    outcomes = {VICTIM: Outcome(VICTIM, Status.FAILED, failure=failure())}
    company = Company(chain.run, Clocks(), 9.0, lambda: False)
    around = Surroundings(files=frozenset({"t.py"}), read={"t.py": b"import random\n" + CALLS}.get)
    done = by_neighbours(ABSENT, Orders((), ALL, outcomes), company, around)
    assert [finding.kind for finding in done.findings] == ["flaky"]


def test_without_runs_it_is_said_that_the_culprit_was_not_found():
    """Time is bounded; the kind is known from the whole suite all the same."""
    done = sorted_by(Chain({NAMES[3]}, fails=True), ABSENT, CHANGES, runs=0)
    assert [(f.kind, f.others) for f in done.findings] == [("order-dependent", ())]


@pytest.mark.parametrize(("fails", "real"), [(True, False), (False, True)])
def test_what_the_order_of_failing_tests_sways_is_tried_alone(fails, real):
    """Failing alone it is real; passing alone it is spoilt by one before it."""
    guess = Finding(VICTIM, "order-dependent", "by the order")
    start = Triage((), (guess,), swayed=(failure(),))
    chain = Chain({NAMES[1]} if fails else {"nobody"}, fails=fails)
    done = sorted_by(chain, start, CHANGES)
    assert bool(done.real) is real
    assert [f.others for f in done.findings] == ([] if real else [(NAMES[1],)])


@pytest.mark.parametrize(
    ("body", "leaves"),
    [
        ("shop.DEBUG = True", True),
        ("os.environ['X'] = '1'", True),
        ("os.environ.pop('X', None)", True),
        ("del shop.CACHE['x']", True),
        ("global n; n = 1", True),
        ("os.chdir('/')", True),
        ("shop.ITEMS.append(1)", True),
        ("SEEN.append(1)", True),
        ("dirty()", True),
        ("Path('x').write_text('1')", True),
        ("open('x', 'w').write('1')", True),
        ("open('x').read()", False),
        ("(monkeypatch / 'x').write_text('1')", False),
        ("mine = shop.Cart(); mine.add(1); mine.size = 2", False),
        ("shop.add(1)", False),
        ("assert shop.total([1]) == 1", False),
        ("monkeypatch.setattr(shop, 'DEBUG', True)", False),
    ],
)
def test_what_a_test_leaves_behind_is_read_from_its_source(body, leaves):
    """What it changes of things that are not its own; what pytest undoes does not count."""
    source = f"import os, shop\nSEEN = []\ndef dirty():\n    shop.X = 1\ndef test_a(monkeypatch):\n    {body}\n"
    assert leaves_something("t.py::test_a", {"t.py": source.encode()}.get) is leaves


def test_fixtures_and_setup_count_as_the_tests_own():
    """What is set up around a test is part of what it leaves behind; an unknown test may leave anything."""
    conftest = b"import pytest, shop\n@pytest.fixture(autouse=True)\ndef around():\n    shop.X = 1\n"
    files = {"a/test_t.py": b"def test_a(): pass\n", "a/conftest.py": conftest, "test_u.py": b"def test_a(): pass\n"}
    found = {
        test: leaves_something(test, files.get) for test in ("a/test_t.py::test_a", "test_u.py::test_a", "gone::x")
    }
    assert found == {"a/test_t.py::test_a": True, "test_u.py::test_a": False, "gone::x": True}
