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

from pytest_noepicycle.adapters import git, keys, ladder_files, outside, snapshot, tree
from pytest_noepicycle.adapters.messages import MessagesModel
from pytest_noepicycle.adapters.records import Record, Records
from pytest_noepicycle.adapters.snapshot import TreeSnapshot
from pytest_noepicycle.codec import decode, encode
from pytest_noepicycle.domain.budget import Ledger
from pytest_noepicycle.domain.guard import Territory
from pytest_noepicycle.domain.ladder import Ladder, Rung
from pytest_noepicycle.domain.redaction import redacted, secrets_in
from pytest_noepicycle.domain.run import RunResult, Skipped, StopReason
from pytest_noepicycle.domain.session import Session
from pytest_noepicycle.domain.settings import Apply, Settings
from pytest_noepicycle.errors import LadderError, SandboxError, TreeChanged
from pytest_noepicycle.ports import Answer, Proposer, Question
from pytest_noepicycle.report import markdown, terminal
from pytest_noepicycle.report import summary as summaries
from pytest_noepicycle.report.journal import JournalFile
from pytest_noepicycle.report.summary import Summary
from pytest_noepicycle.rungs.model import ModelRung
from pytest_noepicycle.rungs.search import LocalSearch
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
    ladder = _at_its_servers(ladder_files.load(settings.ladder), paper)
    _priced(ladder, settings)
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
        journal = JournalFile(self.record.folder / "decisions.jsonl", self._secrets())
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
            skipped = self._skipped()
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
        memory = Memory()
        work = Work(
            session=self.session,
            settings=self.settings,
            ladder=self.ladder,
            snapshot=shot,
            territory=self._territory(shot),
            run=pool.run,
            run_fresh=pool.run_fresh,
            executor=executor,
            width=width,
            proposers=self._proposers(purse, memory),
            blocked=blocked,
            purse=purse,
            journal=journal,
            watcher=progress,
            clock=time.monotonic,
            deadline=self.began + self.settings.time_limit,
            told=self._told,
            gate=Gate(self._territory(shot)),
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

    def _skipped(self) -> tuple[Skipped, ...]:
        """Name the rungs that cannot be used, each with what to set."""
        skipped = []
        for rung in self.ladder.rungs.values():
            if rung.kind != "model":
                continue
            if keys.api_key(rung.api_key_env, self.session.tree) is None:
                skipped.append(Skipped(rung.name, f"no API key: set {rung.api_key_env} in the environment or in .env"))
            elif not self.sandbox.runs_model_code:
                skipped.append(Skipped(rung.name, "code from a model needs Docker, or --noepi-sandbox process"))
        return tuple(skipped)

    def _proposers(self, purse: Purse, memory: Memory) -> dict[str, Proposer]:
        return {rung.name: self._proposer(rung, purse, memory) for rung in self.ladder.rungs.values()}

    def _proposer(self, rung: Rung, purse: Purse, memory: Memory) -> Proposer:
        if rung.kind == "search":
            return LocalSearch()
        model = MessagesModel(rung, keys.api_key(rung.api_key_env, self.session.tree) or "")

        secrets = self._secrets()

        def ask(question: Question) -> Answer:
            question = replace(
                question, stable=redacted(question.stable, secrets), prompt=redacted(question.prompt, secrets)
            )
            left = self.began + self.settings.time_limit - time.monotonic() - memory.proof_seconds
            return purse.ask(model, question, rung=rung, purpose="propose", seconds=left)

        return ModelRung(ask, rung)

    def _secrets(self) -> tuple[str, ...]:
        """Return the values that must leave this process in no text: the environment's, and the keys in use."""
        names = {rung.api_key_env for rung in self.ladder.rungs.values() if rung.api_key_env}
        used = (keys.api_key(name, self.session.tree) for name in sorted(names))
        return (*secrets_in(os.environ), *(key for key in used if key))

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


def _at_its_servers(ladder: Ladder, paper: terminal.Paper) -> Ladder:
    """Name the server that ANTHROPIC_BASE_URL sends code to, so that prices and warnings are about that one."""
    server = os.environ.get("ANTHROPIC_BASE_URL", "").rstrip("/")
    theirs = [rung for rung in ladder.rungs.values() if rung.kind == "model" and rung.base_url is None]
    if not server or server == "https://api.anthropic.com" or not theirs:
        return ladder
    paper.line(f"noepi: ANTHROPIC_BASE_URL is set: models are asked at {server}", yellow=True)
    moved = {rung.name: replace(rung, base_url=server) for rung in theirs}
    return replace(ladder, rungs={**ladder.rungs, **moved})


def _priced(ladder: Ladder, settings: Settings) -> None:
    """Under a money cap an unknown price is an error: it could be any."""
    if settings.budget_usd is None:
        return
    for rung in ladder.rungs.values():
        if rung.kind == "model" and rung.price is None:
            raise LadderError(
                f"{ladder.name}: rungs.{rung.name} has no price, and there is a cap in dollars",
                hint="Add to that rung: price: {input: X, output: Y}   # US dollars per million tokens",
            )
