"""The composition root of ``noepi verify``: a candidate and a project in, evidence out; nothing is changed."""

from __future__ import annotations

import contextlib
import os
import tempfile
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from pytest_noepicycle.adapters import facts, git, patches, snapshot
from pytest_noepicycle.adapters.snapshot import TreeSnapshot
from pytest_noepicycle.codec import decode
from pytest_noepicycle.domain.edit_list import Candidate
from pytest_noepicycle.domain.evidence import Evidence
from pytest_noepicycle.domain.patch import Patch
from pytest_noepicycle.domain.score import Baseline
from pytest_noepicycle.domain.session import Session
from pytest_noepicycle.domain.settings import Settings
from pytest_noepicycle.domain.territory import Territory
from pytest_noepicycle.domain.trial import Report, Status, Trial
from pytest_noepicycle.errors import EngineUnavailable, SandboxError, UsageError
from pytest_noepicycle.ports import Clock
from pytest_noepicycle.sandbox import choice
from pytest_noepicycle.sandbox.choice import GuardedSandbox
from pytest_noepicycle.sandbox.layout import lay_out_inside
from pytest_noepicycle.sandbox.pool import Pool
from pytest_noepicycle.stages import judgement
from pytest_noepicycle.stages.demands import demands
from pytest_noepicycle.stages.names import by_file, importable
from pytest_noepicycle.stages.propose import territory
from pytest_noepicycle.stages.running import Clocks, Run, bounded, run_all
from pytest_noepicycle.stages.scene import Surroundings
from pytest_noepicycle.stages.triage import Triage, triage
from pytest_noepicycle.stages.verify import Verdict
from pytest_noepicycle.stages.verify import verify as proved

_RERUNS = 1  # of what failed at the base, beside the run of everything and the one of the proof without the patch
_LEAST_SECONDS, _PER_SECOND = 20.0, 5.0  # a proof's run may take so much, and so many times the baseline's
_LEAST_RUN = 1.0  # seconds of a run, however little time is left: what it comes to is said
_RED = (Status.FAILED, Status.ERROR, Status.TIMEOUT)


@dataclass(frozen=True, slots=True)
class Request:
    """What to verify: a diff's bytes, edits' bytes, or neither for the work tree; ``base`` is a revision of git.

    ``values`` are settings that win over the project's ini file; ``arguments`` are pytest's.
    """

    diff: bytes | None = None
    edits: bytes | None = None
    base: str | None = None
    python: str = ""
    arguments: tuple[str, ...] = ()
    values: Mapping[str, Any] = field(default_factory=dict)


def verify(request: Request, folder: str) -> Evidence:
    """Prove or refute a patch of the project in ``folder``. No code of the project runs outside the sandbox.

    :raises NoepiError: where it could not be tried at all; a patch that fails is no error but a ruling.
    """
    began = time.monotonic()
    session, settings = ask(request, folder)
    with contextlib.ExitStack() as stack:
        compare = request.diff is None and request.edits is None
        shot = stack.enter_context(_base(session.tree, "HEAD" if compare and not request.base else request.base))
        candidate = _candidate(request, session.tree, shot)
        court = stack.enter_context(open_court(session, settings, shot, candidate.patch))
        return replace(court.judge(candidate), seconds=round(time.monotonic() - began, 2))


def ask(request: Request, folder: str) -> tuple[Session, Settings]:
    """Return the session that pytest would be, and the settings.

    :raises UsageError: where the project's interpreter or configuration does not answer.
    """
    chosen = [word for word in request.arguments if word.startswith(("-k", "-m"))]
    if chosen:
        raise UsageError(
            f"{chosen[0]} cannot choose what to prove: tests are chosen by their ids, frozen at the base",
            hint="Name files or node ids behind --.",
        )
    with tempfile.TemporaryDirectory(prefix="noepi-inside-") as half:
        lay_out_inside(Path(half))
        place = git.place(folder)
        untrusted = place.top if place else folder
        told = facts.ask(request.python, folder, request.arguments, Path(half), untrusted=untrusted)
    return decode(Session, told), Settings.from_mapping({**told["settings"], **request.values})


@contextlib.contextmanager
def _base(root: str, revision: str | None) -> Iterator[TreeSnapshot]:
    """Hold the base as a snapshot: the work tree as it is, or a revision laid out as if it were there."""
    with contextlib.ExitStack() as stack:
        if revision is None:
            shot = snapshot.snapshot(root)
        else:
            elsewhere = stack.enter_context(tempfile.TemporaryDirectory(prefix="noepi-base-"))
            _lay_out(git.files_at(root, revision), Path(elsewhere))
            shot = replace(snapshot.snapshot(elsewhere), root=root)
        stack.callback(shot.close)
        yield shot


def _lay_out(files: Mapping[str, git.Entry], folder: Path) -> None:
    for path, entry in files.items():
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        if entry.mode == "120000":
            target.symlink_to(os.fsdecode(entry.content))
        elif entry.mode != "160000":
            target.write_bytes(entry.content)
            target.chmod(0o755 if entry.mode == "100755" else 0o644)


def _candidate(request: Request, root: str, shot: TreeSnapshot) -> Candidate:
    if request.edits is not None:
        return patches.from_edits(request.edits, shot.read)
    if request.diff is not None:
        place = git.place(root)
        return patches.from_diff(request.diff, shot.read, prefix=place.prefix if place else "")
    with contextlib.closing(snapshot.snapshot(root)) as seen:
        now = git.files_now(root, seen.files | seen.links)
    return patches.from_trees(git.files_at(root, request.base or "HEAD"), now)


@dataclass(frozen=True, slots=True)
class Court:
    """A base that was run and frozen, before which any number of candidates can be brought.

    ``seconds`` is the most that one run may take, ``allowance`` what all runs of one candidate's proof may take.
    """

    run: Run
    shot: TreeSnapshot
    territory: Territory
    baseline: Baseline
    clocks: Clocks
    seconds: float
    allowance: float
    first: Report
    left_out: Mapping[str, str]
    sandbox: str
    clock: Clock = time.monotonic

    def judge(self, candidate: Candidate) -> Evidence:
        """Return the evidence; a sandbox that is lost proves nothing, nor does a proof that ran out of time."""
        found = judgement.evidence(candidate, self.territory, self.baseline, self._prove)
        return replace(found, left_out=self.left_out, sandbox=self.sandbox)

    def _prove(self, patch: Patch) -> Verdict:
        hanging = frozenset(t for t in self.baseline.targets if self.first.select([t])[t].status is Status.TIMEOUT)
        until = self.clock() + self.allowance
        try:
            verdict = proved(
                patch,
                self.baseline,
                bounded(self.run, self.clock, until, least=_LEAST_RUN),
                self.clocks,
                seconds=self.seconds,
                read=self.shot.read,
                collected=self.first.collected,
                hanging=hanging,
            )
        except SandboxError as error:
            return Verdict((), (), {"cold": "failed"}, why=f"the sandbox was lost: {error}")
        return verdict if self.clock() < until else _cut_off(verdict)


def _cut_off(verdict: Verdict) -> Verdict:
    """Return the verdict of a proof whose last runs had no time: whatever they showed, nothing is proved by it."""
    over = "the time limit ended the proof before it was complete: raise --time-limit"
    why = f"{over} ({verdict.why})" if verdict.why else over
    return replace(verdict, fixed=(), checks={**verdict.checks, "cold": "failed"}, why=why)


@contextlib.contextmanager
def open_court(session: Session, settings: Settings, shot: TreeSnapshot, patch: Patch) -> Iterator[Court]:
    """Run the base, sort what fails there, freeze targets and guards; ``patch`` may bring modules that are missing.

    :raises NoepiError: where no sandbox can be had that may run code of unknown origin, or no test runs in it.
    """
    sandbox = _sandbox(_lean(session), settings)
    pool, began = Pool(sandbox, shot, 1), time.monotonic()
    with contextlib.closing(pool):
        share = settings.time_limit / 4
        run = bounded(pool.run_fresh, time.monotonic, began + 2 * share, least=_LEAST_RUN)  # half is the proof's
        first = run_all(run, Trial(Patch(), None, Clocks().limits((), share), cold=True))
        if not first.outcomes:
            raise SandboxError(
                f"no test ran at the base ({first.end}): {first.why or first.output[-500:]}",
                hint="Does plain pytest find tests in this folder? noepi_env lets environment names through.",
            )
        land = territory(session, settings, shot.files, shot.links, lambda path: False)
        red = _chosen(tuple(t for t, o in first.outcomes.items() if o.status in _RED), session)
        known = land.taken | importable((*shot.files, *patch.paths))
        sorted_out = triage(
            red,
            run,
            fresh=run,
            reruns=_RERUNS,
            seconds=share,
            known=known,
            around=Surroundings(known, shot.files, shot.read),
        )
        baseline = _frozen(sorted_out, first)
        durations = {test: outcome.duration for test, outcome in first.outcomes.items()}
        yield Court(
            run=pool.run_fresh,
            shot=shot,
            territory=replace(
                land,
                tests_in=by_file((*first.collected, *baseline.targets)),
                demands=demands(baseline.targets, shot.read),
            ),
            baseline=baseline,
            clocks=Clocks(durations, settings.test_timeout),
            seconds=min(share, _LEAST_SECONDS + _PER_SECOND * first.seconds),
            allowance=settings.time_limit - (time.monotonic() - began),
            first=first,
            left_out=_left_out(sorted_out),
            sandbox=sandbox.kind,
        )


def _lean(session: Session) -> Session:
    """Leave out the plugins that a warm worker would import beforehand: every run of a proof is a cold one."""
    return replace(session, plugins=tuple(p for p in session.plugins if p.distribution == "pytest-cov"))


def _sandbox(session: Session, settings: Settings) -> GuardedSandbox:
    """Return a sandbox for code that anyone may have written.

    :raises EngineUnavailable: where that needs Docker, and the process sandbox was not asked for by name.
    """
    sandbox = choice.choose(settings.sandbox, session, settings)
    if not sandbox.runs_model_code:
        raise EngineUnavailable(
            "a patch of unknown origin runs in Docker only, and no engine answers",
            hint=f"Start Docker, or choose --sandbox process. {sandbox.limits_note}",
        )
    return sandbox


def _chosen(failed: tuple[str, ...], session: Session) -> tuple[str, ...]:
    """Return the failures among the files and ids that the arguments name, or all of them."""
    named = [word for word in session.args if not word.startswith("-")]
    places = [_as_id(word, session) for word in named if (Path(session.cwd) / word.split("::")[0]).exists()]
    if not places:
        return failed
    return tuple(t for t in failed if any(t == p or t.startswith((f"{p}/", f"{p}::", f"{p}[")) for p in places))


def _as_id(word: str, session: Session) -> str:
    path, colons, rest = word.partition("::")
    return os.path.relpath(Path(session.cwd) / path, session.rootdir).replace(os.sep, "/") + colons + rest


def _frozen(sorted_out: Triage, first: Report) -> Baseline:
    targets = tuple(dict.fromkeys(failure.test for failure in sorted_out.real))
    return Baseline(targets, tuple(test for test, outcome in first.outcomes.items() if outcome.passed))


def _left_out(sorted_out: Triage) -> dict[str, str]:
    found = {finding.test: f"{finding.kind}: {finding.hint}" for finding in sorted_out.findings}
    return {**found, **dict.fromkeys(sorted_out.absent, "flaky: failed once and passed each time it was run again")}
