"""Compare pytest and the sandbox over every layout, mend the fault in each, and print what differs.

Run as ``python -m pytest_noepicycle.bench.layouts``. Its environments are made once, from the package index.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from pytest_noepicycle.bench.layouts.bed import environment, laid_out
from pytest_noepicycle.bench.layouts.compare import Compared, compare, table, usual
from pytest_noepicycle.bench.layouts.layout import Layout
from pytest_noepicycle.bench.layouts.places import PLACES
from pytest_noepicycle.bench.layouts.settings import SETTINGS
from pytest_noepicycle.bench.layouts.suites import SUITES
from pytest_noepicycle.bench.layouts.surroundings import SURROUNDINGS
from pytest_noepicycle.errors import NoepiError

LAYOUTS = (*PLACES, *SUITES, *SURROUNDINGS, *SETTINGS)
_VERSIONS = (8, 9)


def main(arguments: Sequence[str] | None = None) -> int:
    """Compare what was asked for; 1 where anything differs, 2 where nothing has such a name."""
    options = _parser().parse_args(arguments)
    chosen = [one for one in LAYOUTS if any(word in one.name for word in options.only or [""])]
    if options.list or not chosen:
        _say("\n".join(layout.name for layout in chosen) or "no layout has such a name")
        return 0 if chosen else 2
    kinds = [options.sandbox] if options.sandbox else _kinds()
    try:
        results = list(_results(chosen, options.pytest or _VERSIONS, kinds, options))
    except NoepiError as error:
        sys.stderr.write(f"{error.sentence()}\n")
        return 1
    _say(f"\n{table(results)}")
    return int(any(result.differs for result in results))


def _parser() -> argparse.ArgumentParser:
    cache = Path(tempfile.gettempdir()) / "pytest-noepicycle-layouts"
    parser = argparse.ArgumentParser(prog="python -m pytest_noepicycle.bench.layouts", description=__doc__)
    parser.add_argument("--pytest", type=int, choices=_VERSIONS, action="append", help="major version (default: each)")
    parser.add_argument(
        "--only", action="append", metavar="NAME", help="layouts whose names hold this (may be repeated)"
    )
    parser.add_argument("--sandbox", choices=("process", "docker"), help="(default: each that can be had here)")
    parser.add_argument("--cache", type=Path, default=cache, help="for environments and trees (default: %(default)s)")
    parser.add_argument("--engine", default=_checkout(), help="what pip installs to be tried (default: %(default)s)")
    parser.add_argument("--no-repair", action="store_true", help="only compare ids and outcomes")
    parser.add_argument("--list", action="store_true", help="print the layouts and run none")
    return parser


def _checkout() -> str:
    """Return the folder of the source this runs from, or the name of the distribution where there is none."""
    folder = Path(__file__).resolve().parents[3]
    return str(folder) if (folder / "pyproject.toml").is_file() else "pytest-noepicycle"


def _kinds() -> list[str]:
    """Return the sandboxes of this machine."""
    docker = shutil.which("docker")
    asked = docker and subprocess.run([docker, "info"], capture_output=True, timeout=30, check=False)
    return ["process", "docker"] if asked and asked.returncode == 0 else ["process"]


def _results(
    layouts: Sequence[Layout], versions: Sequence[int], kinds: Sequence[str], options: argparse.Namespace
) -> Iterator[Compared]:
    for version in versions:
        python = environment(version, options.cache, options.engine)
        folder = options.cache / f"pytest-{version}" / f"bed-{os.getpid()}"
        for layout in (layout for layout in layouts if version >= layout.least):
            for result in _compared(layout, folder, python, {k: f"pytest {version}, {k}" for k in kinds}, options):
                _say(_line(result))
                yield result


def _compared(
    layout: Layout, folder: Path, python: Path, kinds: Mapping[str, str], options: argparse.Namespace
) -> Iterator[Compared]:
    try:
        with laid_out(layout, folder, python) as bed:
            known = usual(bed)
            for kind, where in kinds.items():
                yield compare(bed, known, where, kind, repair=not options.no_repair)
    except NoepiError as error:
        yield Compared(layout.name, next(iter(kinds.values())), (error.sentence(),), 0.0)


def _line(result: Compared) -> str:
    state = "differs: " + "; ".join(result.differs) if result.differs else "ok"
    return f"{result.layout} ({result.where}, {result.seconds:.0f} s): {state}"


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
