"""The process of one trial: it calls pytest with the recorder, writes records to a pipe, and is gone."""

from __future__ import annotations

import glob
import importlib
import importlib.util
import json
import linecache
import os
import sys
import tempfile
import traceback
from typing import Any, Dict, List, NoReturn, Optional

import pytest

from .recording import Recorder, Records
from .tracer import make_tracer

RECORDS_FD = 3
JOB_FD = 4


class Surface:
    """Our options and hooks, so that a project's configuration and conftest find them in a sandbox as well."""

    def pytest_addoption(self, parser: pytest.Parser) -> None:
        """Register the options, where this half has them."""
        options = _sibling("options")
        if options is not None:
            options.add_options(parser)
        # Known even where the project has switched the cache off: strict configuration would refuse our -o else.
        parser.addini("cache_dir", "Where pytest keeps its cache", default=".pytest_cache")

    def pytest_addhooks(self, pluginmanager: pytest.PytestPluginManager) -> None:
        """Register the hook specifications, where this half has them."""
        hookspecs = _sibling("hookspecs")
        if hookspecs is not None:
            pluginmanager.add_hookspecs(hookspecs)


def start_cold() -> NoReturn:
    """Run the job that the worker has left on a file descriptor: the entry point of a fresh interpreter."""
    os.set_inheritable(RECORDS_FD, False)
    with os.fdopen(JOB_FD, "rb") as file:
        job = json.loads(file.read())
    run(job)


def run(job: Dict[str, Any]) -> NoReturn:
    """Run a trial's tests and leave without any clean-up: the worker cleans up better."""
    try:
        settle(job)
        tracer = make_tracer(job["root"], job["trace"]) if job["coverage"] else None
        kinds = {name: job[name] for name in ("brief", "shuffled")}
        records = Records(RECORDS_FD)
        recorder = Recorder(records, job["root"], job["ids"], job["stop_at_first_failure"], tracer, **kinds)
        call_pytest(job, recorder, [Surface()], tracer)
    finally:
        leave_at_once()


def leave_at_once() -> NoReturn:
    """End this process and run nothing more of the project; what was raised goes to the trial's output."""
    status = 70 if sys.exc_info()[0] else 0  # EX_SOFTWARE: pytest itself has fallen over
    if status:
        traceback.print_exc()
    _flush()
    os._exit(status)


def settle(job: Dict[str, Any]) -> None:
    """Become the process that the project expects: its environment, its folder, its import path."""
    os.environ.clear()
    os.environ.update(job["env"])
    tempfile.tempdir = None
    sys.dont_write_bytecode = True
    sys.path[:] = job["sys_path"]
    sys.path_importer_cache.clear()
    importlib.invalidate_caches()
    linecache.clearcache()
    os.chdir(job["cwd"])


def call_pytest(job: Dict[str, Any], recorder: Recorder, plugins: List[Any], tracer: Any = None) -> None:
    """Call pytest for the job's tests, and record how it ended."""
    files = files_of(job)
    if job["ids"] is not None and not files:
        recorder.end(int(pytest.ExitCode.NO_TESTS_COLLECTED))
        return
    args = _arguments(job, files)
    sys.argv = ["pytest", *args]
    if tracer is not None:
        tracer.start()
    status = int(pytest.main(args, plugins=[recorder, *plugins]))
    if tracer is not None:
        tracer.stop()
    _flush()
    recorder.end(status)


def _arguments(job: Dict[str, Any], files: List[str]) -> List[str]:
    cache = os.path.join(job["env"]["TMPDIR"], "pytest-cache")
    return ["-p", "no:noepicycle", *job["args"], "-o", "cache_dir=" + cache, *files]


def files_of(job: Dict[str, Any]) -> List[str]:
    """Return the files of the chosen tests, absolute, in order; one that is not there would end the whole run."""
    if job["ids"] is None:
        return _whole_suite(job)
    names = dict.fromkeys(name.partition("::")[0] for name in job["ids"])
    paths = [os.path.join(job["rootdir"], name) for name in names]
    return [path for path in paths if os.path.exists(path)]


def _whole_suite(job: Dict[str, Any]) -> List[str]:
    """Return where the suite lies, for a run that is called from elsewhere than the root: nothing says it there."""
    root = job["rootdir"]
    if os.path.realpath(job["cwd"]) == os.path.realpath(root):
        return []
    patterns = [os.path.join(glob.escape(root), path) for path in job["testpaths"]]
    found = [path for pattern in patterns for path in sorted(glob.glob(pattern, recursive=True))]
    return found or [root]


def _sibling(name: str) -> Optional[Any]:
    """Import a module of this package if it was laid out."""
    full = __package__ + "." + name
    return importlib.import_module(full) if importlib.util.find_spec(full) else None


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError, AttributeError):  # closed or replaced by a test: nothing to flush
            continue
