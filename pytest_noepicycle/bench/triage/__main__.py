"""Sort failures whose causes are known, as a dry run of the repair does, and print what was said of each.

Run as ``python -m pytest_noepicycle.bench.triage``. It ends with 1 where a fault of the code was taken for chance or
for something of its surroundings.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from pytest_noepicycle.bench.triage.matrix import Said, as_text
from pytest_noepicycle.bench.triage.suite import BATCHES, sort_batch


def main(arguments: Sequence[str] | None = None) -> int:
    """Take the measurement and print it."""
    options = _parser().parse_args(arguments)
    wanted = [batch for batch in BATCHES if not options.batch or batch.name in options.batch]
    began, said = time.monotonic(), list[Said]()
    with tempfile.TemporaryDirectory(prefix="noepi-triage-") as folder:
        for batch in wanted:
            sys.stderr.write(f"{batch.name}: {len(batch.specimens)} specimens\n")
            said += sort_batch(batch, Path(folder), seed=options.seed, sandbox=options.sandbox)
    sys.stdout.write(f"{as_text(said)}\n{time.monotonic() - began:.0f} s in the {options.sandbox} sandbox\n")
    return int(any(one.unforgivable for one in said))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m pytest_noepicycle.bench.triage", description=__doc__)
    parser.add_argument("--seed", type=int, default=7, help="draws names and values (default: %(default)s)")
    parser.add_argument("--sandbox", choices=("process", "docker"), default="process", help="(default: %(default)s)")
    names = ", ".join(batch.name for batch in BATCHES)
    parser.add_argument("--batch", action="append", metavar="NAME", help=f"only this one; may be repeated: {names}")
    return parser


if __name__ == "__main__":
    sys.exit(main())
