"""Levels: how far pytest is ready before a trial's child is forked, and which of them a trial may have.

A trial starts from the worker, or from a stem that has a session, or one that has its tests collected: each needs more
to be as it was at the baseline. A stem is made once its choice of tests has come back a few times, and it is trusted
only after one trial ended in it as it does in a fresh interpreter.
"""

from __future__ import annotations

import json
import os
import select
import socket
import tempfile
import time
from typing import Any, Callable, Dict, FrozenSet, List, Optional, Sequence, Tuple

from . import processes
from .handover import hold_only, leave

FORK, SESSION, COLLECTED = "fork", "session", "collected"
LEVELS = (FORK, SESSION, COLLECTED)
_OFTEN = {SESSION: 6, COLLECTED: 12}  # so many trials of one choice of tests make a stem worth its while
_MOST_STEMS = 3
_MOST_CHOICES = 1000
_ANSWER_SECONDS = 5.0
COLD_SECONDS, GROW_SECONDS, WARM_SECONDS = 6.0, 6.0, 3.0  # what they save on slower tests is not worth it
PROVING_SECONDS = 16.0
_WORDS = 64 * 1024

Key = Tuple[Any, ...]
Change = Tuple[str, Optional[bytes]]


class Stem:
    """The worker's end of a stem."""

    def __init__(self, key: Key, pid: int, control: socket.socket, facts: Dict[str, Any]) -> None:
        self.key, self.pid, self._control = key, pid, control
        self.level: str = key[0]
        self._opened, self._bodies = frozenset(facts["opened"]), frozenset(facts["bodies"])

    def suits(self, changes: Sequence[Change]) -> bool:
        """Whether nothing of a patch has been read here, or only modules whose functions may be swapped."""
        paths = [path for path, _ in changes]
        return all(path not in self._opened or path in self._bodies for path in paths)

    def changed(self, changes: Sequence[Change]) -> List[str]:
        """Return the files of a patch that are loaded here."""
        return [path for path, _ in changes if path in self._opened]

    def fork(self, told: Dict[str, Any], records: int, output: int) -> int:
        """Start a trial's child and return its process id; 0 where the stem does not answer."""
        job = leave(told)
        try:
            socket.send_fds(self._control, [b"go"], [records, output, job])
            return int(self._control.recv(64) or b"0")
        except OSError:
            return 0
        finally:
            os.close(job)

    def end(self) -> None:
        """End its process."""
        self._control.close()
        processes.end(self.pid)


class Levels:
    """The stems of one worker; none, where trials are not users of their own in a world of their own."""

    def __init__(self, setup: Dict[str, Any], files: FrozenSet[str]) -> None:
        self._setup, self._files = setup, files
        self._possible = os.getpid() == 1 and bool(setup["uid"]) and hasattr(socket, "send_fds")
        self._stems: Dict[Key, Stem] = {}
        self._asked: Dict[Key, int] = {}
        self._refused: Dict[Key, str] = {}
        self.cold: Dict[Key, Any] = {}
        """How the tests of a choice end in a fresh interpreter, the level left out of its key."""

    @property
    def pids(self) -> FrozenSet[int]:
        """Return the processes that a sweep must spare."""
        return frozenset(stem.pid for stem in self._stems.values())

    def choose(self, request: Dict[str, Any], changes: Sequence[Change]) -> Optional[Stem]:
        """Return the deepest stem that a trial may have, or None: then it starts from the worker."""
        stems = (self._stems.get(key) for key in self._keys(request, changes))
        return next((stem for stem in stems if stem is not None and stem.suits(changes)), None)

    def due(self, request: Dict[str, Any], changes: Sequence[Change]) -> Optional[Key]:
        """Count a choice of tests; return the key of a stem that it is worth to make now."""
        if len(self._asked) > _MOST_CHOICES:
            self._asked.clear()
        for key in self._keys(request, changes):
            self._asked[key] = self._asked.get(key, 0) + 1
            if self._asked[key] == _OFTEN[key[0]] and key not in self._stems and key not in self._refused:
                return key
        return None

    def grow(self, key: Key, job: Dict[str, Any]) -> Optional[Stem]:
        """Make a stem from the tree as it is; None where the project does not allow one, which is not asked again."""
        while len(self._stems) >= _MOST_STEMS:
            oldest = next(iter(self._stems))
            self._stems.pop(oldest).end()
            self._asked.pop(oldest, None)
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        with tempfile.TemporaryFile() as output, theirs:
            pid = os.fork()
            if pid == 0:
                self._become_stem(dict(job, level=key[0]), theirs.fileno(), output.fileno())
        facts = _facts(ours, GROW_SECONDS)
        ours.settimeout(_ANSWER_SECONDS)
        stem = Stem(key, pid, ours, facts)
        if facts["why"]:
            stem.end()
            self.refuse(key, str(facts["why"]))
            return None
        self._stems[key] = stem
        return stem

    def refuse(self, key: Key, why: str) -> None:
        """End a stem, if there is one, and make none of its kind."""
        self._refused[key] = why
        stem = self._stems.pop(key, None)
        if stem is not None:
            stem.end()

    @property
    def owner(self) -> Tuple[int, int]:
        """Return the user and group of a stem, whom no trial can be."""
        return self._setup["uid"] + 1, self._setup["gid"] + 1

    def _keys(self, request: Dict[str, Any], changes: Sequence[Change]) -> List[Key]:
        """Return the keys of the stems that a trial could use, the deepest first."""
        plain = not request["cold"] and not request["coverage"] and request["ids"] is not None
        edits = all(content is not None and path in self._files for path, content in changes)
        if not (self._possible and plain and edits):
            return []
        deepest = LEVELS.index(request.get("deepest", COLLECTED))
        return [key_of(level, request) for level in LEVELS[deepest:0:-1]]

    def _become_stem(self, job: Dict[str, Any], control: int, output: int) -> None:
        try:
            hold_only(control, output, None)
            processes.keep_apart(*self.owner)
            from .stem import grow

            grow(job)
        finally:
            os._exit(71)


class Sieve:
    """Hands records on, unless the first says that the stem could not take the patch in: then there are no others."""

    def __init__(self, forward: Callable[[List[Dict[str, Any]]], None]) -> None:
        self._forward = forward
        self._begun = self.refused = False

    def __call__(self, batch: List[Dict[str, Any]]) -> None:
        """Take some records."""
        if not self._begun:
            self._begun, self.refused = True, batch[0].get("k") == "unswappable"
        if not self.refused:
            self._forward(batch)


def below(level: str) -> str:
    """Return the level before another."""
    return LEVELS[LEVELS.index(level) - 1]


def key_of(level: str, request: Dict[str, Any]) -> Key:
    """Return what trials must have in common to share a stem."""
    files = tuple(dict.fromkeys(name.partition("::")[0] for name in request["ids"]))
    ids = tuple(request["ids"])
    flags = (bool(request["stop_at_first_failure"]), bool(request.get("brief")), bool(request.get("shuffled")))
    return (level, files, ids, *flags)


def outcomes(records: Sequence[Dict[str, Any]]) -> List[Tuple[Any, ...]]:
    """Return how each phase ended, whatever was said about it: what two trials of the same must have in common."""
    wanted = ("phase", "collect", "collected")
    return [
        (record["k"], record.get("id"), record.get("when"), record.get("outcome"), tuple(record.get("ids", ())))
        for record in records
        if record.get("k") in wanted
    ]


def _facts(control: socket.socket, seconds: float) -> Dict[str, Any]:
    """Wait for a stem's first and only words: one JSON object; what prevents it stands under ``why``."""
    deadline, words, nothing = time.monotonic() + seconds, b"", {"why": "", "opened": (), "bodies": ()}
    while True:
        ready, _, _ = select.select([control], [], [], max(0.0, deadline - time.monotonic()))
        part = control.recv(_WORDS) if ready else b""
        if not part:
            return {**nothing, "why": "it has ended" if ready else "it took too long"}
        words += part
        try:
            facts = json.loads(words)
        except ValueError:
            continue  # more is to come
        return facts if isinstance(facts, dict) and set(nothing) <= set(facts) else {**nothing, "why": "no facts"}
