"""Diffs on bytes: read exactly, or refused."""

from __future__ import annotations

import subprocess

import pytest

from pytest_noepicycle.adapters import git, patches
from pytest_noepicycle.domain.patch import FileChange, Patch
from pytest_noepicycle.errors import PatchError, UsageError

OLD = b"a\r\nb\nc\x0c\rd\n" * 5 + b"end"
NEW = b"a\r\nb\nc\x0c\rd\n" * 2 + b"new\r\n" + b"a\r\nb\nc\x0c\rd\n" * 3 + b"END\n"


def candidate(diff: bytes, files: dict[str, bytes] | None = None, prefix: str = ""):
    """Read a diff against a tree of files."""
    return patches.from_diff(diff, (files or {}).get, prefix=prefix)


@pytest.mark.parametrize(
    "change",
    [
        FileChange("pkg/m.py", OLD, NEW),
        FileChange("new.py", None, b"x = 1"),
        FileChange("gone.py", b"x\n", None),
        FileChange('odd "name"\t\xe4.py', b"x\n", b"y\n"),
        FileChange("m.py", b"-- x\n++ y\n", b"++ y\n-- z\n"),
        FileChange("m.py", b"", b"x\n"),
    ],
    ids=["endings", "new", "deleted", "odd name", "lines like headers", "was empty"],
)
def test_what_we_write_we_read(change: FileChange):
    """A diff and its reader agree on every byte."""
    files = {change.path: change.before} if change.before is not None else {}
    assert candidate(Patch.of([change]).diff(), files).patch == Patch.of([change])


@pytest.mark.parametrize(
    ("diff", "words"),
    [
        (b"hello\n", "no change"),
        (b"--- a/m\n+++ b/m\n@@ -1,2 +1 @@\n-a\n", "ends in the middle"),
        (b"--- a/m\n+++ b/m\n@@ -1 +1 @@\n-a\n+b\n+c\n", "outside of a hunk"),
        (b"--- a/m\n+++ b/m\n@@ -1 +1 @@\n-a\n-b\n+c\n", "longer than it says"),
        (b"--- a/m\n+++ b/m\n@@ -1 +1 @@\n-z\n+b\n", "does not fit"),
        (b"--- a/m\n+++ b/m\n@@ -9 +9 @@\n-a\n+b\n", ""),
        (b"--- a/m\n+++ b/m\n@@ -9 +9 @@\n-d\n+b\n", "does not fit"),
        (b"--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n", "not there"),
    ],
    ids=["prose", "cut", "too many", "counts", "other text", "moved", "in two places", "no file"],
)
def test_a_diff_that_two_programs_could_read_in_two_ways_is_not_read(diff: bytes, words: str):
    """Counts must hold and a hunk has one place; only a shift is followed."""
    files = {"m": b"a\nd\nd\n"}
    if words:
        with pytest.raises(PatchError, match=words):
            candidate(diff, files)
    else:
        assert candidate(diff, files).patch.files() == {"m": b"b\nd\nd\n"}


def test_links_submodules_and_binary_changes_are_refused_by_name():
    """No patch of ours can hold them."""
    link = b"diff --git a/l b/l\nnew file mode 120000\n--- /dev/null\n+++ b/l\n@@ -0,0 +1 @@\n+/etc\n"
    module = b"diff --git a/s b/s\nindex 1..2 160000\n--- a/s\n+++ b/s\n@@ -1 +1 @@\n-x\n+y\n"
    picture = b"diff --git a/p.png b/p.png\nindex 1..2 100644\nBinary files a/p.png and b/p.png differ\n"
    found = candidate(link + module + picture)
    assert [(r.path, r.rule) for r in found.refused] == [("l", "symlink"), ("s", "submodule"), ("p.png", "not-python")]
    assert found.patch == Patch()


def test_names_are_taken_from_the_folder_of_the_project():
    """In a repository of several projects a path beside the project leads out of it, for the guard to refuse."""
    diff = b"--- a/one/m.py\n+++ b/one/m.py\n@@ -1 +1 @@\n-a\n+b\n--- /dev/null\n+++ b/two/x.py\n@@ -0,0 +1 @@\n+b\n"
    assert candidate(diff, {"m.py": b"a\n"}, prefix="one/").patch.paths == ("../two/x.py", "m.py")


def test_the_work_tree_against_a_revision_is_what_git_says_of_it(tmp_path):
    """Tracked and new files count, ignored ones do not; git's own diff makes the same candidate."""

    def run(*words: str) -> bytes:
        return subprocess.run(["git", *words], cwd=tmp_path, check=True, capture_output=True).stdout

    for name, content in {
        "m.py": OLD,
        "gone.py": b"1\n2\n",
        "move.py": b"1\n2\n3\n4\n",
        ".gitignore": b"ign\n",
    }.items():
        (tmp_path / name).write_bytes(content)
    run("init", "-q")
    run("add", "-A")
    run("-c", "user.email=a@b.c", "-c", "user.name=n", "commit", "-qm", "base")
    (tmp_path / "m.py").write_bytes(NEW)
    (tmp_path / "gone.py").unlink()
    (tmp_path / "move.py").rename(tmp_path / "moved.py")
    (tmp_path / "ign").write_bytes(b"x")
    (tmp_path / "link").symlink_to("/etc")
    (tmp_path / "cache").write_bytes(b"x")
    base = git.files_at(str(tmp_path), "HEAD")
    found = patches.from_trees(base, git.files_now(str(tmp_path), frozenset({"moved.py", "link"})))
    assert found.patch.paths == ("gone.py", "m.py", "move.py", "moved.py")
    assert [refusal.rule for refusal in found.refused] == ["symlink"]
    (tmp_path / "cache").unlink()
    run("add", "-A")
    files = {path: entry.content for path, entry in base.items()}
    assert patches.from_diff(run("diff", "--cached", "-M", "HEAD"), files.get) == found


def test_a_revision_that_is_none_is_said(tmp_path):
    """A folder without git and a name that git does not know are wrong use."""
    with pytest.raises(UsageError, match="no git repository"):
        git.files_at(str(tmp_path), "HEAD")
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    with pytest.raises(UsageError, match="no revision"):
        git.files_at(str(tmp_path), "nowhere")
