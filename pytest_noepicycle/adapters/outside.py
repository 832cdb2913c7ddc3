"""The project's tests, run as a person would in the project's own interpreter, which may hold nothing of ours."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from pathlib import Path
from typing import Any, TextIO

from pytest_noepicycle.errors import NoepiError, UsageError

_PLUGIN = "_noepi_inside.laid_out"
# As ``python -m pytest`` would, with the folder of our half at the end of the path, where it can hide nothing.
_CALLED_WRONGLY = 4
_START = "import sys; sys.path.append(sys.argv.pop(1)); import pytest; sys.exit(pytest.main())"


def run_tests(
    python: str, arguments: list[str], output: TextIO, folder: Path, cwd: Path | None = None
) -> dict[str, Any]:
    """Run pytest (in ``cwd``, else here) and return the session's facts; its output goes to ``output`` as it comes.

    ``folder`` holds the thin half as the package ``_noepi_inside``.

    :raises UsageError: where the interpreter cannot run or has no pytest, or pytest was called wrongly.
    """
    with tempfile.TemporaryDirectory(prefix="noepi-") as temporary:
        target = Path(temporary, "session.json")
        command = [python, "-c", _START, str(folder), "-p", "no:noepicycle", "-p", _PLUGIN, *arguments]
        status = _call(command, {**os.environ, "NOEPI_SESSION_FILE": str(target)}, output, python, cwd)
        if target.exists():
            facts = json.loads(target.read_text("utf-8"))
            if facts["exit_status"] == _CALLED_WRONGLY and not facts["failures"]:
                raise UsageError("pytest was called in a way it does not understand", hint="Read what it says above.")
            return {**facts, "args": arguments}  # without what was put in front of them here
    if status == 2:
        raise NoepiError("the test run was interrupted", hint="")
    raise UsageError(
        f"{python} could not run the tests (status {status})",
        hint="Read what it says above. Is pytest installed in that environment?",
    )


def _call(command: list[str], environment: dict[str, str], output: TextIO, python: str, cwd: Path | None) -> int:
    try:
        return subprocess.run(command, env=environment, stdout=output, cwd=cwd, check=False).returncode
    except OSError as error:
        raise UsageError(f"{python} cannot be started: {error.strerror}", hint="Give the path of a Python.") from error
