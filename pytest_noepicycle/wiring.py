"""The composition root: settings and a failed session in, ports bound, the loop run, the record written."""

from __future__ import annotations

import contextlib
import os
import signal
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TextIO

from pytest_noepicycle.adapters import git, ladder_files, outside, snapshot, tree
from pytest_noepicycle.adapters.records import Record, Records
from pytest_noepicycle.adapters.snapshot import TreeSnapshot
from pytest_noepicycle.closing import Closing
from pytest_noepicycle.codec import decode, encode
from pytest_noepicycle.domain.budget import Ledger
from pytest_noepicycle.domain.guard import Territory
from pytest_noepicycle.domain.ladder import KINDS, Ladder
from pytest_noepicycle.domain.run import Skipped, StopReason
from pytest_noepicycle.domain.score import Baseline
from pytest_noepicycle.domain.session import Session
from pytest_noepicycle.domain.settings import Settings
from pytest_noepicycle.errors import SandboxError
from pytest_noepicycle.proposers import Arm, Arming, ProposerFactory, at_its_servers, kinds_of, priced
from pytest_noepicycle.report import terminal
from pytest_noepicycle.report.journal import JournalFile
from pytest_noepicycle.report.summary import Summary
from pytest_noepicycle.resumption import CHECKPOINTS, Earlier, Today, earlier, selected
from pytest_noepicycle.rungs.handover import Transfer
from pytest_noepicycle.sandbox import choice
from pytest_noepicycle.sandbox.choice import GuardedSandbox
from pytest_noepicycle.sandbox.layout import lay_out_inside
from pytest_noepicycle.sandbox.pool import Pool
from pytest_noepicycle.scoring import ClusterGround, cluster_of
from pytest_noepicycle.stages.propose import Gate, territory
from pytest_noepicycle.stages.running import Run
from pytest_noepicycle.stages.trial import Judged
from pytest_noepicycle.supervisor import graph
from pytest_noepicycle.supervisor.purse import Purse
from pytest_noepicycle.supervisor.resuming import heard, ledger_of
from pytest_noepicycle.supervisor.state import State
from pytest_noepicycle.supervisor.work import Memory, Work, no_grade


def repair_here(facts: Mapping[str, Any], values: Mapping[str, Any], hooks: Any, paper: terminal.Paper) -> Summary:
    """Repair what a pytest session in this process left failing, and say so on its terminal."""
    return repair(decode(Session, facts), Settings.from_mapping(values), paper, hooks=hooks)


def run_tests(python: str, arguments: list[str], output: TextIO, cwd: Path | None = None) -> dict[str, Any]:
    """Run a project's tests in its own interpreter, with only the thin half beside them; return the facts.

    :raises UsageError: where that interpreter cannot run them.
    """
    with tempfile.TemporaryDirectory(prefix="noepi-inside-") as folder:
        lay_out_inside(Path(folder))
        return outside.run_tests(python, arguments, output, Path(folder), cwd)


def repair_outside(facts: Mapping[str, Any], values: Mapping[str, Any], paper: terminal.Paper) -> Summary:
    """Repair what :func:`run_tests` found failing; ``values`` win over the project's ini file."""
    if facts.get("hooks"):
        paper.line(f"noepi: hooks of the project are not called from another environment: {', '.join(facts['hooks'])}")
    return repair(decode(Session, facts), Settings.from_mapping({**facts["settings"], **values}), paper)


def repair(
    session: Session,
    settings: Settings,
    paper: terminal.Paper,
    *,
    hooks: Any = None,
    ladder: Ladder | None = None,
    arm: Arm | None = None,
) -> Summary:
    """Run the whole repair of a failed session and return what came of it.

    A ``ladder`` stands for the one that the settings name; ``arm`` makes its rungs ready, where others than
    those that ship are wanted.

    :raises NoepiError: where it could not begin; nothing was changed then.
    """
    began = time.monotonic()
    ladder = ladder or ladder_files.load(settings.ladder, kinds=(*KINDS, *kinds_of(hooks)))
    if arm is None:  # whoever arms the rungs says where they are asked
        ladder = at_its_servers(ladder, lambda text: paper.line(f"noepi: {text}", yellow=True))
    priced(ladder, settings)
    sandbox = choice.choose(settings.sandbox, session, settings)
    records = Records.of(session.tree, settings.dir)
    with cluster_of(settings) as cluster, tree.locked(records.home), _ended_gently():
        return _Run(session, settings, ladder, sandbox, records, paper, hooks, began, arm, cluster).through()


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
class _Desk:
    """What lies open while a run goes on."""

    shot: TreeSnapshot
    record: Record
    journal: JournalFile
    progress: terminal.Progress
    purse: Purse
    skipped: tuple[Skipped, ...]
    kept: graph.Kept | None
    earlier: tuple[Mapping[str, Any], ...] = ()


@dataclass(frozen=True, slots=True)
class _Run:
    """One repair: everything that was chosen for it, and the way through."""

    session: Session
    settings: Settings
    ladder: Ladder
    sandbox: GuardedSandbox
    records: Records
    paper: terminal.Paper
    hooks: Any
    began: float
    arm: Arm | None
    cluster: Any = None

    def through(self) -> Summary:
        """Take the snapshot, walk the graph, prove, write the record, change the tree if that was asked for."""
        revision = git.revision(self.session.tree)
        with contextlib.ExitStack() as stack:
            shot = snapshot.snapshot(self.session.tree, leave_out=frozenset({str(self.records.home)}))
            stack.callback(shot.close)
            wanted = self.settings.resume
            before = None if wanted is None else earlier(self.records, wanted, self._today(shot))
            run = self if before is None else replace(self, began=self.began - before.seconds)
            desk = run._open(stack, shot, before)
            desk.journal.write("resumed" if before else "run_started", tree=shot.digest, **run._facts(desk, revision))
            state = run._walk(desk, stack)
            desk.progress.finish()
            closing = Closing(run.session, run.settings, run.records, desk.record, desk.journal)
            seconds = time.monotonic() - run.began
            result = closing.apply(state.result(desk.record.run_id, desk.skipped, seconds))
            done = closing.write(result, desk.purse.ledger, revision, run.sandbox)
        terminal.render(done, self.paper, commands="noepi")
        if self.hooks is not None:
            self.hooks.pytest_noepi_report(result=done.result)
        return done

    def _today(self, shot: TreeSnapshot) -> Today:
        factory, allowed = self._factory, self.sandbox.runs_model_code
        return Today(shot.digest, self.session, self.ladder, factory.skipped(), allowed, factory.secrets())

    def _open(self, stack: contextlib.ExitStack, shot: TreeSnapshot, before: Earlier | None) -> _Desk:
        """Open the journal and the purse, anew or as an earlier run left them, and say what was chosen."""
        record = before.record if before else self.records.new(self.settings.keep_runs)
        journal = JournalFile(record.folder / "decisions.jsonl", self._factory.secrets())
        stack.callback(journal.close)
        progress = terminal.Progress(self.paper, self.settings.budget)
        stack.callback(progress.finish)
        progress.stage(f"sandbox: {self.sandbox.kind}")
        if self.sandbox.limits_note:
            progress.stage(self.sandbox.limits_note)
        if self.ladder.warning:
            self.paper.line(self.ladder.warning, yellow=True)
        caps = self.settings.budget, self.settings.budget_usd
        purse = Purse(
            ledger_of(before.events, *caps) if before else Ledger(*caps),
            journal,
            clock=time.monotonic,
            sleep=time.sleep,
            heard=heard(before.events, before.kept.state.calls) if before else None,
            keep_content=self.settings.record_content,
        )
        skipped = self._factory.skipped()
        if before is None:
            return _Desk(shot, record, journal, progress, purse, skipped, None)
        return _Desk(shot, record, journal, progress, purse, skipped, before.kept, tuple(before.events))

    def _walk(self, desk: _Desk, stack: contextlib.ExitStack) -> State:
        blocked = frozenset(skipped.rung for skipped in desk.skipped)
        entry = self.ladder.entry(blocked)
        start = State(rung=entry or self.ladder.start)
        if entry is None:
            return replace(start, stop=StopReason.EXHAUSTED, why="no rung of the ladder can be used")
        try:
            return graph.run(start, self._work(desk, blocked, stack), desk.record.folder / CHECKPOINTS, desk.kept)
        except SandboxError as error:
            desk.journal.write("sandbox_lost", why=str(error))
            return replace(start, stop=StopReason.SANDBOX_LOST, why=error.sentence())
        except KeyboardInterrupt:
            desk.journal.write("interrupted")
            return replace(start, stop=StopReason.INTERRUPTED, why="interrupted before anything was gained")

    def _work(self, desk: _Desk, blocked: frozenset[str], stack: contextlib.ExitStack) -> Work:
        width = self.settings.workers or os.cpu_count() or 1
        pool = Pool(self.sandbox, desk.shot, width)
        stack.callback(pool.close)
        run: Run = pool.run
        if self.cluster is not None:
            ground = ClusterGround.of(self.session, self.settings, self.sandbox.kind, desk.shot)
            scorer = self.cluster.scorer(ground, run, desk.progress.stage)
            run, width = scorer.run, self.settings.workers or self.cluster.width
        executor = ThreadPoolExecutor(width, thread_name_prefix="noepi")
        stack.callback(executor.shutdown, wait=True, cancel_futures=True)
        if self.cluster is not None:
            stack.callback(scorer.close)
        stack.callback(pool.close)  # first, so that no thread waits for a candidate that nobody wants
        memory, land = Memory(), self._territory(desk.shot)
        arming = self._arming(desk.progress.stage, desk)
        return Work(
            session=self.session,
            settings=self.settings,
            ladder=self.ladder,
            snapshot=desk.shot,
            territory=land,
            run=run,
            run_fresh=pool.run_fresh,
            executor=executor,
            width=width,
            proposers=arming.proposers(desk.purse, lambda: self._seconds_left(memory)),
            blocked=blocked,
            purse=desk.purse,
            journal=desk.journal,
            watcher=desk.progress,
            clock=time.monotonic,
            deadline=self.began + self.settings.time_limit,
            told=self._told,
            gate=Gate(land),
            memory=memory,
            preview=arming.preview,
            grade=self._grade if self.hooks is not None else no_grade,
        )

    @property
    def _factory(self) -> Arming:
        return self._arming(lambda text: None)

    def _arming(self, note: Callable[[str], None], desk: _Desk | None = None) -> Arming:
        chosen = self.ladder, self.session.tree, self.sandbox.runs_model_code
        if self.arm is not None:
            return self.arm(*chosen)
        transfer, kinds = Transfer(self.settings.context_transfer), kinds_of(self.hooks)
        factory = ProposerFactory(*chosen, transfer, note, kinds=kinds)
        if desk is None or desk.kept is None:
            return factory
        return replace(factory, earlier=desk.earlier, finished=len(desk.kept.state.attempts))

    def _seconds_left(self, memory: Memory) -> float:
        """Return how long a call to a model may take: what is left but for the proof."""
        return self.began + self.settings.time_limit - time.monotonic() - memory.proof_seconds

    def _territory(self, shot: TreeSnapshot) -> Territory:
        return territory(self.session, self.settings, shot.files, shot.links, self._forbidden)

    def _forbidden(self, path: str) -> bool:
        return bool(self.hooks is not None and self.hooks.pytest_noepi_protect(path=path))

    def _grade(self, run: Judged, baseline: Baseline) -> float | None:
        given: float | None = self.hooks.pytest_noepi_score(run=run, baseline=baseline)
        return given

    def _told(self, situation: Any, decision: Any) -> None:
        if self.hooks is not None:
            self.hooks.pytest_noepi_decision(state=situation, decision=decision)

    def _facts(self, desk: _Desk, revision: git.Revision) -> dict[str, Any]:
        return {
            "run_id": desk.record.run_id,
            "failed": list(self.session.failed),
            "tests": selected(self.session),
            "python": self.session.interpreter.version,
            "pytest": self.session.pytest_version,
            "base_commit": revision.commit,
            "dirty": revision.dirty,
            "ladder": encode(self.ladder),
            "sandbox": self.sandbox.kind,
            "skipped": [[s.rung, s.why] for s in desk.skipped],
            "budget": {"tokens": self.settings.budget, "usd": self.settings.budget_usd},
        }
