"""The pytest plugin of a trial: runs the tests that were asked for, whatever options say, and records each phase."""

from __future__ import annotations

import json
import os
from typing import Any, Dict, Generator, List, Optional, Sequence, Union

import pytest
from _pytest.config import ConftestImportFailure

from .failing import failure_of
from .starting import put_off_conftest
from .tracer import MonitoringTracer, TraceFunctionTracer

_IDS_A_RECORD = 1000
_BYTES_A_RECORD = 512 * 1024

_ALWAYS: Dict[str, Any] = {
    "numprocesses": None,
    "dist": "no",
    "tx": [],
    "looponfail": False,
    "forked": False,  # each trial is a fork of its own, and nobody else may write its records
    "boxed": False,
    "testmon": False,
    "testmon_noselect": False,
    "testmon_forceselect": False,
    "testmon_nocollect": False,
    "usepdb": False,
    "trace": False,
    "lf": False,
    "failedfirst": False,
    "newfirst": False,
    "stepwise": False,
    "stepwise_skip": False,
    "cacheclear": False,
    "collectonly": False,
    "showfixtures": False,
    "show_fixtures_per_test": False,
    "setuponly": False,
    "setupplan": False,
    "xmlpath": None,
    "report_log": None,
    "htmlpath": None,
    "pastebin": None,
    "continue_on_collection_errors": True,
    "reruns": 0,
    "randomly_reorganize": False,
    "tbstyle": "auto",
    "fulltrace": False,
    "showlocals": False,
}
_FOR_CHOSEN_TESTS: Dict[str, Any] = {"keyword": "", "markexpr": "", "deselect": None}


class Records:
    """The way out: one JSON object a line, written at once, so that the last line tells where a test hangs."""

    def __init__(self, fd: int) -> None:
        self._fd = fd

    def write(self, record: Dict[str, Any]) -> None:
        """Write one record."""
        data = json.dumps(record, separators=(",", ":")).encode("ascii") + b"\n"
        while data:
            data = data[os.write(self._fd, data) :]


class Recorder:
    """The plugin. ``ids`` are exact node ids, or files for all of their tests; None asks for the whole suite."""

    def __init__(
        self,
        records: Records,
        root: str,
        ids: Optional[Sequence[str]],
        stop_at_first_failure: bool = False,
        tracer: Union[MonitoringTracer, TraceFunctionTracer, None] = None,
        brief: bool = False,
        shuffled: bool = False,
    ) -> None:
        self._records, self._root, self._tracer = records, root, tracer
        self.aim(ids)
        self._stop, self._brief, self._shuffled = stop_at_first_failure, brief, shuffled
        self._phases: Dict[str, None] = {}
        self._parts: List[Any] = []
        self._stopped = False
        self._interrupted = False
        self._count = 0

    def aim(self, ids: Optional[Sequence[str]]) -> None:
        """Choose the tests anew."""
        self._order = None if ids is None else {name: place for place, name in enumerate(ids)}

    def end(self, status: int) -> None:
        """Record that pytest has ended with that exit status: nothing may follow."""
        status = 2 if self._interrupted else status
        self._records.write({"k": "end", "status": status, "count": self._count, "stopped": self._stopped})

    @pytest.hookimpl(wrapper=True)
    def pytest_load_initial_conftests(
        self, early_config: pytest.Config, parser: pytest.Parser, args: List[str]
    ) -> Generator[None, Any, Any]:
        """Let a conftest that cannot be imported fail as the collection of its folder."""
        return (yield from put_off_conftest(early_config, parser, args))

    @pytest.hookimpl(tryfirst=True)
    def pytest_cmdline_main(self, config: pytest.Config) -> None:
        """Set what addopts or the environment may have set otherwise, before other plugins read it."""
        self._settle(config.option)

    @pytest.hookimpl(tryfirst=True)
    def pytest_configure(self, config: pytest.Config) -> None:
        """Do so again after the others' ``pytest_cmdline_main``: xdist derives its options there."""
        self._settle(config.option)

    def _settle(self, option: Any) -> None:
        wanted = dict(_ALWAYS, maxfail=1 if self._stop else 0)
        if self._order is not None:
            wanted.update(_FOR_CHOSEN_TESTS)
        for name, value in wanted.items():
            if hasattr(option, name):
                setattr(option, name, value)
        if self._brief:
            option.tbstyle = "native"  # to draw up a long traceback costs more than most tests do
        if getattr(option, "randomly_seed", None) == "default":
            option.randomly_seed = 0

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_collection_modifyitems(
        self, config: pytest.Config, items: List[pytest.Item]
    ) -> Generator[None, Any, Any]:
        """Keep the chosen tests, in the order asked for, after every other plugin has had its say.

        A shuffled order is given before: pytest then puts together what shares a parametrised fixture, as it would
        do with any order.
        """
        order = self._order
        if order is not None and self._shuffled:
            _keep(config, items, order)
        result = yield
        if order is not None and not self._shuffled:
            _keep(config, items, order)
        return result

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Record what will run, and the lines that imports have reached."""
        ids = [item.nodeid for item in session.items]
        for start in range(0, len(ids), _IDS_A_RECORD):
            self._records.write({"k": "collected", "ids": ids[start : start + _IDS_A_RECORD]})
        self._write_coverage("")

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_make_collect_report(self, collector: pytest.Collector) -> Generator[None, Any, Any]:
        """Record what could not be collected."""
        report = yield
        if report.outcome == "failed":
            failure = failure_of(_cause(getattr(report, "call", None)), str(report.longrepr), self._root)
            self._records.write({"k": "collect", "id": report.nodeid, "failure": failure})
        return report

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, Any, Any]:
        """Record where a test begins, and after it the lines it has reached."""
        self._phases, self._parts = {}, []
        self._records.write({"k": "start", "id": item.nodeid, "excused": _excused(item)})
        if self._tracer is not None:
            self._tracer.take()
            self._tracer.resume()
        result = yield
        self._write_coverage(item.nodeid)
        return result

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_makereport(self, call: pytest.CallInfo[None]) -> Generator[None, Any, Any]:
        """Keep the failure with its report; outermost, so that unittest has put its own exception in place."""
        report = yield
        if report.outcome == "failed":
            report.noepi_failure = failure_of(call.excinfo, _text(report), self._root, not self._brief)
        return report

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Record a phase; parts of a test (subtests) are gathered, and judge its call together."""
        if type(report) is not pytest.TestReport:
            self._parts.append(report)
            return
        if report.when is None or report.when in self._phases:
            return  # a plugin that tries a test again: its first attempt counts
        self._phases[report.when] = None
        parts, self._parts = (self._parts, []) if report.when == "call" else ([], self._parts)
        self._records.write(_phase(_worst([report, *parts])))
        self._count += report.when == "teardown"

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> Generator[None, Any, Any]:
        """Leave a brief trial at once when its tests are over: fixtures are torn down, the rest is for reports."""
        result = yield
        if self._brief:
            self._stopped = bool(session.shouldfail or session.shouldstop)
            self.end(int(pytest.ExitCode.TESTS_FAILED if session.testsfailed else pytest.ExitCode.OK))
            os._exit(0)
        return result

    def pytest_keyboard_interrupt(self) -> None:
        """Note that the run was broken off: by a signal, or by ``pytest.exit`` with a status of its choice."""
        self._interrupted = True

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Note whether the run ended before all tests had their turn."""
        self._stopped = bool(session.shouldfail or session.shouldstop)

    def _write_coverage(self, test: str) -> None:
        if self._tracer is None:
            return
        batch: Dict[str, List[int]] = {}
        size = 0
        for path, lines in self._tracer.take().items():
            size += len(path) + 8 * len(lines)
            if batch and size > _BYTES_A_RECORD:
                self._records.write({"k": "coverage", "id": test, "files": batch})
                batch, size = {}, 0
            batch[path] = lines
        self._records.write({"k": "coverage", "id": test, "files": batch})


def _keep(config: pytest.Config, items: List[pytest.Item], order: Dict[str, int]) -> None:
    """Leave only the tests that have a place in the order, and put them there.

    A test that is found twice, as by ``--pyargs`` in addopts and by its own name, is run once, as pytest would.
    """
    once: Dict[str, pytest.Item] = {}
    for item in items:
        once.setdefault(item.nodeid, item)
    items[:] = once.values()
    places = {item: _key(item, order) for item in items}
    left_out = [item for item in items if places[item] is None]
    items[:] = sorted((item for item in items if places[item] is not None), key=lambda item: places[item] or 0)
    if left_out:
        config.hook.pytest_deselected(items=left_out)


def _key(item: pytest.Item, order: Dict[str, int]) -> Optional[int]:
    """Return a test's place in the order: its own, or that of its file, or of a folder that holds it."""
    path = item.nodeid.partition("::")[0]
    folders = [path.rsplit("/", up)[0] for up in range(1, path.count("/") + 1)]
    return next((order[name] for name in (item.nodeid, path, *folders, ".") if name in order), None)


def _excused(item: pytest.Item) -> bool:
    """Whether a test says of itself that it may be skipped or fail, before anything of it has run."""
    obj, owner = getattr(item, "obj", None), getattr(item, "cls", None)
    signs = ("__unittest_skip__", "__unittest_expecting_failure__")
    marked = any(item.get_closest_marker(name) is not None for name in ("skip", "skipif", "xfail"))
    return marked or any(getattr(thing, sign, False) is True for thing in (obj, owner) for sign in signs)


def _cause(call: Any) -> Any:
    """Return what was raised while collecting; of a conftest that could not be imported, why."""
    excinfo = getattr(call, "excinfo", None)
    if excinfo is not None and isinstance(excinfo.value, ConftestImportFailure):
        return pytest.ExceptionInfo.from_exception(excinfo.value.cause)
    return excinfo


def _worst(reports: List[Any]) -> Any:
    """Return the report that decides: one that failed, else one that was skipped, else the first."""
    for outcomes in (("failed", "rerun"), ("skipped",)):
        for report in reports:
            if report.outcome in outcomes:
                return report
    return reports[0]


def _phase(report: Any) -> Dict[str, Any]:
    record = {
        "k": "phase",
        "id": report.nodeid,
        "when": report.when,
        "outcome": "failed" if report.outcome == "rerun" else report.outcome,
        "xfail": hasattr(report, "wasxfail"),
        "seconds": max(0.0, float(report.duration)),
    }
    if record["outcome"] == "failed":
        record["failure"] = getattr(report, "noepi_failure", None) or failure_of(None, _text(report), "")
    return record


def _text(report: Any) -> str:
    try:
        return str(report.longreprtext)
    except Exception as error:  # noqa: BLE001 - the text is made by the project's own objects
        return f"<the report cannot be shown: {type(error).__name__}>"
