"""A pool of open boxes, one per worker: a lost one is replaced, a fresh one is opened ahead for the next proof."""

from __future__ import annotations

import queue
import threading
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field

from pytest_noepicycle.domain.trial import End, Report, Trial
from pytest_noepicycle.errors import SandboxError
from pytest_noepicycle.ports import Box, Sandbox, Snapshot

_MOST_LOSSES = 5  # in a row; a sandbox that keeps dying is a fault of the machine, not of a candidate


@dataclass(slots=True)
class Pool:
    """Hands each trial a box of its own. Opens up to ``size`` boxes as they are needed."""

    sandbox: Sandbox
    snapshot: Snapshot
    size: int
    spares: bool = True  # whether fresh boxes will be wanted
    _free: queue.LifoQueue[Box | None] = field(default_factory=queue.LifoQueue)
    _open: set[Box] = field(default_factory=set)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _losses: int = 0
    _closed: bool = False
    _ahead: ThreadPoolExecutor = field(default_factory=lambda: ThreadPoolExecutor(1, thread_name_prefix="noepi-box"))
    _spare: Future[Box] | None = None

    def __post_init__(self) -> None:
        for _ in range(self.size):
            self._free.put(None)
        self._open_ahead()

    def run(self, trial: Trial) -> Report:
        """Run a trial in a warm box.

        :raises SandboxError: where boxes were lost several times in a row.
        """
        box = self._free.get()
        report: Report | None = None
        try:
            box = box or self._opened()
            report = box.run(trial)
            return report
        finally:
            self._give_back(box, report)

    def run_fresh(self, trial: Trial) -> Report:
        """Run a trial in a box that nothing else has used or will use.

        One fresh run is seldom the last, so the box of the next is opened while this one works.
        """
        with self._lock:
            spare, self._spare = self._spare, None
        report = None if spare is None else self._once(spare.result(), trial)
        if report is not None and report.end is not End.LOST:
            return report
        return self._once(self._opened(), trial)  # a spare may have died while it waited

    def _once(self, box: Box, trial: Trial) -> Report:
        self._open_ahead()
        try:
            return box.run(trial)
        finally:
            self._shut(box)

    def _open_ahead(self) -> None:
        with self._lock:
            if self.spares and self._spare is None and not self._closed:
                self._spare = self._ahead.submit(self._opened)

    def close(self) -> None:
        """Close every box; trials still running in them end as lost."""
        with self._lock:
            self._closed = True
        self._ahead.shutdown(wait=True)
        with self._lock:
            boxes = list(self._open)
        for box in boxes:
            self._shut(box)

    def _opened(self) -> Box:
        if self._closed:
            raise SandboxError("the sandbox is closed")
        box = self.sandbox.open(self.snapshot)
        with self._lock:
            self._open.add(box)
        return box

    def _shut(self, box: Box) -> None:
        with self._lock:
            self._open.discard(box)
        box.close()

    def _give_back(self, box: Box | None, report: Report | None) -> None:
        lost = report is None or report.end is End.LOST
        if box is not None and lost:
            self._shut(box)
            box = None
        self._free.put(box)
        with self._lock:
            self._losses = self._losses + 1 if lost else 0
            too_many = report is not None and self._losses >= _MOST_LOSSES
        if too_many:
            raise SandboxError(f"the sandbox was lost {_MOST_LOSSES} times in a row: {report.why if report else ''}")
