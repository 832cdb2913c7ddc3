"""What a step says where it cannot go on: what happened, and what to do in a workflow."""

from __future__ import annotations

import console

from pytest_noepicycle.errors import EngineUnavailable, NoepiError

_NO_DOCKER = "Run this job where Docker is: GitHub's Linux runners have it, those for macOS and Windows have not."


def report(error: Exception, before: str = "") -> int:
    """Show an error as the runner's own, and return the step's status."""
    if isinstance(error, EngineUnavailable):
        said = f"{error}\n  {_NO_DOCKER}"
    else:
        said = error.sentence() if isinstance(error, NoepiError) else str(error)
    console.command("error", before + said, title="pytest-noepicycle")
    return 1
