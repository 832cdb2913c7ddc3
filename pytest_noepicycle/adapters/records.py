"""The records of runs on disk: one folder each under ``.noepi/runs``, the newest named in ``.noepi/last``."""

from __future__ import annotations

import json
import os
import secrets
import shutil
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pytest_noepicycle.codec import decode, encode
from pytest_noepicycle.domain.patch import Patch
from pytest_noepicycle.errors import RecordError


@dataclass(frozen=True, slots=True)
class Record:
    """One run's folder."""

    folder: Path

    @property
    def run_id(self) -> str:
        """Return the run's name."""
        return self.folder.name

    def write(self, name: str, content: str | bytes) -> None:
        """Write a file of the record; a reader sees the old or the new one, never a half."""
        part = self.folder / f".{name}.part"
        part.write_bytes(content if isinstance(content, bytes) else content.encode("utf-8", "backslashreplace"))
        part.replace(self.folder / name)

    def keep_patch(self, root: str, patch: Patch) -> None:
        """Keep the patch twice: as a diff for people and git, and with whole files for apply and undo."""
        self.write("best.patch", patch.diff())
        relative = os.path.relpath(root, self.folder)  # a project that is moved or copied takes its records along
        self.write("patch.json", json.dumps({"root": relative, "patch": encode(patch)}))

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
        except ValueError as error:
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
        """Return the records of a tree, the folder made where it is missing; it ignores itself in git.

        :raises RecordError: where it cannot be made.
        """
        home = Path(root, directory)
        try:
            (home / "runs").mkdir(parents=True, exist_ok=True)
            ignore = home / ".gitignore"
            if not ignore.exists():
                ignore.write_text("*\n", "utf-8")
        except OSError as error:
            hint = "Name a folder that can be written with --noepi-dir."
            raise RecordError(f"{home} cannot hold records: {error.strerror}", hint=hint) from error
        return cls(home)

    def staging(self) -> Path:
        """Make a folder on the tree's file system for files on their way; what a kill left there is removed."""
        folder = self.home / "staging"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True, exist_ok=True)
        return folder

    def new(self, keep: int) -> Record:
        """Begin a record and name it the newest; of the older ones ``keep - 1`` stay."""
        run_id = f"{time.strftime('%Y%m%d-%H%M%S')}-{secrets.token_hex(2)}"
        folder = self.home / "runs" / run_id
        folder.mkdir(parents=True)
        (self.home / "last").write_text(run_id + "\n", "utf-8")
        others = [path for path in (self.home / "runs").iterdir() if path.is_dir() and path != folder]
        others.sort(key=lambda path: path.stat().st_mtime_ns, reverse=True)
        for old in others[keep - 1 :]:
            shutil.rmtree(old, ignore_errors=True)
        return Record(folder)

    def newest_with_patch(self) -> Record:
        """Return the newest run that has a patch.

        :raises RecordError: where there is none.
        """
        runs = sorted((path for path in (self.home / "runs").iterdir()), key=lambda p: p.name, reverse=True)
        for folder in runs:
            if (folder / "patch.json").is_file():
                return Record(folder)
        raise RecordError("no run that is recorded here has a patch: none gained anything that was proven")

    def find(self, run: str | None) -> Record:
        """Return a run by its name, by the start of its name, or by its folder; None is the newest.

        :raises RecordError: where there is none, or more than one.
        """
        if run and (os.sep in run or Path(run, "decisions.jsonl").exists()):
            return Record(Path(run).resolve())
        name = run or self._last()
        found = sorted(path for path in (self.home / "runs").iterdir() if path.is_dir() and path.name.startswith(name))
        if len(found) != 1:
            raise RecordError(f"{len(found) or 'no'} runs are named {name!r}")
        return Record(found[0])

    def _last(self) -> str:
        try:
            return (self.home / "last").read_text("utf-8").strip()
        except FileNotFoundError:
            raise RecordError(f"no run is recorded in {self.home}") from None
