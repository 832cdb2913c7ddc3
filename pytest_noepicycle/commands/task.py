"""``noepi run``: write code for a task against a test file, as the Python API does."""

from __future__ import annotations

import argparse
import os
import sys
import warnings
from pathlib import Path
from typing import Any

from pytest_noepicycle.codec import encode
from pytest_noepicycle.commands.command import DONE, NOT_DONE, print_json
from pytest_noepicycle.domain.estimate import Estimate
from pytest_noepicycle.domain.run import RunResult
from pytest_noepicycle.errors import UsageError
from pytest_noepicycle.report.text import harmless


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("task", metavar="TASK", help="what the code shall do, in words")
    parser.add_argument("--tests", required=True, metavar="FILE", help="a test file that imports from `solution`")
    parser.add_argument("--output", metavar="FILE", help="write the solution there (default: print it)")
    parser.add_argument("--python", default=sys.executable, metavar="PYTHON", help="the interpreter that runs it")
    parser.add_argument("--budget", type=int, default=50_000, metavar="TOKENS", help="hard cap on tokens")
    parser.add_argument("--budget-usd", type=float, metavar="X", help="hard cap on money")
    parser.add_argument("--time-limit", type=float, default=1200.0, metavar="SECONDS", help="wall clock of it all")
    parser.add_argument("--ladder", default="default", metavar="NAME|FILE", help="who writes, and who next")
    parser.add_argument("--context-transfer", default="summary", choices=("summary", "reset", "full"))
    parser.add_argument("--sandbox", default="auto", choices=("auto", "docker", "process"), help="where the code runs")
    parser.add_argument("--dir", metavar="DIR", help="record the run in that folder")
    parser.add_argument("--dry-run", action="store_true", help="say what would be asked and its cost, ask nothing")


def run(given: argparse.Namespace) -> int:
    """Let the ladder's models write, print or write down the best, and return 0 where every test passes."""
    from pytest_noepicycle.api.supervisor import Supervisor

    tests = _text(given.tests)
    _writable(given.output)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always", UserWarning)
        supervisor = Supervisor(
            test_code=tests,
            budget_cap=given.budget,
            budget_usd=given.budget_usd,
            time_limit=given.time_limit,
            ladder=given.ladder,
            context_transfer=given.context_transfer,
            sandbox=given.sandbox,
            dir=given.dir,
            python=given.python,
            dry_run=given.dry_run,
        )
        result = supervisor.run(given.task)
    for warning in said:
        print(warning.message, file=sys.stderr)
    lost = _written(result.solution, given.output)
    if given.json:
        print_json(_as_json(result))
    else:
        _told(result, None if lost else given.output)
    if lost:
        print(f"noepi: --output: {lost}", file=sys.stderr)
        return NOT_DONE
    return DONE if result.solved or given.dry_run else NOT_DONE


def _writable(output: str | None) -> None:
    """See that the solution can be written where it is wanted, before anything is paid for.

    :raises UsageError: where it cannot.
    """
    if output is None:
        return
    target = Path(output)
    if target.is_dir() or not target.parent.is_dir():
        why = "it is a folder" if target.is_dir() else f"there is no folder {target.parent}"
        raise UsageError(f"--output: {output} cannot be written: {why}")
    if not os.access(target if target.exists() else target.parent, os.W_OK):
        raise UsageError(f"--output: {output} cannot be written: it is not yours to write")


def _written(solution: str, output: str | None) -> str:
    """Write the solution; return why it could not be, or an empty text. It is printed then: it was paid for."""
    if output is None or not solution:
        return ""
    try:
        Path(output).write_text(solution, "utf-8", newline="")
    except OSError as error:
        return f"{output} cannot be written ({error.strerror or error}); the solution is on standard output"
    return ""


def _text(name: str) -> str:
    try:
        return Path(name).read_text("utf-8")
    except (OSError, ValueError) as error:
        raise UsageError(f"--tests: {name} cannot be read: {error}") from error


def _told(result: RunResult, output: str | None) -> None:
    """Print the solution alone on standard output, so that it can be piped, and all else beside it."""
    for entry in result.history:
        line = f"  {entry.iteration:>2}  {entry.model}: score {entry.score:.2f} ({entry.delta:+.2f}), {entry.reason}"
        print(line, file=sys.stderr)
    money = "unknown" if result.cost_usd is None else f"${result.cost_usd:.4f}"
    spent = f"{result.tokens_spent} tokens, {money}"
    print(f"noepi: {result.stop_reason}: {result.stop_reason.sentence}; {spent}", file=sys.stderr)
    if result.estimate:
        print("\n".join(_asked_first(result.estimate)))
    if result.solution and output:
        print(f"noepi: written to {output}", file=sys.stderr)
    elif result.solution:
        print(result.solution, end="" if result.solution.endswith("\n") else "\n")


def _asked_first(estimate: Estimate) -> list[str]:
    """Return what a dry run found out, in lines: the first question word for word, and the most of each next call."""
    question = [f"  | {harmless(line)}" for line in estimate.question.split("\n")]
    lines = [f"the first question, to {harmless(estimate.first)}, would say:", *question, ""]
    lines.append("the most that the next call to each rung can take:")
    for quote in estimate.quotes:
        money = "price not known" if quote.usd is None else f"${quote.usd:.4f}"
        lacking = f"; cannot be used: {quote.lacking}" if quote.lacking else ""
        lines.append(f"  {quote.rung:<20} {quote.tokens} tokens, {money}{lacking}")
    return lines


def _as_json(result: RunResult) -> dict[str, Any]:
    return {
        "stop_reason": str(result.stop_reason),
        "solved": result.solved,
        "score": result.score,
        "solution": result.solution,
        "iterations": result.iterations,
        "tokens_spent": result.tokens_spent,
        "cost_usd": result.cost_usd,
        "history": [dict(entry) for entry in result.history],
        "warnings": list(result.warnings),
        **({"estimate": encode(result.estimate)} if result.estimate else {}),
    }
