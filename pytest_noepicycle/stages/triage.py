"""Triage: what kind of failure each one is, told before anything is spent on it."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping
from concurrent.futures import Executor
from dataclasses import dataclass

from pytest_noepicycle.domain.failure import Failure
from pytest_noepicycle.domain.patch import Patch
from pytest_noepicycle.domain.run import Finding
from pytest_noepicycle.domain.trial import Outcome, Report, Status, Trial
from pytest_noepicycle.stages.running import Clocks, Run, run_all

_NO_MODULE = re.compile(r"No module named '([\w.]+)'")
_SERVICE = ("ConnectionRefusedError", "gaierror", "ConnectionError", "ConnectError", "URLError", "OperationalError")
_SERVICE_WORDS = ("connection refused", "name or service not known", "network is unreachable", "name resolution")


@dataclass(frozen=True, slots=True)
class Triage:
    """``real`` failures as the sandbox shows them, in order; ``findings`` about all others."""

    real: tuple[Failure, ...]
    findings: tuple[Finding, ...]
    absent: tuple[str, ...] = ()  # failed outside, passed every time when run again


def triage(
    failed: tuple[str, ...],
    run: Run,
    *,
    fresh: Run,
    executor: Executor | None = None,
    reruns: int,
    seconds: float,
    known: frozenset[str],
    clocks: Clocks | None = None,
) -> Triage:
    """Run what failed again, ``reruns`` times, one of them cold in a ``fresh`` box (beside the others, with an
    ``executor``), and sort it.

    ``known`` are the names of modules that exist, here and in the project.
    """
    beside = executor.submit(_round, failed, fresh, seconds, clocks or Clocks(), cold=True) if executor else None
    warm = [_round(failed, run, seconds, clocks or Clocks(), cold=False) for _ in range(reruns - 1)]
    cold = beside.result() if beside else _round(failed, fresh, seconds, clocks or Clocks(), cold=True)
    rounds = [cold, *warm]
    real: list[Failure] = []
    findings: list[Finding] = []
    absent: list[str] = []
    for test in failed:
        outcomes = [report.select([test])[test] for report in rounds]
        if all(outcome.passed for outcome in outcomes):
            absent.append(test)
            continue
        verdict = _verdict(test, outcomes, rounds[0], known)
        if isinstance(verdict, Finding):
            findings.append(verdict)
        else:
            real.append(verdict)
    return Triage(tuple(real), tuple(findings), tuple(absent))


def _round(failed: tuple[str, ...], run: Run, seconds: float, clocks: Clocks, *, cold: bool) -> Report:
    return run_all(run, Trial(Patch(), failed, clocks.limits(failed, seconds), cold=cold))


def _verdict(test: str, outcomes: list[Outcome], first: Report, known: frozenset[str]) -> Failure | Finding:
    passed = sum(outcome.passed for outcome in outcomes)
    if passed:
        return Finding(test, "flaky", f"passed in {passed} of {len(outcomes)} runs of the same code")
    failure = next((o.failure for o in outcomes if o.failure is not None), None)
    if failure is None:
        return _without_failure(test, outcomes, first)
    return environment(failure, known) or failure


def _without_failure(test: str, outcomes: list[Outcome], first: Report) -> Failure | Finding:
    statuses = {outcome.status for outcome in outcomes}
    if statuses == {Status.TIMEOUT}:
        return Failure(test, "call", "Timeout", "the test did not come to an end")
    collect = first.outcomes.get(test.split("::")[0])
    if collect is not None and collect.failure is not None:
        what = f"{collect.failure.exception}: {collect.failure.message[:200]}"
        return Finding(test, "environment", f"its file cannot be collected in the sandbox: {what}")
    if first.why and statuses == {Status.MISSING}:
        return Finding(test, "environment", f"the tests cannot be run in the sandbox: {first.why}")
    seen = ", ".join(sorted(statuses))
    return Finding(test, "environment", f"in the sandbox it is {seen}; noepi_env lets environment names through")


def environment(failure: Failure, known: frozenset[str]) -> Finding | None:
    """Return a finding where the failure lacks something of its surroundings; None where the code may be at fault."""
    text = f"{failure.message}\n{failure.text}".lower()
    missing = _NO_MODULE.search(failure.message)
    if failure.exception.endswith(("ModuleNotFoundError", "ImportError")) and missing:
        return _missing_module(failure, missing[1], known)
    if failure.exception.split(".")[-1] in _SERVICE and any(words in text for words in _SERVICE_WORDS):
        return Finding(failure.test, "environment", "a service or the network is not there")
    if "fixture '" in failure.message and "not found" in failure.message:
        return Finding(failure.test, "environment", "a fixture is missing: is the plugin that brings it installed?")
    program = re.search(r"No such file or directory: '([^'/ ]+)'", failure.message)
    if failure.exception == "FileNotFoundError" and program and "subprocess" in str(failure.frames):
        return Finding(failure.test, "environment", f"the program {program[1]!r} is not installed")
    return None


def _missing_module(failure: Failure, module: str, known: frozenset[str]) -> Finding | None:
    """A slip of the product's code may be mended; a test that asks for what is not there lacks its surroundings."""
    name, _, inner = module.partition(".")
    place = next((frame.path for frame in reversed(failure.frames) if frame.inside_tree), "")
    asked_by_test = place == failure.test.split("::")[0]
    if inner and name in known:
        return None  # a part of a package that is there: for a patch to bring, or to name rightly
    if name in known and asked_by_test:
        hint = f"{name!r} lies in the project and cannot be imported: install it (pip install -e .) or set pythonpath"
        return Finding(failure.test, "environment", hint)
    if not asked_by_test and (name in known or difflib.get_close_matches(name, known, 1, 0.8)):
        return None
    return Finding(failure.test, "environment", f"the module {name!r} is not installed in this environment")


def unexplained(absent: Iterable[str], whole: Mapping[str, Outcome]) -> tuple[Finding, ...]:
    """Sort what failed once and never again when alone: by its neighbours' doing, or by chance."""
    findings = []
    for test in absent:
        outcome = whole.get(test)
        if outcome is not None and not outcome.passed and outcome.status is not Status.MISSING:
            findings.append(Finding(test, "order-dependent", "fails after other tests and passes alone"))
        else:
            findings.append(Finding(test, "flaky", "failed once and passed each time it was run again"))
    return tuple(findings)
