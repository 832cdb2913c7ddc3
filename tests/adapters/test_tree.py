"""The work tree: a snapshot that keeps secrets out, writes that are whole, a lock that goes with its holder."""

from __future__ import annotations

import os
import shutil
import signal
import stat
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

import pytest

from pytest_noepicycle.adapters import tree
from pytest_noepicycle.adapters.records import Record, Records
from pytest_noepicycle.adapters.snapshot import snapshot
from pytest_noepicycle.domain.patch import FileChange, Patch
from pytest_noepicycle.errors import NoepiError, RecordError, SandboxError, TreeChanged, TreeLocked, UsageError


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A tree with product, secrets, caches, an environment and odd names."""
    files = {
        "pkg/mod.py": b"x = 1\r\n",
        "pkg/\xc3\xbcml.py".encode("latin-1").decode(): "é = 1\n".encode("latin-1"),
        "with space/a b.py": b"y = 2",
        "empty.py": b"",
        ".env": b"ANTHROPIC_API_KEY=secret",
        ".env.local": b"SECRET=1",
        ".env.example": b"ANTHROPIC_API_KEY=",
        ".netrc": b"secret",
        ".git/config": b"token",
        "pkg/__pycache__/mod.pyc": b"stale",
        ".venv/pyvenv.cfg": b"",
        ".venv/lib/x.py": b"",
        ".noepi/runs/x/result.json": b"{}",
        ".github/workflows/ci.yml": b"on: push",
    }
    for name, content in files.items():
        path = tmp_path / "project" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    (tmp_path / "project" / "link.py").symlink_to("pkg/mod.py")
    (tmp_path / "project" / "run.sh").write_text("#!/bin/sh\n")
    (tmp_path / "project" / "run.sh").chmod(0o755)
    return tmp_path / "project"


@pytest.fixture
def staging(tmp_path: Path) -> Path:
    """A folder for files on their way."""
    folder = tmp_path / "staging"
    folder.mkdir()
    return folder


def test_a_snapshot_holds_the_product_and_none_of_the_secrets(project: Path):
    """No version control, no environment, no caches, no file that exists to hold secrets."""
    shot = snapshot(str(project))
    try:
        assert shot.files == {
            *("pkg/mod.py", "pkg/üml.py", "with space/a b.py", "empty.py", ".env.example", "run.sh"),
            ".github/workflows/ci.yml",
        }
        assert shot.links == {"link.py"}
        assert b"secret" not in Path(shot.archive).read_bytes()
    finally:
        shot.close()
    assert not Path(shot.archive).exists()


def test_a_snapshot_stays_as_it_was_when_the_tree_changes(project: Path):
    """Every file reads back byte for byte, from the archive and not from the tree; modes are kept in it."""
    shot = snapshot(str(project))
    expected = {name: (project / name).read_bytes() for name in shot.files}
    (project / "pkg/mod.py").write_bytes(b"changed")
    assert {name: shot.read(name) for name in shot.files} == expected
    assert shot.read("not/there.py") is None
    with tarfile.open(shot.archive) as tar:
        assert stat.S_IMODE(tar.getmember("run.sh").mode) == 0o755
        for name in shot.files:
            assert tar.extractfile(name).read() == expected[name]
    shot.close()


PATCH = Patch.of([FileChange("pkg/mod.py", b"x = 1\r\n", b"x = 2\r\n"), FileChange("pkg/new.py", None, b"z = 3\n")])


def test_what_cannot_be_copied_is_left_out_or_told(project: Path, monkeypatch: pytest.MonkeyPatch):
    """A link to nothing and a named pipe do no harm; a temporary folder that is not there is told in a sentence."""
    (project / "nowhere").symlink_to("gone")
    os.mkfifo(project / "pipe")
    shot = snapshot(str(project))
    assert ("nowhere" in shot.links, "pipe" in shot.files) == (True, False)
    shot.close()
    monkeypatch.setattr(tempfile, "tempdir", str(project / "missing"))
    with pytest.raises(SandboxError, match="cannot be copied for the sandbox") as caught:
        snapshot(str(project))
    assert "TMPDIR" in caught.value.sentence()


def test_a_patch_goes_in_and_comes_out_byte_for_byte(project: Path, staging: Path):
    """Apply, then undo: bytes and modes are as before, and a new file is gone again."""
    (project / "pkg/mod.py").chmod(0o640)
    assert tree.write(str(project), PATCH, staging) == ("pkg/mod.py", "pkg/new.py")
    assert (project / "pkg/mod.py").read_bytes() == b"x = 2\r\n"
    assert stat.S_IMODE((project / "pkg/mod.py").stat().st_mode) == 0o640
    assert tree.write(str(project), PATCH, staging, forward=False) == ("pkg/mod.py", "pkg/new.py")
    assert (project / "pkg/mod.py").read_bytes() == b"x = 1\r\n"
    assert not (project / "pkg/new.py").exists()
    assert list(staging.iterdir()) == []


@pytest.mark.parametrize("forward", [True, False])
def test_a_file_that_has_changed_since_is_not_written_nor_is_any_other(project: Path, forward: bool, staging: Path):
    """One file out of step, and nothing at all is touched."""
    if not forward:
        tree.write(str(project), PATCH, staging)
    (project / "pkg/mod.py").write_bytes(b"mine\n")
    before = {p: p.read_bytes() for p in project.rglob("*.py")}
    with pytest.raises(TreeChanged, match=r"pkg/mod\.py has changed"):
        tree.write(str(project), PATCH, staging, forward=forward)
    assert {p: p.read_bytes() for p in project.rglob("*.py")} == before


def test_a_write_that_was_cut_in_half_is_completed_by_the_same_call(project: Path, staging: Path):
    """A kill between two renames leaves whole files; applying again, or undoing, finishes either way."""
    (project / "pkg/mod.py").write_bytes(b"x = 2\r\n")  # the first file was renamed, the second was not
    assert tree.write(str(project), PATCH, staging) == ("pkg/new.py",)
    (project / "pkg/new.py").unlink()
    assert tree.write(str(project), PATCH, staging, forward=False) == ("pkg/mod.py",)
    assert (project / "pkg/mod.py").read_bytes() == b"x = 1\r\n"


def test_a_link_that_was_put_there_since_leads_no_write_out_of_the_tree(project: Path, tmp_path: Path, staging: Path):
    """A folder that has become a link to elsewhere is refused, and elsewhere stays as it is."""
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "mod.py").write_bytes(b"x = 1\r\n")
    for path in (project / "pkg").rglob("*"):
        path.unlink() if path.is_file() else None
    (project / "pkg/__pycache__").rmdir()
    (project / "pkg").rmdir()
    (project / "pkg").symlink_to(outside)
    with pytest.raises(TreeChanged, match="symbolic link"):
        tree.write(str(project), PATCH, staging)
    assert (outside / "mod.py").read_bytes() == b"x = 1\r\n"


HOLDER = """
import sys, time
from pathlib import Path
from pytest_noepicycle.adapters import tree
with tree.locked(Path(sys.argv[1]), wait=5):
    print("held", flush=True)
    time.sleep(60)
"""


def test_a_second_run_is_told_who_holds_the_tree_and_a_kill_frees_it(tmp_path: Path):
    """The lock names its holder's process; when that is killed hard, the next one gets it."""
    holder = subprocess.Popen([sys.executable, "-c", HOLDER, str(tmp_path)], stdout=subprocess.PIPE, text=True)
    try:
        assert holder.stdout.readline() == "held\n"
        with pytest.raises(TreeLocked, match=str(holder.pid)), tree.locked(tmp_path, wait=0.1):
            raise AssertionError("two holders at once")
    finally:
        os.kill(holder.pid, signal.SIGKILL)
        holder.wait(10)
        holder.stdout.close()
    with tree.locked(tmp_path, wait=5):
        assert (tmp_path / "lock.holder").read_text() == str(os.getpid())


def test_records_ignore_themselves_and_old_ones_go(tmp_path: Path):
    """The folder is invisible to git; of many runs the newest stay; last names the newest."""
    records = Records.of(str(tmp_path), ".noepi")
    made = []
    for _ in range(4):
        made.append(records.new(keep=2))
        made[-1].write("decisions.jsonl", "")
    assert (records.home / ".gitignore").read_text() == "*\n"
    assert len(list((records.home / "runs").iterdir())) == 2
    assert (records.home / "last").read_text().strip() == made[-1].run_id


def test_pruning_and_staging_take_nothing_that_is_not_of_a_run(tmp_path: Path):
    """Folders that only lie there keep what they hold: an old name alone, or a journal alone, is no run's folder."""
    records = Records.of(str(tmp_path), ".noepi")
    own = ("runs/mine/decisions.jsonl", "runs/20200101-000000-abcd/notes.txt", "staging/work.py")
    for name in own:
        (records.home / name).parent.mkdir(parents=True)
        (records.home / name).write_text("mine")
    for _ in range(3):
        records.new(keep=1).write("decisions.jsonl", "")
        with records.staging() as staged:
            (staged / "half").write_text("a file on its way")
    assert all((records.home / name).read_text() == "mine" for name in own)
    assert len(list((records.home / "runs").iterdir())) == 3
    assert not [path for path in records.home.iterdir() if path.name.startswith(".noepi-")]


@pytest.mark.parametrize("directory", [".", "..", "src", "src/..", "empty/../src"])
def test_a_folder_with_other_things_is_refused_and_stays_as_it_is(tmp_path: Path, directory: str):
    """The tree itself, what lies above it, and a folder with files of one's own hold no records."""
    (tmp_path / "tree/src/runs/first").mkdir(parents=True)
    (tmp_path / "tree/empty").mkdir()
    (tmp_path / "tree/src/runs/first/weights").write_text("mine")
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(UsageError, match=r"cannot hold records: it (is the project|holds files)"):
        Records.of(str(tmp_path / "tree"), directory)
    assert sorted(tmp_path.rglob("*")) == before


def test_a_folder_that_was_there_is_taken_where_it_is_empty_or_holds_records(tmp_path: Path):
    """It is not hidden from git, for somebody else made it; a note that a person puts beside the records stays."""
    (tmp_path / "logs").mkdir()
    Records.of(str(tmp_path), "logs").new(keep=3)
    (tmp_path / "logs/README").write_text("what this is")
    records = Records.of(str(tmp_path), "logs")
    assert not (records.home / ".gitignore").exists()
    assert records.find(None).folder.is_dir()
    (records.home / "README").unlink()
    (records.home / "last").unlink()  # as a kill leaves it that struck before the first run was named
    assert Records.of(str(tmp_path), "no/../logs").home == records.home


def test_a_patch_is_kept_with_its_bytes_and_read_back(tmp_path: Path):
    """Apply and undo read whole files, whatever their encoding."""
    record = Records.of(str(tmp_path), ".noepi").new(keep=3)
    patch = Patch.of([FileChange("a.py", b"\xff\xfe\r\n", b"\x00")])
    record.keep_patch(str(tmp_path), patch)
    assert record.patch() == (str(tmp_path), patch)


def test_a_copied_project_takes_its_records_along(tmp_path: Path):
    """Undo in the copy changes the copy: the tree is found from where the record lies."""
    first = tmp_path / "first"
    Records.of(str(first), ".noepi").new(keep=3).keep_patch(str(first), PATCH)
    shutil.copytree(first, tmp_path / "second")
    root, patch = Records.of(str(tmp_path / "second"), ".noepi").find(None).patch()
    assert (root, patch) == (str(tmp_path / "second"), PATCH)


def test_a_folder_that_cannot_hold_records_is_a_sentence(tmp_path: Path):
    """A file stands where the records are to lie: named, with what to do."""
    (tmp_path / ".noepi").write_text("")
    with pytest.raises(RecordError, match="cannot hold records"):
        Records.of(str(tmp_path), ".noepi")


@pytest.mark.skipif(os.name == "nt" or os.geteuid() != 0, reason="only root may give files away; CI runs as root")
def test_a_mended_file_keeps_its_owner(project: Path, staging: Path):
    """A run as root in a container leaves the sources their owner's."""
    os.chown(project / "pkg/mod.py", 1234, 2345)
    tree.write(str(project), PATCH, staging)
    info = (project / "pkg/mod.py").stat()
    assert (info.st_uid, info.st_gid) == (1234, 2345)


def test_a_missing_or_damaged_record_is_named(tmp_path: Path):
    """Each way in which a record can be bad ends in a sentence."""
    records = Records.of(str(tmp_path), ".noepi")
    with pytest.raises(RecordError, match="no run is recorded"):
        records.find(None)
    record = records.new(keep=3)
    with pytest.raises(RecordError, match="gained nothing"):
        record.patch()
    (record.folder / "patch.json").write_text("{")
    with pytest.raises(RecordError, match="cannot be read"):
        record.patch()
    with pytest.raises(RecordError, match="no runs are named"):
        records.find("unknown")
    assert Record(record.folder).run_id == records.find(record.run_id[:8]).run_id


def test_what_the_system_does_not_let_be_read_or_written_is_a_sentence(project: Path):
    """A folder lies where a file should be, as a stand-in for a full disk or another owner: each call names it."""
    records = Records.of(str(project), ".noepi")
    record = records.new(keep=3)
    with pytest.raises(RecordError, match="no run's folder"):
        records.find(str(project / "typo"))
    (record.folder / ".result.json.part").mkdir()
    with pytest.raises(RecordError, match=r"result\.json cannot be written"):
        record.write("result.json", "{}")
    (record.folder / "result.json").mkdir()
    with pytest.raises(RecordError, match="cannot be read"):
        record.result()
    (project / "pkg/new.py").mkdir()
    with pytest.raises(TreeChanged, match="has changed"), records.staging() as staging:
        tree.write(str(project), PATCH, staging)
    (project / "pkg/new.py").rmdir()
    with pytest.raises(NoepiError, match=r"cannot be written .*; nothing was written"):
        tree.write(str(project), PATCH, records.home / "gone")
    (records.home / "lock.holder").mkdir()
    with pytest.raises(NoepiError, match="cannot be locked"), tree.locked(records.home, wait=1):
        raise AssertionError("held")
