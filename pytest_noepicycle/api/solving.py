"""A task with tests: a small project of a stubbed solution and the tests, mended by the engine that mends any other."""

from __future__ import annotations

import io
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pytest_noepicycle import wiring
from pytest_noepicycle.api.arguments import Plan
from pytest_noepicycle.api.arms import NO_MODEL_CODE, LoopArms, ModelArms, for_loop, served, usable, without_search
from pytest_noepicycle.api.chronicle import Chronicle
from pytest_noepicycle.api.waiting import Waiting
from pytest_noepicycle.codec import decode
from pytest_noepicycle.domain.ladder import Ladder
from pytest_noepicycle.domain.run import RunResult
from pytest_noepicycle.domain.session import Session
from pytest_noepicycle.domain.settings import Settings
from pytest_noepicycle.domain.signal_quality import FEW_TESTS, binary_warning, coverage_warning, widened
from pytest_noepicycle.domain.stubs import stubs
from pytest_noepicycle.errors import UsageError
from pytest_noepicycle.proposers import Arming, ProposerFactory
from pytest_noepicycle.report.terminal import PlainPaper
from pytest_noepicycle.rungs.ways import way_of

MODULE, SOLUTION, TESTS = "solution", "solution.py", "test_solution.py"
# Its own configuration, so that none of a folder above is taken; and without a plugin that only slows pytest down.
_INI = "[pytest]\naddopts = -p no:langsmith_plugin\n"
_NO_TESTS = 5


@dataclass(frozen=True, slots=True)
class Solving:
    """One run of a plan whose tests judge."""

    plan: Plan
    task: str
    inner_loop: Any
    waiting: Waiting
    chronicle: Chronicle

    def through(self) -> RunResult:
        """Make the project, mend it, and return what its solution has become.

        :raises UsageError: where no rung can be used, or the tests cannot judge.
        """
        ladder, arm = self._ladder(), self._arm()
        with tempfile.TemporaryDirectory(prefix="noepi-run-") as folder:
            home = Path(folder).resolve()
            stub = self._laid_out(home)
            session, paper = _tested(home, self.plan.python), PlainPaper(io.StringIO())
            settings = self._settings(session)
            done = wiring.repair(session, settings, paper, hooks=self.chronicle, ladder=ladder, arm=arm)
        _some_rung_ran(done.result, ladder)
        solution = done.result.patch.files().get(SOLUTION) or (stub.encode() if done.result.patch.changes else b"")
        return self.chronicle.finished(done.result, ladder, done.ledger, solution.decode("utf-8", "replace"))

    def _ladder(self) -> Ladder:
        if self.inner_loop is not None:
            return for_loop(self.plan.ladder)
        ladder = without_search(self.plan.ladder)
        usable(ladder, str(Path.cwd()))
        return served(ladder, self.plan.settings, self.chronicle.warn)

    def _laid_out(self, home: Path) -> str:
        code = self.plan.test_code or ""
        stub = stubs(code, MODULE)
        for name, text in ((SOLUTION, stub), (TESTS, code), ("pytest.ini", _INI)):
            (home / name).write_text(text, "utf-8", errors="surrogatepass", newline="")
        return stub

    def _settings(self, session: Session) -> Settings:
        """Say how much the tests can tell, and be patient where they can only say yes or no."""
        known = len(session.failed) + len(session.passed)
        collected = all("::" in test for test in session.failed)
        settings = self.plan.settings
        if collected and known < FEW_TESTS:
            self.chronicle.warn(coverage_warning(known))
        if len(session.failed) > 1:
            return settings
        self.chronicle.warn(binary_warning(settings.thresholds))
        return replace(settings, thresholds=widened(settings.thresholds))

    def _arm(self) -> Callable[[Ladder, str, bool], Arming]:
        if self.inner_loop is None:
            return self._models
        way = way_of(self.inner_loop, prefer_async=self.waiting.given)

        def arm(ladder: Ladder, tree: str, runs_model_code: bool) -> Arming:
            return LoopArms(ladder, self.task, SOLUTION, way, self.waiting, runs_model_code)

        return arm

    def _models(self, ladder: Ladder, tree: str, runs_model_code: bool) -> Arming:
        # The project is a temporary one: keys lie in the folder in which the caller works.
        shipped = ProposerFactory(ladder, str(Path.cwd()), runs_model_code)
        return ModelArms(shipped, self.task, self.plan.transfer, self.chronicle.note)


def _tested(home: Path, python: str) -> Session:
    """Run the tests over the stubs, as the engine will, and return what failed.

    :raises UsageError: where they cannot judge: none ran, or none fails.
    """
    with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as output:
        facts = wiring.run_tests(python, [TESTS], output, home)
        output.seek(0)
        said = output.read()[-2000:]
    session = decode(Session, facts)
    if session.exit_status == _NO_TESTS or not (session.failed or session.passed):
        raise UsageError("pytest found no test in test_code", hint=f"It said:\n{said}")
    if not session.failed:
        raise UsageError(
            "every test of test_code passes on stubs that do nothing, so the tests cannot judge a solution",
            hint=f"Tests import what they check: from {MODULE} import ...",
        )
    return session


def _some_rung_ran(result: RunResult, ladder: Ladder) -> None:
    """See that the run did not end only because no rung could be used.

    :raises UsageError: where it did, with why for each rung.
    """
    cannot = {skipped.rung: skipped.why for skipped in result.skipped}
    if set(ladder.rungs) <= cannot.keys():
        reasons = "; ".join(f"{name}: {why}" for name, why in cannot.items())
        sandboxed = any("needs Docker" in why for why in cannot.values())
        hint = f"Start Docker: {NO_MODEL_CODE}." if sandboxed else "Set the key, or give run() an inner_loop."
        raise UsageError(f"no rung of the ladder {ladder.name!r} can be used: {reasons}", hint=hint)
