"""What a Supervisor was given, checked once: bad arguments are told at construction, each with a sentence."""

from __future__ import annotations

import ast
import inspect
import math
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from os import PathLike, fspath
from pathlib import Path
from typing import Any

from pytest_noepicycle.adapters import ladder_files
from pytest_noepicycle.domain.ladder import Ladder
from pytest_noepicycle.domain.settings import Apply, Settings, Thresholds
from pytest_noepicycle.errors import LadderError, UsageError
from pytest_noepicycle.rungs.handover import Transfer

LLM_JUDGE = "llm_judge"
SANDBOXES = ("auto", "docker", "process")


@dataclass(frozen=True, slots=True)
class Plan:
    """Everything a run needs beside its task. ``records`` is the folder for records, where one was named."""

    test_code: str | None
    score_fn: Callable[[str], Any] | str | None
    ladder: Ladder
    settings: Settings
    transfer: Transfer
    records: str | None
    python: str


def ladder_of(ladder: object) -> Ladder:
    """Return the ladder that a name, a path, a dict or a :class:`Ladder` stands for.

    :raises LadderError: where it stands for none.
    """
    if isinstance(ladder, Ladder):
        return ladder
    if isinstance(ladder, Mapping):
        return Ladder.from_mapping(ladder)
    if isinstance(ladder, str | PathLike):
        return ladder_files.load(str(fspath(ladder)))
    raise LadderError(f"ladder is {type(ladder).__name__}; it is a shipped name, a path, a Ladder, or a dict of rungs")


def judged_by(test_code: object, score_fn: object) -> None:
    """See that exactly one of the two judges, and that it can.

    :raises UsageError: where not.
    """
    if (test_code is None) == (score_fn is None):
        given = "both were given" if test_code is not None else "neither was given"
        raise UsageError(
            f"a Supervisor is judged either by test_code or by score_fn, and {given}",
            hint="Where there are tests, they alone say solved; give score_fn (or 'llm_judge') where there are none.",
        )
    if test_code is not None:
        _tests(test_code)
    elif score_fn != LLM_JUDGE and (not callable(score_fn) or inspect.isclass(score_fn)):
        raise UsageError(f"score_fn is {score_fn!r:.60}; it is a callable from a string to a float, or '{LLM_JUDGE}'")


def _tests(test_code: object) -> None:
    if not isinstance(test_code, str):
        raise UsageError(f"test_code is {type(test_code).__name__}; it is the text of a test file")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(test_code)
    except (SyntaxError, ValueError) as error:
        raise UsageError(
            f"test_code is not Python: {error}", hint='Give the text, not the path: open("tests.py").read()'
        ) from error
    named = [node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    bound = [node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)]
    if not any(name.startswith(("test", "Test")) for name in named + bound):
        raise UsageError(
            "test_code holds no test: no function whose name begins with test",
            hint='Give the text of a test file, not its path: open("tests.py").read()',
        )


def settings_of(
    thresholds: Thresholds,
    *,
    budget_cap: object,
    budget_usd: object,
    time_limit: object,
    sandbox: object,
    workers: object,
    image: str | None,
    dir: str | PathLike[str] | None,
) -> tuple[Settings, str | None]:
    """Return the settings of the engine, and the absolute path of the folder for records, where one is named.

    :raises UsageError: with the argument that is wrong, and what it may be.
    """
    if sandbox not in SANDBOXES:
        raise UsageError(f"sandbox is {sandbox!r}; it is one of {', '.join(SANDBOXES)}")
    _thresholds(thresholds)
    records = None if dir is None else str(Path(fspath(dir)).absolute())
    settings = Settings(
        budget=int(_number("budget_cap", budget_cap, whole=True, least=1, of="tokens")),
        budget_usd=None if budget_usd is None else _number("budget_usd", budget_usd, of="dollars"),
        time_limit=_number("time_limit", time_limit, least=1, of="seconds"),
        apply=Apply.NEVER,
        sandbox=str(sandbox),
        workers=int(_number("workers", workers, whole=True, of="candidates at once")),
        image=image,
        thresholds=thresholds,
        dir=records or Settings().dir,
    )
    return settings, records


_COUNTS = frozenset({"plateau_window", "fixation_threshold", "grace_period"})


def _thresholds(thresholds: Thresholds) -> None:
    for field in fields(thresholds):
        value, name = getattr(thresholds, field.name), field.name
        if name in _COUNTS:
            _number(name, value, whole=True, least=0 if name == "grace_period" else 1, of="iterations")
        else:
            _number(name, value, most=1.0, of="the score" if "pct" not in name else "the budget, as a share")


def transfer_of(context_transfer: object) -> Transfer:
    """Return what is passed on at a switch.

    :raises UsageError: where there is no such way.
    """
    if context_transfer not in tuple(Transfer):
        raise UsageError(f"context_transfer is {context_transfer!r}; it is one of {', '.join(Transfer)}")
    return Transfer(str(context_transfer))


def task_of(task: object) -> str:
    """Return the task.

    :raises UsageError: where it says nothing.
    """
    if not isinstance(task, str) or not task.strip():
        raise UsageError(f"task is {task!r:.60}; it is a text that says what to solve")
    return task.strip()


def _number(
    name: str, value: object, *, whole: bool = False, least: float = 0.0, most: float = math.inf, of: str
) -> float:
    kind = int if whole else (int, float)
    if isinstance(value, bool) or not isinstance(value, kind) or not least <= value <= most:
        bounds = f"from {least:g}" + (f" to {most:g}" if most < math.inf else "")
        raise UsageError(f"{name} is {value!r}; it is a {'whole ' if whole else ''}number {bounds} (of {of})")
    return float(value)
