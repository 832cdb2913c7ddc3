"""The records of runs on disk: one folder each under ``.noepi/runs``, the newest named in ``.noepi/last``."""

from __future__ import annotations

import contextlib
import json
import os
import re
import secrets
import shutil
import tempfile
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pytest_noepicycle.codec import decode, encode
from pytest_noepicycle.domain.patch import Patch
from pytest_noepicycle.errors import RecordError, UsageError

_RUN_ID = re.compile(r"\d{8}-\d{6}-[0-9a-f]{4}")
_STAGING = ".noepi-staging-"
_OURS = frozenset({"runs", "last", "lock", "lock.holder", ".gitignore"})  # what stands in a folder of records
_OF_A_RUN = ("decisions.jsonl", "result.json", "patch.json")


@dataclass(frozen=True, slots=True)
class Record:
    """One run's folder."""

    folder: Path

    @property
    def run_id(self) -> str:
        """Return the run's name."""
        return self.folder.name

    def write(self, name: str, content: str | bytes) -> None:
        """Write a file of the record; a reader sees the old or the new one, never a half.

        :raises RecordError: where it cannot be written.
        """
        part = self.folder / f".{name}.part"
        with _writing(self.folder / name):
            part.write_bytes(content if isinstance(content, bytes) else content.encode("utf-8", "backslashreplace"))
            part.replace(self.folder / name)

    def keep_patch(self, root: str, patch: Patch) -> None:
        """Keep the patch twice: as a diff for people and git, and with whole files for apply and undo."""
        self.write("best.patch", patch.diff())
        relative = os.path.relpath(root, self.folder)  # a project that is moved or copied takes its records along
        self.write("patch.json", json.dumps({"root": relative, "patch": encode(patch)}))

    def drop_patch(self) -> None:
        """Take away a patch that was kept before the run went on: what it ended with is not this one."""
        for name in ("best.patch", "patch.json"):
            with _writing(self.folder / name):
                (self.folder / name).unlink(missing_ok=True)

    def patch(self) -> tuple[str, Patch]:
        """Return the tree's root and the patch.

        :raises RecordError: where the run gained nothing, or its record is damaged.
        """
        data = self._json("patch.json", "this run has no patch: it gained nothing that was proven")
        try:
            return os.path.normpath(self.folder / data["root"]), decode(Patch, data["patch"])
        except (KeyError, ValueError) as error:
            raise RecordError(f"{self.folder / 'patch.json'} is damaged: {error}") from error

    def result(self) -> dict[str, Any]:
        """Return ``result.json``.

        :raises RecordError: where the run did not come to its end.
        """
        return self._json("result.json", "this run has no result: it did not come to its end")

    def note(self, **fields: Any) -> None:
        """Change fields of ``result.json``."""
        self.write("result.json", json.dumps({**self.result(), **fields}, indent=2, ensure_ascii=False) + "\n")

    def _json(self, name: str, otherwise: str) -> dict[str, Any]:
        try:
            data = json.loads((self.folder / name).read_text("utf-8"))
        except FileNotFoundError:
            raise RecordError(f"{self.run_id}: {otherwise}") from None
        except (OSError, ValueError) as error:
            raise RecordError(f"{self.folder / name} cannot be read: {error}") from error
        if not isinstance(data, Mapping):
            raise RecordError(f"{self.folder / name} is not an object")
        return dict(data)


@dataclass(frozen=True, slots=True)
class Records:
    """All runs of a tree, in ``home`` (the ``.noepi`` folder)."""

    home: Path

    @classmethod
    def of(cls, root: str, directory: str) -> Records:
        """Return the records of a tree, the folder made where it is missing; one that is made ignores itself in git.

        :raises UsageError: where that folder is the tree, lies above it, or holds what is not of a run.
        :raises RecordError: where it cannot be made.
        """
        home = Path(os.path.normpath(Path(root, directory)))  # as a walk through the tree will name it
        _only_records(home, Path(root))
        try:
            made = not home.exists()
            (home / "runs").mkdir(parents=True, exist_ok=True)
            if made:
                (home / ".gitignore").write_text("*\n", "utf-8")
        except OSError as error:
            hint = "Name a folder that can be written with --noepi-dir."
            raise RecordError(f"{home} cannot hold records: {error.strerror}", hint=hint) from error
        return cls(home)

    @contextlib.contextmanager
    def staging(self) -> Iterator[Path]:
        """Lend a folder on the tree's file system for files on their way; what a kill left in earlier ones goes.

        :raises RecordError: where it cannot be made.
        """
        with _writing(self.home):
            for old in self.home.glob(f"{_STAGING}*"):
                if old.is_dir() and not old.is_symlink():
                    shutil.rmtree(old, ignore_errors=True)
            lent = Path(tempfile.mkdtemp(prefix=_STAGING, dir=self.home))
        try:
            yield lent
        finally:
            shutil.rmtree(lent, ignore_errors=True)

    def new(self, keep: int) -> Record:
        """Begin a record and name it the newest; of the older ones ``keep - 1`` stay.

        :raises RecordError: where it cannot be written.
        """
        run_id = f"{time.strftime('%Y%m%d-%H%M%S')}-{secrets.token_hex(2)}"
        folder = self.home / "runs" / run_id
        with _writing(folder):
            folder.mkdir(parents=True)
            (self.home / "last").write_text(run_id + "\n", "utf-8")
        others = [path for path in self.folders() if path != folder and _is_run(path)]
        others.sort(key=lambda path: path.stat().st_mtime_ns, reverse=True)
        for old in others[keep - 1 :]:
            shutil.rmtree(old, ignore_errors=True)
        return Record(folder)

    def newest_with_patch(self) -> Record:
        """Return the newest run that has a patch.

        :raises RecordError: where there is none.
        """
        for folder in reversed(self.folders()):
            if (folder / "patch.json").is_file():
                return Record(folder)
        raise RecordError("no run that is recorded here has a patch: none gained anything that was proven")

    def find(self, run: str | None) -> Record:
        """Return a run by its name, by the start of its name, or by its folder; None is the newest.

        :raises RecordError: where there is none, or more than one.
        """
        if run and (os.sep in run or Path(run, "decisions.jsonl").exists()):
            return _named(Path(run))
        name = run or self._last()
        found = [path for path in self.folders() if path.name.startswith(name)]
        if len(found) != 1:
            raise RecordError(f"{len(found) or 'no'} runs are named {name!r}")
        return Record(found[0])

    def folders(self) -> list[Path]:
        """Return the folders of all runs, the oldest first.

        :raises RecordError: where they cannot be read.
        """
        try:
            return sorted(path for path in (self.home / "runs").iterdir() if path.is_dir())
        except OSError as error:
            raise RecordError(f"{self.home / 'runs'} cannot be read: {error.strerror}") from error

    def _last(self) -> str:
        try:
            name = (self.home / "last").read_text("utf-8").strip()
        except FileNotFoundError:
            name = ""
        except (OSError, ValueError) as error:
            raise RecordError(f"{self.home / 'last'} cannot be read: {error}") from error
        if not name:
            raise RecordError(f"no run is recorded in {self.home}")
        return name


def is_run_folder(path: Path) -> bool:
    """Whether a folder holds what a run leaves behind."""
    return any((path / name).is_file() for name in _OF_A_RUN)


def _named(folder: Path) -> Record:
    if not is_run_folder(folder):
        raise RecordError(f"{folder} is no run's folder: it holds no {_OF_A_RUN[0]}")
    return Record(folder.resolve())


def _is_run(path: Path) -> bool:
    """Whether a folder is surely a run's, by its name and by what is in it: only such a one is ever removed."""
    named = _RUN_ID.fullmatch(path.name) is not None and not path.is_symlink()
    return named and (path / "decisions.jsonl").is_file()


def _only_records(home: Path, root: Path) -> None:
    """See that records lie apart from everything else: beside somebody's own files, one could be taken for the other.

    :raises UsageError: where they would not.
    """
    hint = "Name a folder for records alone, such as .noepi (--noepi-dir, noepi_dir, --dir, or dir in Python)."
    if root.resolve().is_relative_to(home.resolve()):
        raise UsageError(f"{home} cannot hold records: it is the project or lies above it", hint=hint)
    try:
        strange = home.is_dir() and not _is_ours(home)
    except OSError as error:
        raise RecordError(f"{home} cannot hold records: {error.strerror}", hint=hint) from error
    if strange:
        raise UsageError(f"{home} cannot hold records: it holds files that are not of a run", hint=hint)


def _is_ours(home: Path) -> bool:
    """Whether a folder is empty but for records, or a run has named itself in it."""
    last = home / "last"
    if last.is_file() and _RUN_ID.fullmatch(last.read_text("utf-8", "replace").strip()):
        return True
    strange = [path for path in home.iterdir() if path.name not in _OURS and not path.name.startswith(_STAGING)]
    runs = home / "runs"
    begun = list(runs.iterdir()) if runs.is_dir() else []
    return not strange and all(is_run_folder(path) or _RUN_ID.fullmatch(path.name) for path in begun)


@contextlib.contextmanager
def _writing(place: Path) -> Iterator[None]:
    """Tell of a file or folder of the records that cannot be written in a sentence.

    :raises RecordError: instead of the error of the system.
    """
    try:
        yield
    except OSError as error:
        hint = "See that the disk is not full and that the folder is yours; another one is named with --noepi-dir."
        raise RecordError(f"{place} cannot be written: {error.strerror or error}", hint=hint) from error
