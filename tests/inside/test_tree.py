"""Laying out a tree, without a worker around it: paths, links, mounts and modes."""

from __future__ import annotations

import io
import stat
import tarfile

import pytest

from pytest_noepicycle.inside.tree import BadPath, Tree, empty, read_changes


def member(name: str, content: bytes = b"", **fields) -> tuple[tarfile.TarInfo, bytes]:
    """Return an entry of a tar."""
    entry = tarfile.TarInfo(name)
    entry.size = len(content)
    for field, value in fields.items():
        setattr(entry, field, value)
    return entry, content


def tree_of(folder, *members, keep=()) -> Tree:
    """Return the tree of a tar with these members."""
    spool = io.BytesIO()
    with tarfile.open(fileobj=spool, mode="w") as tar:
        for entry, content in members:
            tar.addfile(entry, io.BytesIO(content))
    spool.seek(0)
    return Tree(str(folder), [str(path) for path in keep], spool)


def names(folder) -> list[str]:
    """Return the names in a folder, sorted."""
    return sorted(path.name for path in folder.iterdir())


def seen(folder) -> dict[str, object]:
    """Return what lies below a folder: a file's bytes, a link's target."""
    return {
        str(path.relative_to(folder)): str(path.readlink()) if path.is_symlink() else path.read_bytes()
        for path in folder.rglob("*")
        if path.is_symlink() or path.is_file()
    }


@pytest.mark.parametrize(
    "path", ["../out", "/etc/passwd", "a/../../b", "a/../b", ".", "", "link/x", "kept/x", "kept", "up"]
)
def test_a_path_out_of_the_tree_is_refused_before_anything_is_written(tmp_path, path):
    """Nothing leads outside, through a link, into a mount or over one; and no other change of the trial is made."""
    folder = tmp_path / "tree"
    link = member("link", type=tarfile.SYMTYPE, linkname=str(tmp_path))
    tree = tree_of(folder, link, member("a.py", b"1"), keep=[folder / "kept", folder / "up" / "kept"])
    tree.lay_out()
    with pytest.raises(BadPath):
        tree.apply([("a.py", b"2"), (path, b"x")])
    assert (folder / "a.py").read_bytes() == b"1"
    assert names(tmp_path) == ["tree"]


@pytest.mark.parametrize("name", ["../out", "/out", "a/../../out"])
def test_a_tar_cannot_leave_the_tree(tmp_path, name):
    """An entry that leads outside makes the whole tar unusable."""
    with pytest.raises(BadPath):
        tree_of(tmp_path / "tree", member(name, b"x"))


def test_a_tar_becomes_files_folders_and_links(tmp_path):
    """Bytes, times, links and execute bits are kept; special rights, bytecode and devices are not."""
    folder = tmp_path / "tree"
    tree = tree_of(
        folder,
        member("./deep/er/a.sh", b"#!", mode=0o4750, mtime=1000),
        member("private.py", b"x", mode=0o600),
        member("twin.py", type=tarfile.LNKTYPE, linkname="private.py"),
        member("link", type=tarfile.SYMTYPE, linkname="deep"),
        member("empty", type=tarfile.DIRTYPE, mode=0o777),
        member("__pycache__/a.cpython-311.pyc", b"old"),
        member("pipe", type=tarfile.FIFOTYPE),
    )
    tree.lay_out()
    assert seen(folder) == {"deep/er/a.sh": b"#!", "private.py": b"x", "twin.py": b"x", "link": "deep"}
    script = (folder / "deep/er/a.sh").stat()
    assert (stat.S_IMODE(script.st_mode), script.st_mtime) == (0o754 | 0o004, 1000)
    assert stat.S_IMODE((folder / "private.py").stat().st_mode) == 0o644
    assert stat.S_IMODE((folder / "empty").stat().st_mode) == 0o755


def test_whatever_was_changed_is_restored(tmp_path):
    """A patch and all that happened beside it are undone; a mount in the tree is left alone."""
    folder = tmp_path / "tree"
    mounted = folder / "kept"
    mounted.mkdir(parents=True)
    tree = tree_of(folder, member("a.py", b"1"), member("d/b.py", b"2"), member("kept/c", b"3"), keep=[mounted])
    tree.lay_out()
    before = seen(folder)
    tree.apply([("a.py", None), ("new/n.py", b"n"), ("d/b.py", b"22")])
    (folder / "d" / "b.py").unlink()
    (folder / "d").rmdir()
    (folder / "d").symlink_to(tmp_path)
    (folder / "a.py").mkdir()
    (folder / "a.py" / "deep").mkdir()
    (folder / "a.py" / "deep" / "f").write_bytes(b"")
    (mounted / "mine").write_bytes(b"mine")
    tree.restore()
    assert seen(folder) == {**before, "kept/mine": b"mine"}
    assert names(folder) == ["a.py", "d", "kept"]
    assert names(tmp_path) == ["tree"]


def test_a_restored_file_has_no_bytecode_beside_it(tmp_path):
    """Bytecode made of a patched file goes with it, whatever the stamp in it says."""
    folder = tmp_path / "tree"
    tree = tree_of(folder, member("a.py", b"1"))
    tree.lay_out()
    tree.apply([("a.py", b"2")])
    (folder / "__pycache__").mkdir()
    (folder / "__pycache__" / "a.cpython-311.pyc").write_bytes(b"2")
    tree.restore()
    assert names(folder) == ["a.py"]


def test_emptying_a_folder_follows_no_link(tmp_path):
    """A link to a folder elsewhere is removed, and what it leads to is not."""
    (tmp_path / "away").mkdir()
    (tmp_path / "away" / "file").write_bytes(b"")
    (tmp_path / "full" / "deep").mkdir(parents=True)
    for folder in ("full", "full/deep"):
        (tmp_path / folder / "link").symlink_to(tmp_path / "away")
        (tmp_path / folder / ".0").write_bytes(b"")
    empty(str(tmp_path / "full"))
    assert names(tmp_path / "full") == []
    assert names(tmp_path / "away") == ["file"]


def test_the_files_of_a_request_are_cut_out_of_its_blob():
    """Sizes tell where a file ends; -1 deletes; sizes that do not add up are refused."""
    assert read_changes([["a", 2], ["b", -1], ["c", 0], ["d", 1]], b"xyz") == [
        ("a", b"xy"),
        ("b", None),
        ("c", b""),
        ("d", b"z"),
    ]
    with pytest.raises(BadPath):
        read_changes([["a", 2]], b"xyz")


def test_a_quick_restore_puts_back_what_was_given_and_looks_at_nothing_else(tmp_path):
    """New content is taken away again; a file that only the worker could have written is seen by a thorough one."""
    folder = tmp_path / "tree"
    tree = tree_of(folder, member("a.py", b"1"), member("b.py", b"1"))
    tree.lay_out()
    tree.apply([("a.py", b"2")])
    (folder / "b.py").write_bytes(b"ours")
    tree.restore(thorough=False)
    assert [(folder / name).read_bytes() for name in ("a.py", "b.py")] == [b"1", b"ours"]
    tree.restore()
    assert (folder / "b.py").read_bytes() == b"1"


def test_new_folders_of_a_trial_go_even_with_a_quick_restore(tmp_path):
    """More than new content was given, so all of the tree is looked at."""
    folder = tmp_path / "tree"
    tree = tree_of(folder, member("a.py", b"1"))
    tree.lay_out()
    tree.apply([("new/deep/b.py", b"2")])
    tree.restore(thorough=False)
    assert names(folder) == ["a.py"]
