"""What the loop needs around it where nothing touches the world: a journal, a watcher, a tree, a session."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

from toy import World

from pytest_noepicycle.domain.failure import Failure
from pytest_noepicycle.domain.session import Interpreter, Session


@dataclass
class Lines:
    """A journal in memory; every event must be JSON."""

    events: list[dict[str, Any]] = field(default_factory=list)

    def write(self, event: str, **fields: Any) -> None:
        """Keep the event."""
        self.events.append(json.loads(json.dumps({"event": event, **fields})))


class Silent:
    """A watcher that shows nothing."""

    def stage(self, text: str) -> None:
        """Ignore a stage."""

    def progress(self, rung: str, tried: int, score: float, spent: int) -> None:
        """Ignore progress."""


@dataclass(frozen=True)
class WorldSnapshot:
    """The files of a world, as a run sees its tree."""

    world: World
    root: str = "/project"
    archive: str = ""
    links: frozenset[str] = frozenset()

    @property
    def files(self) -> frozenset[str]:
        return frozenset(self.world.files)

    def read(self, path: str) -> bytes | None:
        return self.world.files.get(path)


def session_of(failing: tuple[str, ...], passing: tuple[str, ...]) -> Session:
    """Return a session that ended with these tests."""
    failed = tuple(Failure(test, "call", "AssertionError", "") for test in failing)
    python = Interpreter("python", "3.11.0", "/usr", "/usr", "linux")
    return Session("/project", "/project", (), python, "9.0", 1, failed, passing)
