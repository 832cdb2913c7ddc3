"""Where candidates are scored: in this process's boxes, or in those of a cluster's worker processes."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_noepicycle.adapters.snapshot import TreeSnapshot
from pytest_noepicycle.domain.session import Session
from pytest_noepicycle.domain.settings import Settings
from pytest_noepicycle.domain.trial import Report, Trial
from pytest_noepicycle.errors import UsageError
from pytest_noepicycle.sandbox import choice
from pytest_noepicycle.sandbox.pool import Pool

if TYPE_CHECKING:
    from pytest_noepicycle.adapters.dask_cluster import Cluster

_DASK = "dask://"


@contextlib.contextmanager
def cluster_of(settings: Settings) -> Iterator[Cluster | None]:
    """Connect, for a while, to the cluster that the settings name; None where candidates are scored here.

    :raises UsageError: where it cannot be had.
    """
    if not settings.executor.startswith(_DASK):
        yield None
        return
    try:
        from pytest_noepicycle.adapters import dask_cluster
    except ImportError as error:
        hint = "pip install 'pytest-noepicycle[cluster]'"
        raise UsageError(f"--noepi-executor {settings.executor} needs distributed: {error}", hint=hint) from error
    cluster = dask_cluster.connect(settings.executor.removeprefix(_DASK))
    try:
        yield cluster
    finally:
        cluster.close()


@dataclass(frozen=True, slots=True)
class ClusterGround:
    """All that a worker process needs to open boxes of a run: it is pickled, the tree included."""

    session: Session
    settings: Settings
    kind: str
    root: str
    index: Mapping[str, tuple[int, int]]
    links: frozenset[str]
    archive: bytes

    @classmethod
    def of(cls, session: Session, settings: Settings, kind: str, tree: TreeSnapshot) -> ClusterGround:
        """Pack the tree; ``kind`` is the sandbox that was chosen here, and must be had there as well."""
        archive = Path(tree.archive).read_bytes()
        return cls(session, settings, kind, tree.root, dict(tree.index), tree.links, archive)

    def open(self, width: int) -> BoxesThere:
        """Unpack the tree and be ready for so many trials at once."""
        held = tempfile.NamedTemporaryFile(prefix="noepi-", suffix=".tar")  # noqa: SIM115 - the snapshot closes it
        held.write(self.archive)
        held.flush()
        tree = TreeSnapshot(self.root, held.name, self.links, dict(self.index), held)  # type: ignore[arg-type]
        sandbox = choice.choose(self.kind, self.session, replace(self.settings, sandbox=self.kind))
        return BoxesThere(Pool(sandbox, tree, width, spares=False), tree)


@dataclass(frozen=True, slots=True)
class BoxesThere:
    """The boxes of one worker process, and the tree that they hold."""

    pool: Pool
    tree: TreeSnapshot

    def run(self, trial: Trial) -> Report:
        """Run a trial in one of them."""
        return self.pool.run(trial)

    def close(self) -> None:
        """Close them."""
        self.pool.close()
        self.tree.close()
