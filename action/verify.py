"""The gate for any pull request: its changes against its base, judged by the base's own tests, in Docker only."""

from __future__ import annotations

import io
import os
import re
import shlex
import sys
from collections.abc import Mapping
from pathlib import Path

import console
import failing
import gate
import run_tests

from pytest_noepicycle.domain.evidence import Evidence
from pytest_noepicycle.errors import NoepiError, UsageError
from pytest_noepicycle.report import evidence as page
from pytest_noepicycle.report.terminal import PlainPaper
from pytest_noepicycle.report.text import fenced
from pytest_noepicycle.verifying import Request, verify


def base(named: str) -> str:
    """Return the commit to compare with: the one that is named, else the base of the pull request.

    :raises UsageError: where there is neither.
    """
    found = named or str(gate.at(gate.event_of(os.environ), "pull_request", "base", "sha") or "")
    if not re.fullmatch(r"[A-Za-z0-9][\w./-]*", found):
        raise UsageError(f"{found!r} is no commit to compare with", hint="Give one with the input 'base'.")
    return found


def judged(held: Mapping[str, str]) -> Evidence:
    """Return the evidence for or against the pull request."""
    limit, image = console.setting("time-limit", held), console.setting("image", held)
    chosen: dict[str, object] = {"sandbox": "docker"}
    chosen |= {"time_limit": float(limit)} if limit else {}
    chosen |= {"image": image} if image else {}
    request = Request(
        base=base(console.setting("base", held)),
        python=run_tests.interpreter(console.setting("python", held)),
        arguments=tuple(shlex.split(console.setting("pytest-args", held))),
        values=chosen,
    )
    return verify(request, str(Path.cwd()))


def main() -> int:
    """Verify, show the evidence, and fail where the change is not to be trusted."""
    try:
        with console.group("pytest-noepicycle: verify"), console.unheard(), run_tests.withheld() as held:
            os.chdir(console.setting("working-directory", held) or ".")
            found = judged(held)
            page.render(found, PlainPaper(sys.stdout))
    except (NoepiError, OSError, ValueError) as error:
        return failing.report(error)
    shown = io.StringIO()
    page.render(found, PlainPaper(shown))
    console.summarise(f"## noepi verify\n\n{fenced(shown.getvalue(), 'text')}")
    console.output(stop_reason=found.ruling, solved=found.solved, score=round(found.score, 4))
    kind = "notice" if found.good else "error"
    console.command(kind, f"{found.ruling}: {found.ruling.sentence}", title="pytest-noepicycle")
    return 0 if found.good else 1


if __name__ == "__main__":
    sys.exit(main())
