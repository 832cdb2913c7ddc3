"""``noepi check``: what works on this machine, each part tried for real."""

from __future__ import annotations

import argparse
import sys
from dataclasses import asdict
from pathlib import Path

from pytest_noepicycle.commands.command import DONE, NOT_DONE, print_json
from pytest_noepicycle.domain.settings import Settings


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("--python", default=sys.executable, metavar="PYTHON", help="the project's interpreter")
    parser.add_argument("--ladder", default="default", metavar="NAME|FILE", help="the ladder to look at")
    parser.add_argument("--sandbox", default="auto", choices=("auto", "docker", "process"), help="the sandbox to try")


def run(given: argparse.Namespace) -> int:
    """Try each part for real; broken parts make the status 1."""
    from pytest_noepicycle import checking

    settings = Settings(ladder=given.ladder, sandbox=given.sandbox)
    findings = []
    for finding in checking.check(given.python, Path.cwd(), settings):
        findings.append(finding)
        if not given.json:
            print(f"{finding.state:<7} {finding.part:<8} {finding.text}", flush=True)
            if finding.advice:
                print(f"{'':<16} {finding.advice}")
    if given.json:
        print_json([asdict(finding) for finding in findings])
    return NOT_DONE if any(finding.state == checking.BROKEN for finding in findings) else DONE
