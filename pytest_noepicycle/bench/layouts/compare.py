"""What pytest reports and what a sandbox reports, side by side; and what a repair has done to a project."""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pytest_noepicycle import wiring
from pytest_noepicycle.adapters import snapshot
from pytest_noepicycle.bench.layouts.bed import Bed
from pytest_noepicycle.bench.projects import BenchError
from pytest_noepicycle.codec import decode
from pytest_noepicycle.domain.patch import Patch
from pytest_noepicycle.domain.session import Session
from pytest_noepicycle.domain.settings import Settings
from pytest_noepicycle.domain.trial import Limits, Report, Trial
from pytest_noepicycle.errors import NoepiError
from pytest_noepicycle.sandbox import choice
from pytest_noepicycle.sandbox.pool import Pool

SUITE_SECONDS = 120.0
REPAIR = ("--noepi-fix", "--noepi-ladder", "offline", "--noepi-time-limit", "200")


@dataclass(frozen=True, slots=True)
class Compared:
    """One layout in one environment and one sandbox: what differs (nothing, if all is well), and the seconds."""

    layout: str
    where: str
    differs: tuple[str, ...]
    seconds: float


@dataclass(frozen=True, slots=True)
class Usual:
    """What an ordinary run of a layout gives: pytest's status, outcomes by id, and what a sandbox must know of it."""

    status: int | None
    outcomes: Mapping[str, str]
    session: Session
    settings: Settings


def usual(bed: Bed) -> Usual:
    """Run a layout's tests as anyone would.

    :raises BenchError: where that gives no outcomes.
    """
    status, outcomes = bed.outcomes(*bed.layout.plain)
    if len(outcomes) < 3:
        raise BenchError(f"plain pytest reports {len(outcomes)} tests of {bed.layout.name}: {_tail(bed.log)}")
    status = bed.pytest() if bed.layout.plain else status
    with bed.log.open("w", encoding="utf-8") as log, contextlib.chdir(bed.tree / bed.layout.cwd):
        facts = wiring.run_tests(str(bed.python), list(bed.arguments), log)
    return Usual(status, outcomes, decode(Session, facts), Settings.from_mapping(facts["settings"]))


def compare(bed: Bed, known: Usual, where: str, sandbox: str, *, repair: bool = True) -> Compared:
    """Compare outcomes, let the fault be mended (or not), and look at what came of it."""
    began = time.monotonic()
    bed.restore()
    try:
        differs = [*_outcomes(known, sandbox), *(_repair(bed, known, sandbox) if repair else ())]
    except NoepiError as error:
        differs = [error.sentence()]
    return Compared(bed.layout.name, where, tuple(differs), time.monotonic() - began)


def _outcomes(known: Usual, sandbox: str) -> list[str]:
    report = baseline(known, sandbox)
    seen = {test: outcome.status.value for test, outcome in report.outcomes.items()}
    why = [f"the sandbox's run: {report.why}"] if report.why else []
    return differences(known.outcomes, seen, "the sandbox") + why


def differences(usual: Mapping[str, str], seen: Mapping[str, str], who: str) -> list[str]:
    """Say which ids only one of two runs has, and which end differently."""
    found = [f"{who} lacks {test} ({usual[test]})" for test in usual.keys() - seen.keys()]
    found += [f"{who} alone has {test} ({seen[test]})" for test in seen.keys() - usual.keys()]
    both = usual.keys() & seen.keys()
    found += [f"{test} is {usual[test]}, in {who} {seen[test]}" for test in both if usual[test] != seen[test]]
    return sorted(found)


def baseline(known: Usual, sandbox: str) -> Report:
    """Run the whole suite in a sandbox, as a repair does before anything is tried."""
    box = choice.choose(sandbox, known.session, known.settings)
    shot = snapshot.snapshot(known.session.tree)
    with contextlib.closing(shot), contextlib.closing(Pool(box, shot, 1)) as pool:
        return pool.run(Trial(Patch(), None, Limits(SUITE_SECONDS)))


def _repair(bed: Bed, known: Usual, sandbox: str) -> list[str]:
    status = bed.pytest(*REPAIR, "--noepi-sandbox", sandbox)
    said = bed.log.read_text("utf-8", "replace")
    result = _result(bed.tree)
    if result is None:
        return [f"no repair was recorded: {_tail(bed.log)}"]
    checks = _solved(bed, result) if bed.layout.ends == "solved" else _explained(bed, result, said)
    return [text for text in (_status(known.status, status), *checks) if text]


def _status(plain: int | None, status: int | None) -> str:
    return "" if plain == status else f"pytest ends with status {plain}, with the repair with {status}"


def _solved(bed: Bed, result: Mapping[str, Any]) -> Iterator[str]:
    """Yield what a whole, proven and applied repair would not have left."""
    yield _unless(result["stop_reason"] == "solved", f"it ended as {result['stop_reason']}: {result.get('why', '')}")
    yield _unless(result["verified"] and result["applied"], "nothing was proven and applied")
    yield _unless(bed.now() == bed.layout.mended(bed.before), f"changed otherwise than in the fault: {_changed(bed)}")
    status, after = bed.outcomes()
    red = sorted(test for test, word in after.items() if word in ("failed", "error", "xpassed"))
    yield _unless(bool(after) and not red, f"afterwards plain pytest still has {red or 'no tests'}")
    yield _unless(status == 0, f"afterwards plain pytest ends with status {status}")


def _explained(bed: Bed, result: Mapping[str, Any], said: str) -> Iterator[str]:
    """Yield what a repair that cannot be had here would not have done."""
    wanted = bed.layout.ends
    yield _unless(result["stop_reason"] == wanted, f"it ended as {result['stop_reason']} and not as {wanted}")
    yield _unless(bed.layout.says in said, f"it did not say {bed.layout.says!r}: {said[-600:]}")
    yield _unless(bed.now() == bed.before, f"it changed {_changed(bed)}")


def _unless(well: bool, what: str) -> str:
    return "" if well else what


def _changed(bed: Bed) -> str:
    now = bed.now()
    return ", ".join(sorted(path for path in bed.before if now.get(path) != bed.before[path])) or "nothing"


def _result(tree: Path) -> dict[str, Any] | None:
    last = tree / ".noepi" / "last"
    if not last.is_file():
        return None
    return dict(json.loads((tree / ".noepi/runs" / last.read_text().strip() / "result.json").read_text("utf-8")))


def _tail(log: Path) -> str:
    return log.read_text("utf-8", "replace")[-600:].strip()


def table(results: list[Compared]) -> str:
    """Return layout by environment, each ``ok`` with its seconds or how much differs, and then what does."""
    columns = list(dict.fromkeys(result.where for result in results))
    cells = {(result.layout, result.where): _cell(result) for result in results}
    names = list(dict.fromkeys(result.layout for result in results))
    width = max(len(name) for name in ["layout", *names]) + 2
    lines = ["layout".ljust(width) + "".join(column.rjust(len(column) + 3) for column in columns)]
    for name in names:
        row = [cells.get((name, column), "-").rjust(len(column) + 3) for column in columns]
        lines.append(name.ljust(width) + "".join(row))
    wrong = [f"{r.layout}, {r.where}: {text}" for r in results for text in r.differs]
    good = sum(not result.differs for result in results)
    return "\n".join([*lines, "", *wrong, f"{good} of {len(results)} ok, {sum(r.seconds for r in results):.0f} s"])


def _cell(result: Compared) -> str:
    return f"{len(result.differs)} differ" if result.differs else f"ok {result.seconds:.0f} s"
