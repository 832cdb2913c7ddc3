"""The scene of a failure: what is known of the project around it, and the source that it went through."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import PurePosixPath

from pytest_noepicycle.domain.failure import Failure, Frame
from pytest_noepicycle.stages.test_source import Read


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What is known of a project when a failure is judged.

    ``modules`` are names that import, here or in the project; ``files`` are the project's, ``read`` gives their
    bytes.
    """

    modules: frozenset[str] = frozenset()
    files: frozenset[str] = frozenset()
    read: Read = lambda path: None

    def text(self, path: str) -> str:
        """Return a file of the project as text; empty where there is none."""
        return (self.read(path) or b"").decode("utf-8", "replace")


@dataclass(frozen=True, slots=True)
class Scene:
    """One failure with the source that it went through."""

    failure: Failure
    around: Surroundings

    @property
    def place(self) -> Frame | None:
        """Return the innermost step that is the project's own."""
        return next((frame for frame in reversed(self.failure.frames) if frame.inside_tree), None)

    @property
    def line(self) -> str:
        """Return the source of that step, without its indentation."""
        place = self.place
        lines = self.around.text(place.path).splitlines() if place else []
        return lines[place.line - 1].strip() if place and 0 < place.line <= len(lines) else ""

    @property
    def kind(self) -> str:
        """Return the exception's own name, without its module."""
        return self.failure.exception.rpartition(".")[2]

    @property
    def on_purpose(self) -> bool:
        """Whether the project's own code raised it with a ``raise``: then it is what the code says."""
        innermost = self.failure.frames[-1] if self.failure.frames else None
        return innermost is not None and innermost.inside_tree and self.line.startswith("raise")

    @property
    def test_files(self) -> tuple[str, ...]:
        """Return the test's file and every conftest above it."""
        path = self.failure.test.split("::")[0]
        folders = [str(folder) for folder in PurePosixPath(path).parents]
        return (path, *("conftest.py" if folder == "." else f"{folder}/conftest.py" for folder in folders))

    @property
    def tests(self) -> str:
        """Return the text of these files."""
        return "\n".join(map(self.around.text, self.test_files))

    @property
    def asked_by_test(self) -> bool:
        """Whether the step that failed is the test's own, where no patch may change anything."""
        return self.place is None or self.place.path in self.test_files

    @property
    def sources(self) -> str:
        """Return the text of the project's own files that the failure went through."""
        return "\n".join(self.around.text(path) for path in {f.path for f in self.failure.frames if f.inside_tree})
