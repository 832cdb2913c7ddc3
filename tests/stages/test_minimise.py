"""The smallest patch: what is not needed goes, what is needed stays, and trials are bounded."""

from __future__ import annotations

from pytest_noepicycle.domain.patch import FileChange, Patch
from pytest_noepicycle.stages.minimise import minimise

BEFORE = b"".join(b"line %d\n" % n for n in range(40))


def changed(*numbers: int, path: str = "m.py") -> FileChange:
    """A file with these lines changed."""
    after = b"".join(b"line %d%s\n" % (n, b"!" if n in numbers else b"") for n in range(40))
    return FileChange(path, BEFORE, after)


def test_only_the_needed_hunks_and_files_stay():
    """Of three hunks in two files one mends the test."""
    patch = Patch.of([changed(3, 20), changed(7, path="n.py")])
    small = minimise(patch, lambda p: b"line 20!" in (p.files().get("m.py") or b""))
    assert small == Patch.of([changed(20)])


def test_within_a_hunk_only_the_needed_lines_stay():
    """Lines that come, go or change are tried one by one."""
    patch = Patch.of([changed(3, 4, 5)])
    assert minimise(patch, lambda p: b"line 4!" in (p.files()["m.py"] or b"")) == Patch.of([changed(4)])
    more = Patch.of([FileChange("m.py", BEFORE, BEFORE + b"a\nb\nc\n")])
    kept = minimise(more, lambda p: (p.files()["m.py"] or b"").endswith(b"b\n"))
    assert kept.files()["m.py"] == BEFORE + b"b\n"


def test_what_belongs_together_stays_together():
    """Two hunks that only work together are both kept, bytes and all."""
    patch = Patch.of([changed(3, 20, 33)])
    together = minimise(patch, lambda p: all(b"line %d!" % n in (p.files()["m.py"] or b"") for n in (3, 33)))
    assert together == Patch.of([changed(3, 33)])


def test_a_patch_that_needs_all_of_itself_comes_back_as_it_was():
    """Nothing can go: the same bytes, a new file among them."""
    patch = Patch.of([changed(3, 4, 20), FileChange("new.py", None, b"x = 1\ny = 2")])
    assert minimise(patch, lambda p: p == patch) == patch


def test_trials_are_bounded_and_none_is_made_twice():
    """A patch of many pieces ends with the best that the trials found."""
    patch, tried = Patch.of([changed(*range(0, 40, 2))]), []

    def keeps(candidate: Patch) -> bool:
        tried.append(candidate.digest)
        return b"line 8!" in (candidate.files()["m.py"] or b"") and b"line 30!" in (candidate.files()["m.py"] or b"")

    small = minimise(patch, keeps, most=9)
    assert len(tried) == len(set(tried)) <= 9
    assert b"line 30!" in small.files()["m.py"]
