"""Patches: bytes in, bytes out, and a diff that git takes."""

from __future__ import annotations

import subprocess

import pytest

from pytest_noepicycle.domain.patch import FileChange, Patch, merge

CASES = {
    "one line": (b"a\nb\nc\n", b"a\nB\nc\n"),
    "no last newline": (b"a\nb", b"a\nc"),
    "last newline added": (b"a\nb", b"a\nb\n"),
    "crlf": (b"a\r\nb\r\nc\r\n", b"a\r\nB\r\nc\r\n"),
    "latin-1": ("é = 1\n".encode("latin-1"), "é = 2\n".encode("latin-1")),
    "form feed inside a line": (b"a\x0cb\nc\n", b"a\x0cb\nd\n"),
    "lone carriage returns": (b"a\rb\nc\n", b"a\rb\nd\n"),
    "far apart": (b"1\n" * 40 + b"x\n" + b"2\n" * 40 + b"y\n", b"1\n" * 40 + b"X\n" + b"2\n" * 40 + b"Y\n"),
    "new file": (None, b"x = 1\n"),
    "deleted file": (b"x = 1\n", None),
    "emptied and filled": (b"", b"x\n"),
}


@pytest.mark.parametrize("name", ["plain.py", "with space.py", "ünï.py", 'quo"te.py', "deep/er/mod.py"])
@pytest.mark.parametrize("case", CASES)
def test_git_applies_the_diff_to_exactly_the_new_bytes(case: str, name: str, tmp_path):
    """Whatever the bytes and the name, ``git apply`` makes of the old file the new one."""
    before, after = CASES[case]
    target = tmp_path / name
    target.parent.mkdir(parents=True, exist_ok=True)
    if before is not None:
        target.write_bytes(before)
    diff = Patch.of([FileChange(name, before, after)]).diff()
    done = subprocess.run(["git", "apply", "-"], input=diff, cwd=tmp_path, capture_output=True, check=False)
    assert done.returncode == 0, (done.stderr, diff)
    assert (target.read_bytes() if target.exists() else None) == after


def test_a_change_that_changes_nothing_is_no_part_of_a_patch():
    """Equal bytes before and after leave the patch empty."""
    assert Patch.of([FileChange("a.py", b"x", b"x")]) == Patch()


def test_equal_patches_have_one_digest_and_different_ones_do_not():
    """The digest names the bytes, not the order in which they were given."""
    one, two = FileChange("a.py", b"1", b"2"), FileChange("b.py", b"1", b"2")
    assert Patch.of([one, two]).digest == Patch.of([two, one]).digest
    assert Patch.of([one]).digest != Patch.of([two]).digest


BASE = b"1\n2\n3\n4\n5\n6\n7\n8\n"


@pytest.mark.parametrize(
    ("ours", "theirs", "joined"),
    [
        (b"1\nX\n3\n4\n5\n6\n7\n8\n", b"1\n2\n3\n4\n5\n6\nY\n8\n", b"1\nX\n3\n4\n5\n6\nY\n8\n"),
        (b"1\nX\nX2\n3\n4\n5\n6\n7\n8\n", b"1\n2\n3\n4\n5\n6\n8\n", b"1\nX\nX2\n3\n4\n5\n6\n8\n"),
        (b"1\nX\n3\n4\n5\n6\n7\n8\n", b"1\nY\n3\n4\n5\n6\n7\n8\n", None),
        (b"1\nX\n3\n4\n5\n6\n7\n8\n", b"1\n2\nY\n4\n5\n6\n7\n8\n", None),
        (b"1\nX\n3\n4\n5\n6\n7\n8\n", b"1\nX\n3\n4\n5\n6\n7\n8\n", b"1\nX\n3\n4\n5\n6\n7\n8\n"),
    ],
    ids=["apart", "lengths differ", "same line", "neighbours", "the same edit"],
)
def test_two_patches_join_where_their_lines_do_not_meet(ours, theirs, joined):
    """Edits of lines apart go together; those that touch are for nobody to guess."""
    mine, other = (Patch.of([FileChange("a.py", BASE, text)]) for text in (ours, theirs))
    result = merge(Patch(), mine, other)
    assert (result.changes[0].after if result else None) == joined


def test_patches_of_different_files_join_on_top_of_a_common_origin():
    """What both grew from stays in the joined patch."""
    origin = Patch.of([FileChange("a.py", b"1\n", b"2\n")])
    mine = Patch.of([*origin.changes, FileChange("b.py", b"1\n", b"2\n")])
    other = Patch.of([*origin.changes, FileChange("c.py", b"1\n", b"2\n")])
    joined = merge(origin, mine, other)
    assert joined is not None
    assert joined.paths == ("a.py", "b.py", "c.py")


def test_touched_lines_are_those_of_the_old_file():
    """An insertion touches the line it stands before, a replacement the lines it replaces."""
    assert FileChange("a", b"1\n2\n3\n", b"1\nX\n3\n").touched_lines() == {2}
    assert FileChange("a", b"1\n2\n3\n", b"1\nX\n2\n3\n").touched_lines() == {2}
    assert FileChange("a", b"1\n2\n3\n", b"1\n3\n").touched_lines() == {2}
