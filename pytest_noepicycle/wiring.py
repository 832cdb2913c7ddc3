"""The composition root: settings and a failed session in, ports bound, the loop run, the record written."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import signal
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TextIO

from pytest_noepicycle.adapters import git, ladder_files, outside, snapshot, tree
from pytest_noepicycle.adapters.records import Record, Records
from pytest_noepicycle.adapters.snapshot import TreeSnapshot
from pytest_noepicycle.codec import decode, encode
from pytest_noepicycle.domain.budget import Ledger
from pytest_noepicycle.domain.guard import Territory
from pytest_noepicycle.domain.ladder import Ladder
from pytest_noepicycle.domain.run import RunResult, Skipped, StopReason
from pytest_noepicycle.domain.session import Session
from pytest_noepicycle.domain.settings import Apply, Settings
from pytest_noepicycle.errors import SandboxError, TreeChanged
from pytest_noepicycle.proposers import ProposerFactory, at_its_servers, priced
from pytest_noepicycle.report import markdown, terminal
from pytest_noepicycle.report import summary as summaries
from pytest_noepicycle.report.journal import JournalFile
from pytest_noepicycle.report.summary import Summary
from pytest_noepicycle.sandbox import choice
from pytest_noepicycle.sandbox.choice import GuardedSandbox
from pytest_noepicycle.sandbox.layout import lay_out_inside
from pytest_noepicycle.sandbox.pool import Pool
from pytest_noepicycle.stages.propose import Gate, territory
from pytest_noepicycle.supervisor import graph
from pytest_noepicycle.supervisor.purse import Purse
from pytest_noepicycle.supervisor.state import State
from pytest_noepicycle.supervisor.work import Memory, Work

_LOCK_WAIT = 10.0


def repair_here(facts: Mapping[str, Any], values: Mapping[str, Any], hooks: Any, paper: terminal.Paper) -> Summary:
    """Repair what a pytest session in this process left failing, and say so on its terminal."""
    return repair(decode(Session, facts), Settings.from_mapping(values), paper, hooks=hooks)


def run_tests(python: str, arguments: list[str], output: TextIO) -> dict[str, Any]:
    """Run a project's tests in its own interpreter, with only the thin half beside them; return the facts.

    :raises UsageError: where that interpreter cannot run them.
    """
    with tempfile.TemporaryDirectory(prefix="noepi-inside-") as folder:
        lay_out_inside(Path(folder))
        return outside.run_tests(python, arguments, output, Path(folder))


def repair_outside(facts: Mapping[str, Any], values: Mapping[str, Any], paper: terminal.Paper) -> Summary:
    """Repair what :func:`run_tests` found failing; ``values`` win over the project's ini file."""
    if facts.get("hooks"):
        paper.line(f"noepi: hooks of the project are not called from another environment: {', '.join(facts['hooks'])}")
    return repair(decode(Session, facts), Settings.from_mapping({**facts["settings"], **values}), paper)


def repair(session: Session, settings: Settings, paper: terminal.Paper, *, hooks: Any = None) -> Summary:
    """Run the whole repair of a failed session and return what came of it.

    :raises NoepiError: where it could not begin; nothing was changed then.
    """
    began = time.monotonic()
    ladder = at_its_servers(ladder_files.load(settings.ladder), paper)
    priced(ladder, settings)
    sandbox = choice.choose(settings.sandbox, session, settings)
    records = Records.of(session.tree, settings.dir)
    with tree.locked(records.home, wait=_LOCK_WAIT), _ended_gently():
        run = _Run(session, settings, ladder, sandbox, records, records.new(settings.keep_runs), paper, hooks, began)
        return run.through()


@contextlib.contextmanager
def _ended_gently() -> Iterator[None]:
    """Take a SIGTERM, by which CI services cancel a job, for Ctrl-C: the best is kept and the record written."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def interrupt(number: int, frame: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


@dataclass(frozen=True, slots=True)
class _Run:
    """One repair: everything that was chosen for it, and the way through."""

    session: Session
    settings: Settings
    ladder: Ladder
    sandbox: GuardedSandbox
    records: Records
    record: Record
    paper: terminal.Paper
    hooks: Any
    began: float

    def through(self) -> Summary:
        """Take the snapshot, walk the graph, prove, write the record, change the tree if that was asked for."""
        journal = JournalFile(self.record.folder / "decisions.jsonl", self._factory.secrets())
        with contextlib.ExitStack() as stack:
            stack.callback(journal.close)
            revision = git.revision(self.session.tree)
            shot = snapshot.snapshot(self.session.tree, leave_out=frozenset({str(self.records.home)}))
            stack.callback(shot.close)
            progress = terminal.Progress(self.paper, self.settings.budget)
            stack.callback(progress.finish)
            progress.stage(f"sandbox: {self.sandbox.kind}")
            if self.sandbox.limits_note:
                progress.stage(self.sandbox.limits_note)
            purse = Purse(
                Ledger(self.settings.budget, self.settings.budget_usd), journal, clock=time.monotonic, sleep=time.sleep
            )
            skipped = self._factory.skipped()
            journal.write("run_started", **self._facts(revision, skipped))
            if self.ladder.warning:
                self.paper.line(self.ladder.warning, yellow=True)
            state = self._walk(shot, journal, progress, purse, frozenset(s.rung for s in skipped), stack)
            progress.finish()
            result = self._apply(state.result(self.record.run_id, skipped, time.monotonic() - self.began), journal)
            done = self._summary(result, purse.ledger, revision)
            self._write(done, journal)
        terminal.render(done, self.paper, commands="noepi")
        if self.hooks is not None:
            self.hooks.pytest_noepi_report(result=done.result)
        return done

    def _walk(
        self,
        shot: TreeSnapshot,
        journal: JournalFile,
        progress: terminal.Progress,
        purse: Purse,
        blocked: frozenset[str],
        stack: contextlib.ExitStack,
    ) -> State:
        width = self.settings.workers or os.cpu_count() or 1
        pool = Pool(self.sandbox, shot, width)
        stack.callback(pool.close)
        executor = ThreadPoolExecutor(width, thread_name_prefix="noepi")
        stack.callback(executor.shutdown, wait=True, cancel_futures=True)
        stack.callback(pool.close)  # first, so that no thread waits for a candidate that nobody wants
        entry = self.ladder.entry(blocked)
        start = State(rung=entry or self.ladder.start)
        if entry is None:
            return replace(start, stop=StopReason.EXHAUSTED, why="no rung of the ladder can be used")
        memory, ground = Memory(), self._territory(shot)
        work = Work(
            session=self.session,
            settings=self.settings,
            ladder=self.ladder,
            snapshot=shot,
            territory=ground,
            run=pool.run,
            run_fresh=pool.run_fresh,
            executor=executor,
            width=width,
            proposers=self._factory.proposers(purse, lambda: self._seconds_left(memory)),
            blocked=blocked,
            purse=purse,
            journal=journal,
            watcher=progress,
            clock=time.monotonic,
            deadline=self.began + self.settings.time_limit,
            told=self._told,
            gate=Gate(ground),
            memory=memory,
        )
        try:
            return graph.run(start, work)
        except SandboxError as error:
            journal.write("sandbox_lost", why=str(error))
            return replace(start, stop=StopReason.SANDBOX_LOST, why=error.sentence())
        except KeyboardInterrupt:
            journal.write("interrupted")
            return replace(start, stop=StopReason.INTERRUPTED, why="interrupted before anything was gained")

    @property
    def _factory(self) -> ProposerFactory:
        return ProposerFactory(self.ladder, self.session.tree, self.sandbox.runs_model_code)

    def _seconds_left(self, memory: Memory) -> float:
        """Return how long a call to a model may take: what is left but for the proof."""
        return self.began + self.settings.time_limit - time.monotonic() - memory.proof_seconds

    def _territory(self, shot: TreeSnapshot) -> Territory:
        return territory(self.session, self.settings, shot.files, shot.links, self._forbidden)

    def _forbidden(self, path: str) -> bool:
        return bool(self.hooks is not None and self.hooks.pytest_noepi_protect(path=path))

    def _told(self, situation: Any, decision: Any) -> None:
        if self.hooks is not None:
            self.hooks.pytest_noepi_decision(state=situation, decision=decision)

    def _facts(self, revision: git.Revision, skipped: tuple[Skipped, ...]) -> dict[str, Any]:
        return {
            "run_id": self.record.run_id,
            "failed": list(self.session.failed),
            "python": self.session.interpreter.version,
            "pytest": self.session.pytest_version,
            "base_commit": revision.commit,
            "dirty": revision.dirty,
            "ladder": encode(self.ladder),
            "sandbox": self.sandbox.kind,
            "skipped": [[s.rung, s.why] for s in skipped],
            "budget": {"tokens": self.settings.budget, "usd": self.settings.budget_usd},
        }

    def _apply(self, result: RunResult, journal: JournalFile) -> RunResult:
        if not result.patch.changes:
            return result
        self.record.keep_patch(self.session.tree, result.patch)
        wanted = self.settings.apply
        if wanted is Apply.NEVER or (wanted is Apply.SOLVED and not result.solved):
            return result
        try:
            paths = tree.write(self.session.tree, result.patch, self.records.staging())
        except TreeChanged as error:
            return replace(result, warnings=(*result.warnings, error.sentence()))
        except OSError as error:
            warning = f"the patch could not be written ({error}); noepi apply tries again"
            return replace(result, warnings=(*result.warnings, warning))
        journal.write("applied", paths=list(paths))
        return replace(result, applied=True)

    def _summary(self, result: RunResult, ledger: Ledger, revision: git.Revision) -> Summary:
        names = sorted({f"{failure.test}|{failure.signature}" for failure in self.session.failures})
        return Summary(
            result=result,
            ledger=ledger,
            directory=os.path.relpath(self.record.folder, self.session.invocation_dir),
            base_commit=revision.commit,
            dirty=revision.dirty,
            fingerprint=hashlib.sha256("\n".join(names).encode()).hexdigest()[:16],
            sandbox={"kind": self.sandbox.kind, "image": self.settings.image, "network": not self.sandbox.confined},
        )

    def _write(self, done: Summary, journal: JournalFile) -> None:
        self.record.write("result.json", json.dumps(summaries.as_json(done), indent=2, ensure_ascii=False) + "\n")
        self.record.write("report.md", markdown.render(done))
        journal.write("run_ended", stop_reason=str(done.result.stop_reason), solved=done.result.solved)
