"""The project's own test run, in the project's own Python. No key, no token and no file of the runner reaches it."""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import console
import failing

from pytest_noepicycle import wiring
from pytest_noepicycle.errors import NoepiError, UsageError

_SECRETS = ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "GITHUB_TOKEN", "GH_TOKEN")
_RUNNERS = ("GITHUB_ENV", "GITHUB_PATH", "GITHUB_OUTPUT", "GITHUB_STATE", "GITHUB_STEP_SUMMARY")
_NOTHING = {0: "Every test passes: there is nothing to mend.", 5: "No tests were found."}


@contextlib.contextmanager
def withheld() -> Iterator[dict[str, str]]:
    """Keep from this process's environment, for the block, what the project's tests have no business with."""
    own = ("ACTIONS_", "INPUT_", "NOEPI_")
    names = [name for name in os.environ if name in (*_SECRETS, *_RUNNERS) or name.startswith(own)]
    held = {name: os.environ.pop(name) for name in names}
    try:
        yield held
    finally:
        os.environ.update(held)


def interpreter(named: str) -> str:
    """Return the project's Python: the one that is named, else the first on the PATH.

    :raises UsageError: where there is none.
    """
    python = shutil.which(named) if named else shutil.which("python") or shutil.which("python3")
    if python is None:
        raise UsageError(f"there is no Python {named!r}", hint="Name the project's Python with the input 'python'.")
    return python


def main() -> int:
    """Run the tests and keep what they told for the next step."""
    try:
        with console.group("pytest-noepicycle: run the tests"), console.unheard(), withheld() as held:
            os.chdir(console.setting("working-directory", held) or ".")
            arguments = shlex.split(console.setting("pytest-args", held))
            facts = wiring.run_tests(interpreter(console.setting("python", held)), arguments, sys.stdout)
    except (NoepiError, OSError, ValueError) as error:
        return failing.report(error, "The tests could not be run: ")
    home = Path(os.environ["RUNNER_TEMP"], "noepi")
    home.mkdir(parents=True, exist_ok=True)
    (home / "session.json").write_text(json.dumps(facts), "utf-8")
    console.output(done=True)
    if not facts["failures"]:
        status = int(facts["exit_status"])
        what = _NOTHING.get(status, f"pytest ended with status {status} and reported no failing test.")
        console.command("notice", what, title="pytest-noepicycle")
    return 0


if __name__ == "__main__":
    sys.exit(main())
