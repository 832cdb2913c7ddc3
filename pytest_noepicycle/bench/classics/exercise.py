"""The tests of a case, run as pytest runs them: rewritten asserts, frames of what failed, lines that were reached."""

from __future__ import annotations

import ast
import signal
import sys
import traceback
import types
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from types import CodeType, FrameType
from typing import Any

from _pytest.assertion.rewrite import rewrite_asserts

from pytest_noepicycle.bench.classics.cases import Case
from pytest_noepicycle.domain.failure import Failure, Frame
from pytest_noepicycle.domain.trial import End, Outcome, Report, Status

_TEST_SECONDS = 0.2


class TooSlow(BaseException):
    """A test ran into its time limit; no handler of the code in hand catches it."""


def names_of_tests(text: str) -> list[str]:
    """Return the names of the test functions in a source."""
    return [n.name for n in ast.parse(text).body if isinstance(n, ast.FunctionDef) and n.name.startswith("test")]


def loaded(name: str, code: str, path: str) -> dict[str, Any]:
    """Run a program and return its names."""
    module = types.ModuleType(name)
    exec(compile(code, path, "exec", dont_inherit=True), module.__dict__)  # noqa: S102 - in a child process
    return module.__dict__


def exercise(case: Case, code: str, wanted: Sequence[str] | None, *, measured: bool) -> Report:
    """Run the tests named (all, if None) against a program, with the lines that each reached if ``measured``."""
    names = [n for n in names_of_tests(case.tests) if wanted is None or n in wanted]
    lines = _Lines((case.path, case.test_path)) if measured else None
    try:
        with _reached(lines, ""):
            program = loaded(case.name, code, case.path)
    except Exception as problem:  # noqa: BLE001 - whatever it raises is the outcome
        return _not_collected(case, names, problem)
    tests = {"__name__": "tests", **{k: v for k, v in program.items() if not k.startswith("__")}}
    exec(_rewritten(case), tests)  # noqa: S102 - in a child process
    outcomes = [_outcome(case, name, tests[name], lines) for name in names]
    return Report({o.test: o for o in outcomes}, End.COMPLETE, coverage=lines.by_test if lines else {})


def _rewritten(case: Case) -> CodeType:
    text = case.files[case.test_path].replace("import *", "import __name__", 1)
    text = "\n" + text.partition("\n")[2]
    tree = ast.parse(text)
    rewrite_asserts(tree, text.encode())
    return compile(tree, case.test_path, "exec", dont_inherit=True)


def _outcome(case: Case, name: str, test: Callable[[], object], lines: _Lines | None) -> Outcome:
    full = f"{case.test_path}::{name}"
    try:
        with _limited(_TEST_SECONDS), _reached(lines, full):
            test()
    except TooSlow as problem:
        return Outcome(full, Status.TIMEOUT, _TEST_SECONDS, _failure(case, full, problem))
    except BaseException as problem:  # noqa: BLE001 - whatever it raises is the outcome
        return Outcome(full, Status.FAILED, 0.0, _failure(case, full, problem))
    return Outcome(full, Status.PASSED)


def _failure(case: Case, test: str, problem: BaseException, phase: str = "call") -> Failure:
    steps = traceback.extract_tb(problem.__traceback__)
    known = [s for s in steps if s.filename in (case.path, case.test_path)]
    frames = tuple(Frame(s.filename, s.lineno or 1, s.name) for s in known)[-40:]
    kind = f"{type(problem).__module__}.{type(problem).__qualname__}"
    return Failure(test, phase, kind, _said(problem), frames, "".join(traceback.format_exception(problem)[-3:]))


def _said(problem: BaseException) -> str:
    """Return the message with what the interpreter suggests, as pytest shows it."""
    return "".join(traceback.format_exception_only(problem)).partition(": ")[2].strip()


def _not_collected(case: Case, names: list[str], problem: Exception) -> Report:
    failures = [_failure(case, f"{case.test_path}::{name}", problem, "collect") for name in names]
    return Report({f.test: Outcome(f.test, Status.ERROR, 0.0, f) for f in failures}, End.COMPLETE)


class _Lines:
    """The lines that run, by test and path."""

    def __init__(self, paths: tuple[str, ...]) -> None:
        self.paths = paths
        self.by_test: dict[str, dict[str, frozenset[int]]] = {}
        self.now: dict[str, set[int]] = {}

    def trace(self, frame: FrameType, event: str, _: object) -> Any:
        """Follow frames of the files in hand, and no others."""
        if frame.f_code.co_filename not in self.paths:
            return None
        self.now.setdefault(frame.f_code.co_filename, set()).add(frame.f_lineno)
        return self.trace


@contextmanager
def _reached(lines: _Lines | None, test: str) -> Iterator[None]:
    if lines is None:
        yield
        return
    lines.now = {}
    sys.settrace(lines.trace)
    try:
        yield
    finally:
        sys.settrace(None)
        lines.by_test[test] = {path: frozenset(found) for path, found in lines.now.items()}


@contextmanager
def _limited(seconds: float) -> Iterator[None]:
    def stop(*_: object) -> None:
        raise TooSlow("took too long")

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
