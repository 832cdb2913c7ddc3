"""A run's record looked at again before it is published: are these the proven bytes, and may they be an edit at all?

The record may have come as an artifact from another job. Nothing in it is believed that can be checked, and no code of
the project runs here.
"""

from __future__ import annotations

import hashlib
import json
import re
import sys
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pytest_noepicycle import verifying
from pytest_noepicycle.adapters import git
from pytest_noepicycle.adapters.pushing import Blob, Clone
from pytest_noepicycle.adapters.records import Record
from pytest_noepicycle.codec import decode
from pytest_noepicycle.domain.evidence import Flag
from pytest_noepicycle.domain.failure import Failure
from pytest_noepicycle.domain.guard import judge
from pytest_noepicycle.domain.patch import Patch
from pytest_noepicycle.domain.publishing import Finished
from pytest_noepicycle.domain.territory import Territory
from pytest_noepicycle.errors import NoepiError, RecordError
from pytest_noepicycle.report import journal
from pytest_noepicycle.stages.demands import demands
from pytest_noepicycle.stages.flags import flags
from pytest_noepicycle.stages.names import by_file
from pytest_noepicycle.stages.propose import territory

ORIGIN = "origin.json"
"""What a record that travels says beside itself: ``folder``, the tree's place in the repository."""
_NAME = re.compile(r"[0-9a-f]{8,64}")
_FOLDER = re.compile(r"(?!.*(?:^|/)\.\.?/)(?:[\w.@+ -]+/)*")
_PLAIN_MODES = ("100644", "100755")


class Tampered(NoepiError):
    """The record does not hold together: it is not what a run has left there."""

    hint = "Publish the record as the run left it; where it came as an artifact, find out who changed it."


class Refused(NoepiError):
    """The guard turns the patch down; a run of this version would not have proposed it."""

    hint = "Nothing was published. The paths above must not be part of a patch."


@dataclass(frozen=True, slots=True)
class Paper:
    """A record as read: ``folder`` is the tree's place in the repository, empty or with a slash at its end."""

    result: Mapping[str, Any]
    events: tuple[Mapping[str, Any], ...]
    patch: Patch
    folder: str

    @property
    def commit(self) -> str:
        """Return the commit that the run looked at."""
        return str(self.result["base_commit"])

    def paths(self) -> tuple[str, ...]:
        """Return the patch's paths in the repository."""
        return tuple(self.folder + path for path in self.patch.paths)

    def finished(self, repository: str, base: str) -> Finished:
        """Return the run as publishing asks for it."""
        tests = _mapping(self.result.get("tests"))
        targets = _texts(tests.get("targets"))
        stop = str(self.result.get("stop_reason", ""))
        return Finished(
            repository=repository,
            base=base,
            commit=self.commit,
            failure=self._failure(),
            digest=self.patch.digest if self.patch.changes else "",
            fixed=len(set(_texts(tests.get("fixed"))) & set(targets)),
            targets=len(targets),
            proven=self.result.get("verified") is True and self._proved(),
            green=stop == "nothing_to_fix" and not targets and _count(tests.get("guards")) > 0,
            stop=stop,
        )

    def _failure(self) -> str:
        """Return the name of what failed: by what triage found real, in paths that no checkout's place is part of.

        What is flaky comes and goes, and must not make another failure of the same one.
        """
        events = [event for event in self.events if event.get("event") == "triaged"]
        if not events:
            return str(self.result.get("fingerprint", ""))
        try:
            real = [decode(Failure, failure) for failure in events[-1].get("real") or ()]
        except (ValueError, TypeError) as error:
            raise RecordError(f"decisions.jsonl is damaged: {error}") from error
        names = sorted({f"{failure.test}|{failure.signature}" for failure in real})
        return hashlib.sha256("\n".join(names).encode()).hexdigest()

    def _proved(self) -> bool:
        """Whether the last verdict of the journal holds, and for these very bytes."""
        verdicts = [event for event in self.events if event.get("event") == "verdict"]
        return bool(verdicts) and verdicts[-1].get("holds") is True and verdicts[-1].get("patch") == self.patch.digest


def read(record: Record, digest: str | None = None) -> Paper:
    """Read a record and see that its parts agree; ``digest`` is what the patch must have, where that is known.

    :raises RecordError: where something is missing or damaged.
    :raises Tampered: where the parts do not agree.
    """
    result = record.result()
    for name, may_be_empty in (("base_commit", False), ("fingerprint", True)):
        value = result.get(name, "")
        if not (isinstance(value, str) and (_NAME.fullmatch(value) or (may_be_empty and not value))):
            hint = "A pull request needs a repository with a commit." if not value else None
            raise RecordError(f"{record.run_id}: result.json names no {name.replace('_', ' ')}", hint=hint)
    root, patch = record.patch() if result.get("patch") else ("", Patch())
    paper = Paper(result, _events(record), patch, _folder(record, root))
    _check_bytes(paper, record, digest)
    return paper


def check_commit(paper: Paper, clone: Clone) -> dict[str, Blob]:
    """Return the files of the run's commit, having seen that the patch was made for it.

    :raises Tampered: where a file is not there as the patch says, or is no regular file.
    """
    files = clone.files(paper.commit)
    for change, path in zip(paper.patch.changes, paper.paths(), strict=True):
        blob = files.get(path)
        if blob is not None and blob.mode not in _PLAIN_MODES:
            raise Tampered(f"{path} is no regular file in {paper.commit[:12]}")
        if (clone.read(blob) if blob else None) != change.before:
            raise Tampered(
                f"{path} is not in {paper.commit[:12]} what the patch was made for",
                hint=f"Was the record changed, or does .gitattributes convert {path} on checkout?",
            )
    return files


def check_guard(paper: Paper, clone: Clone, files: Mapping[str, Blob]) -> tuple[Flag, ...]:
    """Judge the patch by the guard, on the commit's own files and settings, and return what a reviewer should read.

    :raises Refused: where a rule speaks against it.
    """
    land = _territory(paper, clone, files)
    refusals = judge(paper.patch, land)
    if refusals:
        told = "; ".join(f"{refusal.path}: {refusal.why} [{refusal.rule}]" for refusal in refusals)
        raise Refused(f"the guard turns the patch down: {told}")
    return flags(paper.patch, land)


def _territory(paper: Paper, clone: Clone, files: Mapping[str, Blob]) -> Territory:
    below = {path.removeprefix(paper.folder): blob for path, blob in files.items() if path.startswith(paper.folder)}
    with tempfile.TemporaryDirectory(prefix="noepi-publish-") as top:
        clone.lay_out(paper.commit, Path(top))
        session, settings = verifying.ask(verifying.Request(python=sys.executable), str(Path(top, paper.folder)))
    links = frozenset(path for path, blob in below.items() if blob.mode == "120000")
    regular = frozenset(path for path, blob in below.items() if blob.mode in _PLAIN_MODES)
    targets = _texts(_mapping(paper.result.get("tests")).get("targets"))
    return replace(
        territory(session, settings, regular, links, lambda path: False),
        tests_in=by_file(dict.fromkeys((*_known_tests(paper), *targets))),
        demands=demands(targets, _reader(clone, below)),
    )


def _known_tests(paper: Paper) -> list[str]:
    frozen = [event for event in paper.events if event.get("event") == "baseline"]
    return [test for event in frozen for name in ("targets", "guards", "unchecked") for test in _texts(event.get(name))]


def _reader(clone: Clone, files: Mapping[str, Blob]) -> Callable[[str], bytes | None]:
    def read(path: str) -> bytes | None:
        blob = files.get(path)
        return clone.read(blob) if blob is not None and blob.mode in _PLAIN_MODES else None

    return read


def _check_bytes(paper: Paper, record: Record, digest: str | None) -> None:
    """See that patch, diff and result speak of the same bytes, and the job that proved them too, where it told."""
    if digest and paper.patch.digest != digest:
        raise Tampered(f"the patch is not the one that the job named: {paper.patch.digest}, not {digest}")
    if not paper.patch.changes:
        return
    shown = record.folder / "best.patch"
    if not shown.is_file() or shown.read_bytes() != paper.patch.diff():
        raise Tampered("best.patch and patch.json are not the same patch")
    if _texts(_mapping(paper.result["patch"]).get("paths")) != list(paper.patch.paths):
        raise Tampered("result.json names other files than the patch changes")
    if not paper.result.get("fingerprint"):
        raise Tampered("result.json has a patch and no fingerprint of the failure")
    if paper.result.get("verified") is True and not paper.finished("", "").proven:
        raise Tampered("no verdict of the journal holds for these bytes, though the result says verified")


def _events(record: Record) -> tuple[Mapping[str, Any], ...]:
    path = record.folder / "decisions.jsonl"
    if not path.is_file():
        return ()
    try:
        return tuple(event for event in journal.read(path) if isinstance(event, dict))
    except ValueError as error:
        raise RecordError(f"{path} cannot be read: {error}") from error


def _folder(record: Record, root: str) -> str:
    """Return the tree's place in the repository: as the record says where it has travelled, else as git says."""
    told = record.folder / ORIGIN
    if not told.is_file():
        place = git.place(root) if root and Path(root).is_dir() else None
        return place.prefix if place else ""
    try:
        folder = json.loads(told.read_text("utf-8"))["folder"]
    except (ValueError, KeyError, TypeError) as error:
        raise RecordError(f"{told} cannot be read: {error}") from error
    if not isinstance(folder, str) or not _FOLDER.fullmatch(folder):
        raise Tampered(f"{ORIGIN} names a folder that is none: {folder!r}")
    return folder


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _count(value: object) -> int:
    return value if isinstance(value, int) else 0


def _texts(value: object) -> list[str]:
    return [item for item in value if isinstance(item, str)] if isinstance(value, list) else []
