"""One fault and its true fix: which faults are fit for it, and what the proof of a fix comes to."""

from __future__ import annotations

import itertools
import json
import random
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from pytest_noepicycle import verifying
from pytest_noepicycle.bench.classics.cases import Case, read_cases
from pytest_noepicycle.bench.classics.children import in_child
from pytest_noepicycle.bench.classics.exercise import exercise
from pytest_noepicycle.bench.honest.layouts import LAYOUTS
from pytest_noepicycle.bench.honest.slips import Slip, slips
from pytest_noepicycle.domain.evidence import Evidence
from pytest_noepicycle.domain.trial import Report
from pytest_noepicycle.verifying import Request

# Plugins of this environment that cost every pytest run up to half a second, and have no part in this.
ARGUMENTS = tuple(
    word
    for name in ("langsmith_plugin", "anyio", "asyncio", "hypothesispytest", "xdist", "pytest_cov")
    for word in ("-p", f"no:{name}")
)
_LOOK_SECONDS = 5.0
_TEST_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class Plan:
    """A sound program with its tests, a slip in it that some of them see, and the layout to put both in."""

    case: Case
    slip: Slip
    layout: str

    @property
    def name(self) -> str:
        """Return a name that says where to look."""
        return f"{self.case.name}:{self.slip.line} {self.slip.kind} ({self.layout})"


@dataclass(frozen=True, slots=True)
class Proved:
    """What became of a true fix; ``rule`` names what refused it, empty where nothing did."""

    name: str
    layout: str
    kind: str
    rule: str = ""
    why: str = ""
    seconds: float = 0.0


def plans(many: int, seed: int) -> list[Plan]:
    """Return plans in a fixed random order: the programs take turns, and so do the layouts."""
    chance = random.Random(seed)
    cases = chance.sample(read_cases(), len(read_cases()))
    found = itertools.islice(_in_turns([_slips_of(case, chance) for case in cases]), many)
    return [Plan(*one, layout) for one, layout in zip(found, itertools.cycle(LAYOUTS), strict=False)]


def _in_turns(queues: list[Iterator[tuple[Case, Slip]]]) -> Iterator[tuple[Case, Slip]]:
    while queues:
        alive = []
        for queue in queues:
            for one in itertools.islice(queue, 1):
                alive.append(queue)
                yield one
        queues = alive


def _slips_of(case: Case, chance: random.Random) -> Iterator[tuple[Case, Slip]]:
    """Yield the slip that the program came with, then planted ones; only such as some test sees."""
    planted = chance.sample(slips(case.code), len(slips(case.code)))
    for slip in (Slip("typical", 1, case.slipped), *planted):
        if seen(case, slip.source):
            yield case, slip


def seen(case: Case, source: str) -> bool:
    """Whether a test fails on a source, and none hangs: a hang is a matter of time limits."""
    report = in_child(lambda: exercise(replace(case, slipped=source), source, None, measured=False), _LOOK_SECONDS)
    return isinstance(report, Report) and 0 < len(report.passing()) < len(report.outcomes)


def prove(plan: Plan, sandbox: str) -> Proved:
    """Bring the true fix of a plan's fault before the whole proof, as ``noepi verify`` does."""
    right = LAYOUTS[plan.layout](plan.case.name, plan.case.code, plan.case.tests)
    edits = [{"path": right.program, "old": plan.slip.source, "new": plan.case.code}]
    with tempfile.TemporaryDirectory(prefix="noepi-honest-") as folder:
        _write(Path(folder), {**right.files, right.program: plan.slip.source})
        values = {"sandbox": sandbox, "test_timeout": _TEST_SECONDS}
        document = json.dumps({"edits": edits}).encode()
        request = Request(edits=document, python=sys.executable, arguments=ARGUMENTS, values=values)
        found = verifying.verify(request, folder)
    refused = "" if found.solved else rule(found)
    return Proved(plan.name, plan.layout, plan.slip.kind, refused, found.why, found.seconds)


def rule(found: Evidence) -> str:
    """Return the name of what speaks against a patch: the guard's rule, the checks that failed, or the ruling."""
    failed: Sequence[str] = [name for name, value in found.checks.items() if value == "failed"]
    return ", ".join([*(refusal.rule for refusal in found.refused), *failed]) or str(found.ruling)


def _write(folder: Path, files: dict[str, str]) -> None:
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, "utf-8")
