"""The end of a run: the patch kept, the work tree changed if that was asked for, the result written down."""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import dataclass, replace

from pytest_noepicycle.adapters import git, tree
from pytest_noepicycle.adapters.records import Record, Records
from pytest_noepicycle.domain.budget import Ledger
from pytest_noepicycle.domain.run import RunResult
from pytest_noepicycle.domain.session import Session
from pytest_noepicycle.domain.settings import Apply, Settings
from pytest_noepicycle.errors import NoepiError
from pytest_noepicycle.report import markdown, reading
from pytest_noepicycle.report import summary as summaries
from pytest_noepicycle.report.history import History
from pytest_noepicycle.report.journal import JournalFile
from pytest_noepicycle.report.summary import Summary
from pytest_noepicycle.sandbox.choice import GuardedSandbox


@dataclass(frozen=True, slots=True)
class Closing:
    """Where a finished run goes: its record, its tree, its journal."""

    session: Session
    settings: Settings
    records: Records
    record: Record
    journal: JournalFile

    def apply(self, result: RunResult) -> RunResult:
        """Keep the patch (or take away one from before the run went on); write it to the tree where that is set."""
        if not result.patch.changes:
            self.record.drop_patch()
            return result
        self.record.keep_patch(self.session.tree, result.patch)
        wanted = self.settings.apply
        if wanted is Apply.NEVER or (wanted is Apply.SOLVED and not result.solved):
            return result
        try:
            with self.records.staging() as staging:
                paths = tree.write(self.session.tree, result.patch, staging)
        except NoepiError as error:
            return replace(result, warnings=(*result.warnings, error.sentence()))
        self.journal.write("applied", paths=list(paths))
        return replace(result, applied=True)

    def write(self, result: RunResult, ledger: Ledger, revision: git.Revision, sandbox: GuardedSandbox) -> Summary:
        """Write ``result.json`` and the reports, and return what they hold."""
        done = self._summary(result, ledger, revision, sandbox)
        self.record.write("result.json", json.dumps(summaries.as_json(done), indent=2, ensure_ascii=False) + "\n")
        # First the event: the reports are made of the journal, and a journal without it is one of an unfinished run.
        self.journal.write("run_ended", stop_reason=str(result.stop_reason), solved=result.solved)
        past = reading.read(self.record.folder)
        self.record.write("report.md", markdown.render(past))
        self.record.write("report.html", _page(past))
        return done

    def _summary(self, result: RunResult, ledger: Ledger, revision: git.Revision, sandbox: GuardedSandbox) -> Summary:
        # Where the checkout lies does not make it another failure.
        here = f"{self.session.tree.rstrip('/')}/"
        names = sorted({f"{f.test}|{f.signature.replace(here, '')}" for f in self.session.failures})
        return Summary(
            result=result,
            ledger=ledger,
            directory=os.path.relpath(self.record.folder, self.session.invocation_dir),
            base_commit=revision.commit,
            dirty=revision.dirty,
            fingerprint=hashlib.sha256("\n".join(names).encode()).hexdigest()[:16],
            sandbox={
                "kind": sandbox.kind,
                "image": self.settings.image,
                "network": not sandbox.confined or bool(sandbox.services),
                "services": list(sandbox.services),
            },
        )


def _page(past: History) -> str:
    from pytest_noepicycle.report.html import page  # here, for it brings a template engine

    return page.render(past)
