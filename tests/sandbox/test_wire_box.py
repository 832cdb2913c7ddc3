"""The engine's end of the wire against workers that lie, stammer, stop or die: byte by byte, without a process."""

from __future__ import annotations

import struct
import tarfile
from dataclasses import dataclass, field

import pytest

from pytest_noepicycle.domain.patch import FileChange, Patch
from pytest_noepicycle.domain.session import Interpreter, Session
from pytest_noepicycle.domain.trial import End, Limits, Trial
from pytest_noepicycle.errors import SandboxError
from pytest_noepicycle.inside import frames
from pytest_noepicycle.sandbox.wire import ChannelClosed, WorkerBox, start

READY = {"say": "ready", "facts": {"python": "3.11.7", "pytest": "9", "pid": 1}}
DONE = {"say": "done", "trial": 1, "end": "complete", "hung": None, "why": "", "output": "", "seconds": 0.1}
END = {"k": "end", "status": 0, "count": 0, "stopped": False}
RECORDS = {"say": "records", "trial": 1, "records": [END]}
TRIAL = Trial(Patch(), ("t.py::test_a",), Limits(5.0))


@dataclass
class Tape:
    """A channel that plays bytes, a few at a time, and remembers what was sent."""

    answers: bytes
    sent: bytearray = field(default_factory=bytearray)
    killed: int = 0
    reason: str = "its last words"

    def send(self, data: bytes, deadline: float) -> None:
        """Remember."""
        self.sent += data

    def receive(self, size: int, deadline: float) -> bytes:
        """Play up to seven bytes."""
        if not self.answers:
            raise ChannelClosed("the tape is at its end")
        taken, self.answers = self.answers[: min(size, 7)], self.answers[min(size, 7) :]
        return taken

    def kill(self) -> None:
        """Count."""
        self.killed += 1


@dataclass(frozen=True)
class Nothing:
    """A snapshot of one file."""

    archive: str
    root: str = "/tree"
    files: frozenset[str] = frozenset({"a.py", "data.txt"})
    links: frozenset[str] = frozenset()

    def read(self, path: str) -> bytes | None:
        """There is nothing to read."""
        return None


@pytest.fixture
def open_box(tmp_path):
    """Open a box on a tape of answers."""
    archive = tmp_path / "tree.tar"
    with tarfile.open(archive, "w"):
        pass
    session = Session("/tree", "/tree", ("-x",), Interpreter("python", "3.11", "", "", "linux", ("/lib",)), "9", 1)

    def open_on(*answers) -> tuple[WorkerBox, Tape]:
        tape = Tape(b"".join(a if isinstance(a, bytes) else frames.encode(a) for a in answers))
        return start(tape, session, Nothing(str(archive)), {"env": {"A": "1"}, "cwd": "/elsewhere"}), tape

    return open_on


def said(data: bytes) -> list[tuple[dict, bytes]]:
    """Return the frames in a string of bytes."""
    found = []
    while data:
        text, blob = frames.sizes(data[:8])
        found.append((frames.decode(data[8 : 8 + text]), data[8 + text : 8 + text + blob]))
        data = data[8 + text + blob :]
    return found


def test_a_box_is_opened_with_its_set_up_and_its_tree(open_box):
    """The set-up follows from the session, what is given beside it wins, and the tar ends with an empty chunk."""
    box, tape = open_box(READY)
    (setup, _), *chunks = said(bytes(tape.sent))
    assert (setup["do"], setup["root"], setup["cwd"], setup["env"]) == ("setup", "/tree", "/elsewhere", {"A": "1"})
    assert (setup["args"], setup["sys_path"]) == (["--rootdir=/tree"], ["/lib"])
    assert [message for message, _ in chunks] == [{"do": "tar"}] * len(chunks)
    assert [bool(chunk) for _, chunk in chunks] == [True] * (len(chunks) - 1) + [False]
    assert box.facts["pid"] == 1


@pytest.mark.parametrize("answers", [[], [{"say": "error", "why": "no pytest here"}], [b"\xff" * 8], [DONE]])
def test_a_worker_that_does_not_start_is_named(open_box, answers):
    """The error holds the worker's own words, and its channel is closed."""
    with pytest.raises(SandboxError, match=r"did not start.*its last words"):
        open_box(*answers)


def test_a_trial_is_sent_with_its_bytes(open_box):
    """Files travel as path and size, the overlay over the patch; limits and choices travel as they are."""
    box, tape = open_box(READY, RECORDS, DONE)
    tape.sent.clear()
    patch = Patch.of([FileChange("a.py", b"", b"one"), FileChange("b.py", b"", None), FileChange("c.py", None, b"\0")])
    limits = Limits(5.0, 2.0, {"t": 1.0})
    report = box.run(Trial(patch, ("t",), limits, overlay={"a.py": b"two"}, coverage=True, cold=True))
    [(request, blob)] = said(bytes(tape.sent))
    assert (request["files"], blob) == ([["a.py", 3], ["b.py", -1], ["c.py", 1]], b"two\0")
    assert (request["ids"], request["cold"], request["coverage"]) == (["t"], True, True)
    assert (request["seconds"], request["default_test_seconds"], request["test_seconds"]) == (5.0, 2.0, {"t": 1.0})
    assert request["trace"] == ["a.py", "c.py"]
    assert report.end is End.COMPLETE


@pytest.mark.parametrize(
    "answers",
    [
        [],
        [RECORDS],
        [{"say": "error", "why": "no"}],
        [dict(DONE, trial=2)],
        [{"say": "hello", "trial": 1}],
        [dict(RECORDS, records={})],
        [dict(DONE, end="lost")],
        [dict(DONE, seconds=None)],
        [b"\x00\x00\x00\x02\x00\x00\x00\x00[]"],
        [b"\x00\x00\x00\x02\x00\x00\x00\x00{]"],
        [struct.pack(">II", frames.MAX_JSON + 1, 0)],
        [struct.pack(">II", 2, frames.MAX_BLOB + 1)],
        [frames.encode(DONE)[:-1]],
    ],
)
def test_a_worker_that_cannot_be_understood_is_lost(open_box, answers):
    """The trial is lost, nothing passes, the worker is killed, and the box stays lost without asking again."""
    box, tape = open_box(READY, *answers)
    for _ in range(2):
        report = box.run(TRIAL)
        assert (report.end, report.passing()) == (End.LOST, frozenset())
        assert list(report.outcomes) == ["t.py::test_a"]
    assert tape.killed > 0
    assert "its last words" in report.why


def test_a_closed_box_runs_nothing(open_box):
    """Closing twice is fine, and a trial afterwards is lost."""
    box, _ = open_box(READY, RECORDS, DONE)
    box.close()
    box.close()
    assert box.run(TRIAL).end is End.LOST
