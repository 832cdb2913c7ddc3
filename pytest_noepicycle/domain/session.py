"""What the failing pytest run left behind: where it ran, how it was called, which tests failed in it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import PurePath

from pytest_noepicycle.domain.failure import Failure


@dataclass(frozen=True, slots=True)
class Interpreter:
    """The project's Python, as it told of itself: paths are absolute, ``version`` like ``3.11.7``."""

    executable: str
    version: str
    prefix: str
    base_prefix: str
    platform: str
    sys_path: tuple[str, ...] = ()
    source_roots: tuple[str, ...] = ()  # folders that editable installs and .pth files point to
    top_level: frozenset[str] = frozenset()  # importable names outside the project


@dataclass(frozen=True, slots=True)
class Plugin:
    """A pytest plugin of the run, by its registered name and its distribution."""

    name: str
    distribution: str = ""
    version: str = ""


@dataclass(frozen=True, slots=True)
class Session:
    """One finished pytest session. Ids are pytest's node ids, relative to ``rootdir``; times in seconds."""

    rootdir: str
    invocation_dir: str
    args: tuple[str, ...]
    interpreter: Interpreter
    pytest_version: str
    exit_status: int
    failures: tuple[Failure, ...] = ()
    passed: tuple[str, ...] = ()
    durations: Mapping[str, float] = field(default_factory=dict)
    inipath: str | None = None
    testpaths: tuple[str, ...] = ()
    python_files: tuple[str, ...] = ("test_*.py", "*_test.py")
    plugins: tuple[Plugin, ...] = ()

    @property
    def failed(self) -> tuple[str, ...]:
        """Return the ids that failed, each once, in the order in which they ran."""
        return tuple(dict.fromkeys(failure.test for failure in self.failures))

    @property
    def tree(self) -> str:
        """Return the folder that a run copies, mends and proves: pytest's own root, so that ids are paths in it."""
        return self.rootdir

    @property
    def cwd(self) -> str:
        """Return the folder in which the tests ran, or the root where that lies outside of it."""
        called = PurePath(self.invocation_dir)
        return self.invocation_dir if called.is_relative_to(self.rootdir) else self.rootdir

    def has_plugin(self, distribution: str) -> bool:
        """Whether a plugin of that distribution was active, by its name on the package index."""
        wanted = distribution.lower().replace("_", "-")
        return any(p.distribution.lower().replace("_", "-") == wanted for p in self.plugins)
