"""Plant faults in sound programs, offer each true fix to the whole proof, and print which of them were refused.

Run as ``python -m pytest_noepicycle.bench.honest``. The status is 1 where more than one in a hundred is refused.
"""

from __future__ import annotations

import argparse
import multiprocessing
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial

from pytest_noepicycle.bench.honest.proving import Proved, plans, prove
from pytest_noepicycle.errors import NoepiError

MOST_REFUSED = 0.01


def main(arguments: Sequence[str] | None = None) -> int:
    """Take the measurement and print it; 1 where it cannot be taken or too many are refused."""
    parser = argparse.ArgumentParser(prog="python -m pytest_noepicycle.bench.honest", description=__doc__)
    parser.add_argument("--many", type=int, default=200, help="how many honest patches (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=7, help="chooses the faults (default: %(default)s)")
    parser.add_argument("--jobs", type=int, default=2, help="how many at a time (default: %(default)s)")
    parser.add_argument("--sandbox", default="process", choices=("process", "docker"), help="default: %(default)s")
    options = parser.parse_args(arguments)
    began, found = time.monotonic(), list[Proved]()
    try:
        for proved in measure(options.many, options.seed, options.sandbox, options.jobs):
            found.append(proved)
            mark = f"refused by {proved.rule}" if proved.rule else "proved"
            sys.stderr.write(f"{len(found):4} {proved.name}: {mark} ({proved.seconds:.1f} s)\n")
    except NoepiError as error:
        sys.stderr.write(f"{error.sentence()}\n")
        return 1
    head = f"honest patches, seed {options.seed}, {options.sandbox} sandbox, {time.monotonic() - began:.0f} s"
    sys.stdout.write(f"{head}\n{table(found)}\n")
    return int(not found or share(found) > MOST_REFUSED)


def measure(many: int, seed: int, sandbox: str, jobs: int) -> Iterator[Proved]:
    """Yield what became of each true fix, in the order of the plans."""
    chosen = plans(many, seed)
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(jobs, mp_context=context) as pool:
        yield from pool.map(partial(prove, sandbox=sandbox), chosen)


def share(found: Sequence[Proved]) -> float:
    """Return the share of true fixes that were refused."""
    return sum(bool(proved.rule) for proved in found) / len(found)


def table(found: Sequence[Proved]) -> str:
    """Return the counts by layout and by kind of fault, the refused ones by name, and the share."""
    refused = [proved for proved in found if proved.rule]
    rows = [*_rows("layout", [p.layout for p in found], [p.layout for p in refused])]
    rows += _rows("fault", [p.kind for p in found], [p.kind for p in refused])
    named = [f"refused: {p.name}: {p.rule}: {p.why}" for p in refused]
    total = f"refused {len(refused)} of {len(found)} ({100 * share(found):.1f} %)" if found else "nothing was tried"
    return "\n".join([*rows, *named, total])


def _rows(head: str, every: Sequence[str], refused: Sequence[str]) -> Iterator[str]:
    against = Counter(refused)
    for name, count in sorted(Counter(every).items()):
        yield f"{head:8}{name:12}{count:5} tried{against[name]:5} refused"


if __name__ == "__main__":
    sys.exit(main())
