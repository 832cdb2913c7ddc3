"""Held-out targets: a share that is chosen by names alone, and never from too few."""

from __future__ import annotations

import pytest

from pytest_noepicycle.stages.holdout import hold_out
from pytest_noepicycle.stages.veil import veil

TEN = tuple(f"test_m.py::test_{n}" for n in range(10))


@pytest.mark.parametrize(
    ("many", "share", "held"),
    [(3, 0.5, 0), (4, 0.0, 0), (4, 0.1, 1), (4, 0.5, 2), (10, 0.2, 2), (10, 1.0, 9)],
)
def test_a_share_is_held_back_and_never_all(many: int, share: float, held: int):
    """One at least, all but one at most, and none of fewer than four."""
    split = hold_out(TEN[:many], share)
    assert len(split.held) == held
    assert sorted(split.shown + split.held) == sorted(TEN[:many])


def test_the_choice_is_the_same_in_every_run_and_order():
    """A killed run that goes on must not show what it held back."""
    assert set(hold_out(TEN, 0.3).held) == set(hold_out(TEN[::-1], 0.3).held)


def test_the_parameters_of_a_function_are_held_together():
    """Its decorator would tell a rung the values of those that are held."""
    targets = tuple(f"test_m.py::T::test_{n}[{p}::x]" for n in range(5) for p in range(2))
    split = hold_out(targets, 0.4)
    assert len(split.held) == 4
    assert not {test.partition("[")[0] for test in split.held} & {test.partition("[")[0] for test in split.shown}


@pytest.mark.parametrize(
    ("targets", "held"),
    [
        (tuple(f"test_m.py::test_a[{n}]" for n in range(9)), 0),
        ((*(f"test_m.py::test_a[{n}]" for n in range(9)), "test_m.py::test_b"), 1),
        (tuple(f"test_{name}.py::test_a[{n}]" for name in "ab" for n in range(9)), 9),
        (("m.py::m.f", "m.py::m.g", "m.py::m.h", "m.py::m"), 0),
        (("test_a.py", "test_b.py", "test_c.py", "test_d.py"), 0),
    ],
    ids=["one function", "a small one", "two large ones", "doctests", "files"],
)
def test_what_cannot_be_spared_or_hidden_is_shown(targets: tuple[str, ...], held: int):
    """Never all; where no function fits the share the smallest is held; doctests and whole files never."""
    assert len(hold_out(targets, 0.2).held) == held


SOURCE = """\
import pytest

ROWS = [(1, 41)]
BOTH = [(2, 42)]


@pytest.mark.parametrize(("x", "y"), ROWS + BOTH)
def test_held(x, y):
    assert f(x) == y


def test_shown():
    assert f(3) == 43 and BOTH


class TestMore:
    if True:
        async def test_held(self):
            assert f(4) == 44

    def test_shown(self):
        assert f(5) == 45
"""


@pytest.mark.parametrize(
    ("held", "gone", "kept"),
    [
        ((), (), (41, 42, 43, 44, 45)),
        (("test_m.py::test_held[1-41]",), (41,), (42, 43, 44, 45)),
        (("test_m.py::TestMore::test_held",), (44,), (41, 42, 43, 45)),
        (("test_m.py::TestChild::test_shown",), (43, 45), (41, 42, 44)),
        (("test_m.py",), (41, 42, 43, 44, 45), ()),
        (("test_other.py::test_held",), (), (41, 42, 43, 44, 45)),
    ],
    ids=["none", "a table", "a method", "inherited", "a file", "elsewhere"],
)
def test_the_source_of_what_is_held_is_blank(held: tuple[str, ...], gone: tuple[int, ...], kept: tuple[int, ...]):
    """Decorators, bodies, and tables that nothing else reads; all other lines stay where they are."""
    shown = veil(held)("test_m.py", SOURCE.encode()).decode()
    assert [number for number in (*gone, *kept) if str(number) not in shown] == list(gone)
    assert all(now in ("", before) for now, before in zip(shown.split("\n"), SOURCE.split("\n"), strict=True))


@pytest.mark.parametrize(
    "source",
    [b"def test_a():\r\n    x = '\xe4'\r\n", b"# coding: latin-1\r\ndef test_a():\r\n    x = '\xe4'\r\n"],
    ids=["no Python", "another encoding"],
)
def test_line_ends_and_encodings_stay(source: bytes):
    """What cannot be parsed is hidden whole."""
    shown = veil(("t.py::test_a",))("t.py", source)
    assert b"\xe4" not in shown
    assert shown.count(b"\r\n") == source.count(b"\r\n")
