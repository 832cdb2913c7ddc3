"""Which lines of the project's files each test reached: by ``sys.monitoring`` where there is one, else by a trace."""

from __future__ import annotations

import os
import sys
import threading
from types import CodeType, FrameType
from typing import Any, Callable, Dict, Iterable, List, Optional, Set, Tuple, Union


def make_tracer(root: str, paths: Iterable[str]) -> Union[MonitoringTracer, TraceFunctionTracer]:
    """Return the cheaper tracer that this interpreter offers, for files given relative to ``root``."""
    files = {os.path.join(root, *path.split("/")): path for path in paths}
    if hasattr(sys, "monitoring"):
        tool = _free_tool()
        if tool is not None:
            return MonitoringTracer(files, tool)
    return TraceFunctionTracer(files)


def _free_tool() -> Optional[int]:
    """Return an id that no debugger, profiler or coverage tool holds; the middle ones have no name of their own."""
    monitoring: Any = sys.monitoring  # type: ignore[attr-defined, unused-ignore]
    return next((tool for tool in (3, 4, 1) if monitoring.get_tool(tool) is None), None)


class _Lines:
    """The lines reached since they were last taken, by absolute path."""

    def __init__(self, files: Dict[str, str]) -> None:
        self.files = files
        self.reached: Set[Tuple[str, int]] = set()

    def take(self) -> Dict[str, List[int]]:
        """Return the lines by relative path, sorted, and begin again with none."""
        reached, self.reached = self.reached, set()
        lines: Dict[str, List[int]] = {}
        for path, line in sorted(reached):
            lines.setdefault(self.files[path], []).append(line)
        return lines


class MonitoringTracer:
    """A tracer that is told of each line once: a place that was seen is switched off until the next test."""

    def __init__(self, files: Dict[str, str], tool: int) -> None:
        self._lines = _Lines(files)
        self._tool = tool
        self._monitoring: Any = sys.monitoring  # type: ignore[attr-defined, unused-ignore]

    def start(self) -> None:
        """Begin to watch, in every thread."""
        events = self._monitoring.events
        self._monitoring.use_tool_id(self._tool, "noepicycle")
        self._monitoring.register_callback(self._tool, events.PY_START, self._entered)
        self._monitoring.register_callback(self._tool, events.LINE, self._line)
        self._monitoring.set_events(self._tool, events.PY_START)

    def resume(self) -> None:
        """Nothing can take the watch away from its own tool id."""

    def take(self) -> Dict[str, List[int]]:
        """Return the lines reached since the last call, by relative path."""
        lines = self._lines.take()
        self._monitoring.restart_events()
        return lines

    def stop(self) -> None:
        """Watch no more."""
        self._monitoring.set_events(self._tool, 0)
        self._monitoring.free_tool_id(self._tool)

    def _entered(self, code: CodeType, offset: int) -> Any:
        if code.co_filename in self._lines.files:
            self._monitoring.set_local_events(self._tool, code, self._monitoring.events.LINE)
        return self._monitoring.DISABLE

    def _line(self, code: CodeType, line: int) -> Any:
        self._lines.reached.add((code.co_filename, line))
        return self._monitoring.DISABLE


class TraceFunctionTracer:
    """A tracer that follows frames of the project's files only; others cost one call each."""

    def __init__(self, files: Dict[str, str]) -> None:
        self._lines = _Lines(files)
        self._before: Optional[Callable[..., Any]] = None

    def start(self) -> None:
        """Begin to watch, in this thread and in those that start from now on."""
        self._before = sys.gettrace()
        self.resume()

    def resume(self) -> None:
        """Take the trace function back where a test has set another one."""
        threading.settrace(self._called)
        sys.settrace(self._called)

    def take(self) -> Dict[str, List[int]]:
        """Return the lines reached since the last call, by relative path."""
        return self._lines.take()

    def stop(self) -> None:
        """Watch no more; whoever traced before goes on."""
        threading.settrace(None)  # type: ignore[arg-type, unused-ignore]
        sys.settrace(self._before)

    def _called(self, frame: FrameType, event: str, _: Any) -> Optional[Callable[..., Any]]:
        path = frame.f_code.co_filename
        if path not in self._lines.files:
            return None
        reached = self._lines

        def line(frame: FrameType, event: str, _: Any) -> Callable[..., Any]:
            if event == "line":
                reached.reached.add((path, frame.f_lineno))
            return line

        return line
