"""``noepi ladder``: the ladders that are shipped, or one of your own, looked at and checked."""

from __future__ import annotations

import argparse
import io

from pytest_noepicycle.adapters import ladder_files
from pytest_noepicycle.commands.command import DONE, print_json
from pytest_noepicycle.errors import UsageError


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("verb", choices=("list", "show", "validate"))
    parser.add_argument("name", nargs="?", metavar="NAME|FILE")


def run(given: argparse.Namespace) -> int:
    """List the shipped ladders, or read one and show how its rungs are joined."""
    if given.verb == "list":
        ladders = [ladder_files.load(name) for name in ladder_files.shipped()]
        if given.json:
            print_json([{"name": ladder.name, "description": ladder.description} for ladder in ladders])
        else:
            for ladder in ladders:
                print(f"{ladder.name:<12} {ladder.description}")
        return DONE
    if not given.name:
        raise UsageError(f"noepi ladder {given.verb} needs a name or a file")
    ladder = ladder_files.load(given.name)
    edges = {rung.name: {"kind": rung.kind, **dict(rung.edges)} for rung in ladder.rungs.values()}
    if given.json:
        print_json({"name": ladder.name, "start": ladder.start, "rungs": edges})
    elif given.verb == "validate":
        print(f"{given.name}: a ladder of {len(ladder.rungs)} rungs, in order")
    else:
        print(_drawn(ladder.start, edges))
    return DONE


def _drawn(start: str, rungs: dict[str, dict[str, str]]) -> str:
    text = io.StringIO()
    for name, edges in rungs.items():
        text.write(f"{name} ({edges['kind']}){' ← start' if name == start else ''}\n")
        for edge, target in edges.items():
            if edge != "kind":
                text.write(f"    {edge:<14} → {target}\n")
    return text.getvalue().rstrip()
