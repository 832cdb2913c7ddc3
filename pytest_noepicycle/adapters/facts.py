"""What a project's interpreter and configuration say of a pytest run, asked without running any of its code."""

from __future__ import annotations

import json
import os
import re
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pytest_noepicycle.errors import UsageError

_PLUGIN = "_noepi_inside.asked"
_MOST_SECONDS = 60
_BLOCKED = re.compile(r"-p[\s\"',=]*no:([\w.-]+)")
# Nothing in the tree is importable here: neither from the current folder nor through a path that leads into it.
_START = """
import os, sys
half, root = sys.argv.pop(1), os.path.realpath(sys.argv.pop(1))
def outside(entry):
    place = os.path.realpath(entry or os.curdir)
    return place != root and (not place.startswith(root + os.sep) or "site-packages" in place)
sys.path[:] = [entry for entry in sys.path if outside(entry)] + [half]
import pytest
sys.exit(pytest.main())
"""
_NO_CODE = ("--noconftest", "-p", "no:cacheprovider", "-p", "no:noepicycle", "-p", _PLUGIN)
_NO_OPTIONS = ("-o", "addopts=", "-o", "required_plugins=")


def ask(python: str, folder: str, arguments: Sequence[str], half: Path, *, untrusted: str) -> dict[str, Any]:
    """Return the facts of a session in ``folder``, as if pytest were called there with the arguments.

    ``half`` holds the thin half as the package ``_noepi_inside``; of the arguments only those are passed on that
    say where the configuration lies. Nothing below ``untrusted`` is imported.

    :raises UsageError: where the interpreter cannot run or has no pytest, or the configuration cannot be read.
    """
    with tempfile.TemporaryDirectory(prefix="noepi-") as temporary:
        target = Path(temporary, "session.json")
        command = [python, "-B", "-c", _START, str(half), untrusted, *_NO_CODE, *_NO_OPTIONS]
        command += _placing(arguments, folder)
        said = _call(command, _environment(untrusted, target), folder, python)
        if not target.exists():
            raise UsageError(
                f"{python} cannot say how the tests of {folder} run: {said[-1000:]}",
                hint="Is pytest installed in that environment, and does its configuration read?",
            )
        facts = json.loads(target.read_text("utf-8"))
    path = [folder, *_python_path(), *facts["interpreter"]["sys_path"]]
    path.remove(str(half))
    blocked = _blocked(arguments, facts["inipath"])
    plugins = [plugin for plugin in facts["plugins"] if plugin["name"].removeprefix("pytest_") not in blocked]
    interpreter = {**facts["interpreter"], "sys_path": path}
    return {**facts, "args": list(arguments), "plugins": plugins, "interpreter": interpreter}


def _blocked(arguments: Sequence[str], inipath: str | None) -> frozenset[str]:
    """Return the plugins that ``-p no:NAME`` keeps out, on the command line or in the file of the configuration."""
    written = Path(inipath).read_text("utf-8", "replace") if inipath else ""
    text = " ".join([*arguments, os.environ.get("PYTEST_ADDOPTS", ""), written])
    return frozenset(name.removeprefix("pytest_") for name in _BLOCKED.findall(text))


def _names_a_path(word: str, folder: str) -> bool:
    return not word.startswith("-") and Path(folder, word.split("::")[0]).exists()


def _placing(arguments: Sequence[str], folder: str) -> list[str]:
    """Return the options that name a root or a configuration file, and the paths, which decide the root too."""
    kept, rest = [], list(arguments)
    while rest:
        word = rest.pop(0)
        if word in ("-c", "--config-file", "--rootdir") and rest:
            kept += [word, rest.pop(0)]
        elif word.startswith(("-c", "--config-file=", "--rootdir=")) or _names_a_path(word, folder):
            kept.append(word)
    return kept


def _python_path() -> list[str]:
    return [str(Path(entry).absolute()) for entry in os.environ.get("PYTHONPATH", "").split(os.pathsep) if entry]


def _environment(root: str, target: Path) -> dict[str, str]:
    """Return ours without what loads plugins, and without folders of the tree on the import path."""
    env = {k: v for k, v in os.environ.items() if not k.startswith("PYTEST_") and k != "PYTHONPATH"}
    outer = [entry for entry in _python_path() if not Path(entry).resolve().is_relative_to(Path(root).resolve())]
    if outer:
        env["PYTHONPATH"] = os.pathsep.join(outer)
    return {**env, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "NOEPI_SESSION_FILE": str(target)}


def _call(command: list[str], env: dict[str, str], root: str, python: str) -> str:
    try:
        done = subprocess.run(
            command,
            env=env,
            cwd=root,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=_MOST_SECONDS,
            check=False,
        )
    except OSError as error:
        raise UsageError(f"{python} cannot be started: {error.strerror}", hint="Give the path of a Python.") from error
    except subprocess.TimeoutExpired as error:
        raise UsageError(f"{python} did not answer within {_MOST_SECONDS} s") from error
    return done.stdout.decode("utf-8", "replace")
