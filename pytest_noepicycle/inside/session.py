"""The ordinary run, remembered: which tests failed, and the facts that a sandbox needs. PYTEST_DONT_REWRITE"""

from __future__ import annotations

import json
import os
import re
import sys
from typing import Any, Optional

import pytest

# As the interpreter started, before pytest put rootdir, conftest folders and `pythonpath` in front.
STARTED_WITH = tuple(sys.path)
_TEXT = 8192


class SessionRecorder:
    """A plugin that listens to reports and can tell, at the end, what the session was.

    Under xdist it listens in the controller, which sees every worker's reports.
    """

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self.failures: list[dict[str, Any]] = []
        self.passed: dict[str, None] = {}
        self.durations: dict[str, float] = {}
        self.interrupted = False

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Keep a file that could not be collected."""
        if report.failed:
            self.failures.append(_failure(report, report.nodeid, "collect"))

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Keep a failure of any phase, and the tests that passed."""
        test = own_id(report.nodeid, self._config)
        self.durations[test] = self.durations.get(test, 0.0) + report.duration
        if report.failed:
            self.failures.append(_failure(report, test, report.when))
            self.passed.pop(test, None)
        elif report.when == "call" and report.passed and not hasattr(report, "wasxfail"):
            self.passed[test] = None

    def pytest_keyboard_interrupt(self, excinfo: Any) -> None:
        """Tell a person's Ctrl-C and ``pytest.exit`` from a stop after collection errors or ``-x``.

        Those are exceptions derived from Ctrl-C's: pytest's own and, under xdist, another one.
        """
        stop = excinfo.value
        self.interrupted = type(stop) is KeyboardInterrupt or isinstance(stop, pytest.exit.Exception)

    def facts(self, exit_status: int) -> dict[str, Any]:
        """Return the finished session as JSON: the constructor's form of the engine's ``Session``.

        Where the root was named through a symbolic link, all paths are those behind it.
        """
        config = self._config
        named, root = str(config.rootpath), os.path.realpath(str(config.rootpath))

        def real(path: Any) -> str:
            return _behind(str(path), named, root)

        return {
            "rootdir": root,
            "invocation_dir": real(config.invocation_params.dir),
            "args": [real(arg) for arg in config.invocation_params.args],
            "interpreter": interpreter(root),
            "pytest_version": pytest.__version__,
            "exit_status": int(exit_status),
            "failures": self.failures,
            "passed": list(self.passed),
            "durations": self.durations,
            "inipath": real(config.inipath) if config.inipath else None,
            "testpaths": [str(path) for path in config.getini("testpaths")],
            "python_files": [str(pattern) for pattern in config.getini("python_files")],
            "plugins": plugins(config),
        }


def own_id(nodeid: str, config: pytest.Config) -> str:
    """Return a test's id without the group that xdist hangs onto it where tests are distributed by group."""
    if getattr(config.option, "dist", "no") != "loadgroup":
        return nodeid
    cut = nodeid.find("@", max(nodeid.rfind("::"), nodeid.rfind("]"), 0))
    return nodeid[:cut] if cut > 0 else nodeid


def write(path: str, facts: dict[str, Any]) -> None:
    """Write the facts for an engine that lives in an environment of its own."""
    with open(path + ".part", "w", encoding="utf-8", errors="surrogateescape") as file:
        json.dump(facts, file)
    os.replace(path + ".part", path)


def interpreter(root: str) -> dict[str, Any]:
    """Return what this interpreter is and where it finds modules; ``root`` is the project."""
    return {
        "executable": sys.executable,
        "version": ".".join(map(str, sys.version_info[:3])),
        "prefix": sys.prefix,
        "base_prefix": sys.base_prefix,
        "platform": sys.platform,
        "sys_path": [os.path.abspath(entry) for entry in STARTED_WITH],
        "source_roots": _source_roots(),
        "top_level": _top_level(root),
    }


def plugins(config: pytest.Config) -> list[dict[str, str]]:
    """Return the distributions of the run's plugins, as pytest's header names them."""
    manager = config.pluginmanager
    found = []
    for plugin, dist in manager.list_plugin_distinfo():
        name = manager.get_name(plugin) or ""
        found.append({"name": name, "distribution": dist.project_name, "version": str(dist.version)})
    return found


def _behind(text: str, named: str, root: str) -> str:
    """Put ``root`` for the folder ``named`` wherever that stands as a whole path or the beginning of one."""
    if named == root:
        return text
    return re.sub(rf"(?<![\w.-]){re.escape(named)}(?=[/\\:,]|$)", lambda _: root, text)


def _source_roots() -> list[str]:
    """Folders that setuptools' editable finders point to; they stand in no ``sys.path``."""
    roots = set()
    for name, module in list(sys.modules.items()):
        if name.startswith("__editable__"):
            for place in getattr(module, "MAPPING", {}).values():
                roots.add(os.path.abspath(str(place)))
    return sorted(roots)


def _top_level(root: str) -> list[str]:
    """Names that import from outside the project: a patch must not take one of them."""
    names = set(sys.builtin_module_names)
    for entry in STARTED_WITH:
        folder = os.path.abspath(entry)
        if not os.path.isdir(folder) or (_inside(folder, root) and "site-packages" not in folder):
            continue
        for name in os.listdir(folder):
            stem = name.split(".")[0]
            if stem.isidentifier() and (
                name.endswith((".py", ".so", ".pyd")) or os.path.isdir(os.path.join(folder, name))
            ):
                names.add(stem)
    return sorted(names)


def _inside(folder: str, root: str) -> bool:
    return folder == root or folder.startswith(root.rstrip(os.sep) + os.sep)


def _failure(report: Any, test: str, phase: str) -> dict[str, Any]:
    crash = getattr(report.longrepr, "reprcrash", None)
    message = str(crash.message) if crash is not None else str(report.longrepr)[-_TEXT:]
    exception, _, rest = message.partition(":")
    named = exception.isidentifier() or "." in exception
    return {
        "test": test,
        "phase": phase,
        "exception": exception.strip() if named and "\n" not in exception else "AssertionError",
        "message": (rest.strip() if named and rest else message)[:_TEXT],
        "frames": _frames(crash),
        "text": str(report.longrepr)[-_TEXT:],
    }


def _frames(crash: Optional[Any]) -> list[dict[str, Any]]:
    if crash is None:
        return []
    return [{"path": str(crash.path), "line": int(crash.lineno), "function": ""}]
