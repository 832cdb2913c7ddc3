"""A Dask cluster that scores candidates. The only module that knows distributed; import it when one is asked for.

Each worker process is sent the tree once and keeps boxes of its own for the run. A trial whose worker is lost is run
again by the scheduler on another; where that fails too, or takes too long, it is run here.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable
from concurrent.futures import CancelledError, Future
from concurrent.futures import TimeoutError as TooLate
from dataclasses import dataclass, field
from typing import Any, Protocol, cast

from distributed import Client, WorkerPlugin, get_worker

from pytest_noepicycle.domain.trial import End, Report, Trial
from pytest_noepicycle.errors import UsageError

ANSWER_SECONDS = 10.0
"""How long a scheduler may take to answer, and to show a worker."""
_SLACK_SECONDS = 60.0  # for a box to be opened, and a trial to be sent and run again

Run = Callable[[Trial], Report]


class Ground(Protocol):
    """What a worker process needs to run trials; it can be pickled."""

    def open(self, width: int) -> Place:
        """Return a place where so many trials can run at once."""
        ...


class Place(Protocol):
    """Where trials run."""

    def run(self, trial: Trial) -> Report:
        """Run a trial."""
        ...

    def close(self) -> None:
        """Leave nothing behind."""
        ...


class _Boxes(WorkerPlugin):
    """What a worker process holds for one run."""

    def __init__(self, name: str, ground: Ground) -> None:
        self.name, self._ground = name, ground
        self._place: Place | None = None

    def setup(self, worker: Any) -> None:
        """Be ready; boxes are opened as trials come."""
        self._place = self._ground.open(worker.state.nthreads)

    def teardown(self, worker: Any) -> None:
        """Close the boxes."""
        if self._place is not None:
            self._place.close()

    def run(self, trial: Trial) -> Report:
        """Run a trial.

        :raises RuntimeError: where the run has ended here.
        """
        if self._place is None:
            raise RuntimeError("the run has ended on this worker")
        return self._place.run(trial)


def _score(name: str, trial: Trial) -> Report:
    """Run a trial on the worker process that this is called in."""
    boxes: Any = get_worker().plugins[name]
    report: Report = boxes.run(trial)
    return report


@dataclass(slots=True)
class Cluster:
    """A connection to a scheduler that has at least one worker."""

    address: str
    client: Any

    @property
    def width(self) -> int:
        """Return how many trials its workers run at once."""
        return max(1, int(sum(self.client.nthreads().values())))

    def scorer(self, ground: Ground, here: Run, note: Callable[[str], None]) -> Scorer:
        """Lay the ground on every worker, also on those that come later; ``here`` runs what the cluster does not."""
        name = f"noepi-{secrets.token_hex(8)}"
        self.client.register_plugin(_Boxes(name, ground), name=name)
        return Scorer(self.client, name, self.client.get_executor(pure=False), here, note)

    def close(self) -> None:
        """Let go of the scheduler, which goes on."""
        self.client.close()


@dataclass(slots=True)
class Scorer:
    """Runs trials on the cluster, for as long as a run lasts."""

    client: Any
    name: str
    executor: Any
    here: Run
    note: Callable[[str], None]
    _pending: set[Future[Report]] = field(default_factory=set)
    _said: set[str] = field(default_factory=set)

    def run(self, trial: Trial) -> Report:
        """Run a trial on some worker; here, where the cluster has no report of it that can be used."""
        try:
            report = self._there(trial)
        except (Exception, CancelledError, TooLate) as error:  # noqa: BLE001 - whatever failed there is not the candidate's doing
            self._say(f"{type(error).__name__}: {error}")
            return self.here(trial)
        if report.end is End.LOST:
            self._say(report.why)
            return self.here(trial)
        return report

    def _there(self, trial: Trial) -> Report:
        future = self.executor.submit(_score, self.name, trial)
        self._pending.add(future)
        try:
            report: Report = future.result(trial.limits.seconds + _SLACK_SECONDS)
        finally:
            self._pending.discard(future)
            future.cancel()
        return report

    def _say(self, why: str) -> None:
        """Tell the first of each kind of failure."""
        why = " ".join(why.split())[:200]
        if why not in self._said and len(self._said) < 3:
            self._said.add(why)
            self.note(f"a candidate is scored here, because the cluster did not ({why})")

    def close(self) -> None:
        """Let go of what still runs, and close the boxes on every worker that is still there."""
        for future in list(self._pending):
            future.cancel()
        self.executor.shutdown(wait=False)
        self.client.unregister_worker_plugin(self.name)


def connect(address: str) -> Cluster:
    """Connect to the scheduler at ``host:port``.

    :raises UsageError: where it does not answer, or has no worker, within ten seconds each.
    """
    hint = "Start dask-scheduler and dask-worker, see that the address is right, or leave --noepi-executor away."
    try:
        client: Any = cast(Any, Client)(f"tcp://{address}", timeout=ANSWER_SECONDS, set_as_default=False)
    except (OSError, ValueError) as error:
        raise UsageError(f"No Dask scheduler answers at {address}: {error}", hint=hint) from error
    try:
        client.wait_for_workers(1, timeout=ANSWER_SECONDS)
    except (TimeoutError, OSError) as error:
        client.close()
        raise UsageError(f"The Dask scheduler at {address} has no worker.", hint=hint) from error
    return Cluster(address, client)
