"""Plant one-line faults in real packages, let ``pytest --noepi-fix`` mend them, and print what came of each.

Run as ``python -m pytest_noepicycle.bench.planted``. It needs the package index and cosmic-ray (in the ``dev`` extra).
A run that was broken off goes on where it was: what is finished is read back from ``results.jsonl`` in the work folder.
"""

from __future__ import annotations

import argparse
import json
import signal
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TextIO

from pytest_noepicycle.bench import faults, outcomes, projects
from pytest_noepicycle.bench.faults import Fault, Site
from pytest_noepicycle.bench.outcomes import Outcome
from pytest_noepicycle.bench.projects import PROJECTS, BenchError, Project
from pytest_noepicycle.errors import NoepiError

MOST_FAILING = 10
GRACE_SECONDS = 90.0  # for the plain run, and for a repair that must end by itself once its time is over
FLAGS = "--noepi-fix --noepi-ladder offline"


@dataclass(frozen=True, slots=True)
class Plan:
    """What was asked for; ``seconds`` is the time limit of one repair."""

    seed: int
    faults: int
    seconds: float
    work: Path
    engine: str
    flags: tuple[str, ...]
    projects: tuple[Project, ...]


@dataclass(frozen=True, slots=True)
class Bed:
    """A package made ready: its folder, its good tree, its interpreter, and what its suite takes in seconds."""

    project: Project
    folder: Path
    tree: Path
    python: Path
    suite_seconds: float


def main(arguments: Sequence[str] | None = None) -> int:
    """Take the measurement and print it; 1 where it cannot be taken or a claim was disproved."""
    options = _parser().parse_args(arguments)
    try:
        found = list(measure(_plan(options), sys.stderr))
    except NoepiError as error:
        sys.stderr.write(f"{error.sentence()}\n")
        return 1
    sys.stdout.write(_json(options.seed, found) if options.json else outcomes.as_text(found))
    return int(any(o.mended in (outcomes.Mended.DISPROVED, outcomes.Mended.CRASHED) for o in found))


def _parser() -> argparse.ArgumentParser:
    names = ",".join(project.name for project in PROJECTS)
    work = Path(tempfile.gettempdir()) / "pytest-noepicycle-planted"
    parser = argparse.ArgumentParser(prog="python -m pytest_noepicycle.bench.planted", description=__doc__)
    parser.add_argument("--seed", type=int, default=7, help="chooses the faults (default: %(default)s)")
    parser.add_argument("--faults", type=int, default=36, help="how many, over all packages (default: %(default)s)")
    parser.add_argument("--time-limit", type=float, default=300, metavar="SECONDS", help="of each repair (%(default)s)")
    parser.add_argument("--packages", default=names, help="names with commas between (default: %(default)s)")
    parser.add_argument("--work", type=Path, default=work, help="downloads, copies, results (default: %(default)s)")
    parser.add_argument("--engine", default=_checkout(), help="what pip installs to be measured (default: %(default)s)")
    parser.add_argument("--flags", default=FLAGS, help="how the repair is called (default: %(default)s)")
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    return parser


def _checkout() -> str:
    """Return the folder of the source this runs from, or the name of the distribution where there is none."""
    folder = Path(__file__).resolve().parents[2]
    return str(folder) if (folder / "pyproject.toml").is_file() else "pytest-noepicycle"


def _plan(options: argparse.Namespace) -> Plan:
    known = {project.name: project for project in PROJECTS}
    wanted = [name.strip() for name in options.packages.split(",")]
    if unknown := [name for name in wanted if name not in known]:
        raise BenchError(f"unknown package {unknown[0]!r}", hint=f"Known are {', '.join(known)}.")
    flags = (*options.flags.split(), "--noepi-time-limit", str(options.time_limit))
    chosen = tuple(known[name] for name in wanted)
    return Plan(options.seed, options.faults, options.time_limit, options.work, options.engine, flags, chosen)


def measure(plan: Plan, progress: TextIO) -> Iterator[Outcome]:
    """Yield an outcome for each fault, package by package, each written down before the next begins."""
    plan.work.mkdir(parents=True, exist_ok=True)
    for project, count in zip(plan.projects, shares(plan.faults, len(plan.projects)), strict=True):
        bed = _prepare(project, plan)
        for outcome in _outcomes(bed, plan, count):
            what = (
                f"{outcome.package} {outcome.place}: {outcome.mended} ({outcome.stop_reason}, {outcome.seconds:.0f} s)"
            )
            progress.write(f"{what}\n")
            progress.flush()
            yield outcome


def shares(count: int, parts: int) -> list[int]:
    """Return a count divided as evenly as can be, the first parts taking what is left over."""
    each, over = divmod(count, parts)
    return [each + (index < over) for index in range(parts)]


def _prepare(project: Project, plan: Plan) -> Bed:
    folder = plan.work / f"{project.name}-{project.version}"
    folder.mkdir(exist_ok=True)
    tree = projects.fetch(project, folder)
    python = projects.make_environment(project, folder, plan.engine)
    first = projects.run_suite(project, python, projects.copy(tree, folder / "copy", {}), plan.seconds)
    if first.status != 0:
        raise BenchError(f"the suite of {project.name} is not green without a fault; see {folder / 'suite.log'}")
    return Bed(project, folder, tree, python, first.seconds)


def _outcomes(bed: Bed, plan: Plan, count: int) -> Iterator[Outcome]:
    """Walk the sites in their fixed order until enough of them have made a fit fault."""
    results = plan.work / "results.jsonl"
    finished, unfit = outcomes.read_results(results)
    version = projects.engine_version(plan.engine)
    for site in _sites(bed, plan.seed):
        if count == 0:
            return
        place = f"{bed.project.name}=={bed.project.version}|{site.key}"
        key = "|".join([place, version, *plan.flags])  # another engine or other flags are another measurement
        if place in unfit:
            continue
        outcome = finished.get(key) or _try(bed, plan, site, key)
        if key not in finished:
            outcomes.append(results, asdict(outcome) if outcome else {"key": place, "unfit": True})
        if outcome is not None:
            count -= 1
            yield outcome


def _sites(bed: Bed, seed: int) -> list[Site]:
    names = faults.operators()
    modules = bed.project.modules(bed.tree)
    return faults.spread([site for path, text in modules.items() for site in faults.sites(path, text, names)], seed)


def _try(bed: Bed, plan: Plan, site: Site, key: str) -> Outcome | None:
    """Return what became of a site's fault; None where the fault is not fit: nothing, too much or no end fails."""
    fault = faults.plant(site, bed.project.modules(bed.tree)[site.module])
    if fault is None:
        return None
    changed = {site.module: fault.source}
    tree = projects.copy(bed.tree, bed.folder / "copy", changed)
    plain = projects.run_suite(bed.project, bed.python, tree, 10 + 5 * bed.suite_seconds)
    if plain.status != 1 or not 1 <= plain.failing <= MOST_FAILING:
        return None
    projects.copy(bed.tree, tree, changed)
    return _repair(bed, plan, fault, key, plain.failing)


def _repair(bed: Bed, plan: Plan, fault: Fault, key: str, failing: int) -> Outcome:
    tree = bed.folder / "copy"
    started = time.monotonic()
    command = [*projects.pytest_command(bed.project, bed.python), *plan.flags]
    projects.run(command, tree, plan.seconds + GRACE_SECONDS + bed.suite_seconds, bed.folder / "repair.log")
    seconds = time.monotonic() - started
    result = outcomes.read_result(tree)
    green = bool(result.get("solved")) and _green(bed)
    mended = outcomes.judge(result.get("solved"), green=green, same=_as_before(bed))
    return Outcome(
        package=bed.project.name,
        key=key,
        place=f"{fault.site.module}:{fault.line}",
        family=fault.site.family,
        before=fault.before,
        after=fault.after,
        failing=failing,
        stop_reason=str(result.get("stop_reason", "no result")),
        mended=mended,
        seconds=round(seconds, 2),
        candidates=outcomes.candidates_tried(tree),
        written=_written(tree, fault),
    )


def _green(bed: Bed) -> bool:
    """Whether the package's suite passes in the mended tree, by a run of our own."""
    return projects.run_suite(bed.project, bed.python, bed.folder / "copy", 60 + 10 * bed.suite_seconds).status == 0


def _as_before(bed: Bed) -> bool:
    before, after = bed.project.modules(bed.tree), bed.project.modules(bed.folder / "copy")
    return before.keys() == after.keys() and all(outcomes.same_code(before[path], after[path]) for path in before)


def _written(tree: Path, fault: Fault) -> str:
    """Return the line that stands now where the fault was planted."""
    lines = (tree / fault.site.module).read_bytes().decode().splitlines()
    return lines[fault.line - 1].strip() if fault.line <= len(lines) else ""


def _json(seed: int, found: Sequence[Outcome]) -> str:
    document = {
        "schema_version": 1,
        "seed": seed,
        "outcomes": list(map(asdict, found)),
        "totals": outcomes.totals(found),
    }
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # or the repair under way would outlive us
    raise SystemExit(main())
