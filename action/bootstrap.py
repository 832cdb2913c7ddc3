"""An environment for the engine, beside the project's own. Standard library, syntax of Python 3.9.

The project's Python is neither used nor changed: a Python of 3.11 or newer is looked for, an environment is made in the
runner's temporary folder, and this very checkout of the Action is installed into it.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import console

OLDEST = (3, 11)
_NAMES = ("python3", "python", "python3.14", "python3.13", "python3.12", "python3.11")
_TOO_OLD = (
    "The engine needs Python 3.11 or newer on the runner, and found none on the PATH. The project may use an older "
    "one: add actions/setup-python with python-version: '3.12' before this step, and name the project's own with the "
    "input 'python'."
)


def new_enough(python: str) -> bool:
    """Whether an interpreter can run the engine: its version, and the modules that environments are made with."""
    asked = f"import sys, venv, ensurepip; sys.exit(sys.version_info < {OLDEST})"
    try:
        done = subprocess.run([python, "-I", "-c", asked], stderr=subprocess.DEVNULL, timeout=60, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0


def find() -> str | None:
    """Return an interpreter for the engine, or None."""
    named = [shutil.which(name) for name in _NAMES]
    return next((python for python in [sys.executable, *named] if python and new_enough(python)), None)


def install(python: str, source: Path, folder: Path) -> Path:
    """Make the environment, install the package from ``source``, and return the environment's interpreter."""
    _run([python, "-I", "-m", "venv", "--clear", str(folder)])
    engine = folder / ("Scripts" if os.name == "nt" else "bin") / "python"
    # Without --no-compile, thousands of modules that no step imports would be compiled on every run.
    options = ("--quiet", "--no-compile", "--disable-pip-version-check", "--no-input")
    _run([str(engine), "-I", "-m", "pip", "install", *options, str(source)])
    return engine


def _run(words: list[str]) -> None:
    kept = {
        name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "VIRTUAL_ENV", "NOEPI_"))
    }
    subprocess.run(words, env=kept, check=True, timeout=900)


def main() -> int:
    """Install the engine and name its interpreter."""
    python = find()
    if python is None:
        console.command("error", _TOO_OLD, title="pytest-noepicycle")
        return 1
    folder = Path(os.environ["RUNNER_TEMP"], "noepi", "engine")
    with console.group("pytest-noepicycle: install the engine"):
        try:
            with console.unheard():
                engine = install(python, Path(__file__).resolve().parents[1], folder)
        except (subprocess.CalledProcessError, subprocess.TimeoutExpired) as error:
            what = f"The engine could not be installed: {error}. Is the package index reachable (PIP_INDEX_URL)?"
            console.command("error", what, title="pytest-noepicycle")
            return 1
    console.output(python=engine)
    return 0


if __name__ == "__main__":
    sys.exit(main())
