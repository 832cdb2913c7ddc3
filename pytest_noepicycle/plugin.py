"""The pytest plugin: ordinary run first, then, if it was asked for and something failed, the repair.

PYTEST_DONT_REWRITE
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Generator, Iterator
from importlib.machinery import PathFinder
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from _pytest.assertion.rewrite import AssertionRewritingHook

from pytest_noepicycle.inside import hookspecs, options, session, starting

_DEPTH = 1000  # frames, as an interpreter begins with


def pytest_addoption(parser: pytest.Parser) -> None:
    """Register the options and their ini twins."""
    options.add_options(parser)


def pytest_addhooks(pluginmanager: pytest.PytestPluginManager) -> None:
    """Register the hook specifications."""
    pluginmanager.add_hookspecs(hookspecs)


@pytest.hookimpl(wrapper=True)
def pytest_load_initial_conftests(
    early_config: pytest.Config, parser: pytest.Parser, args: list[str]
) -> Generator[None, Any, Any]:
    """Where a repair is wanted, let a conftest that cannot be imported fail as the collection of its folder."""
    if not _wanted(early_config.known_args_namespace):
        return (yield)
    return (yield from starting.put_off_conftest(early_config, parser, args))


def pytest_configure(config: pytest.Config) -> None:
    """Listen to the session where a repair is wanted; under xdist only the controller does."""
    if not _wanted(config.option) or hasattr(config, "workerinput") or config.getoption("collectonly", False):
        return
    values = options.read(config)
    _check_ladder(values["ladder"])
    options.check_resume("--noepi-resume", values["resume"], config.invocation_params.dir)
    config.pluginmanager.register(Repairer(config, values), "noepi-repairer")


def _wanted(given: Any) -> bool:
    return bool(given.noepi_fix or given.noepi_dry_run or given.noepi_resume is not None)


class Repairer(session.SessionRecorder):
    """Remembers the session and, when all of it is over and reported, hands it to the engine."""

    def __init__(self, config: pytest.Config, values: dict[str, Any]) -> None:
        super().__init__(config)
        self._values = values

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> Generator[None, Any, Any]:
        """Let every other plugin finish and report, then repair."""
        result = yield
        if session.config.stash.get(starting.PUT_OFF, False):
            session.exitstatus = pytest.ExitCode.USAGE_ERROR  # as without the option
        if self.failures and not self.interrupted and not _asked_to_stop(session):
            self._repair(session)
        return result

    def _repair(self, session: pytest.Session) -> None:
        with _set_aside(str(session.config.rootpath)):
            try:
                self._repair_with_engine(session)
            except KeyboardInterrupt:
                screen = session.config.get_terminal_writer()
                screen.line("\nnoepi: interrupted; the newest record in .noepi says what was done so far", red=True)
                session.exitstatus = pytest.ExitCode.INTERRUPTED

    def _repair_with_engine(self, session: pytest.Session) -> None:
        from pytest_noepicycle import wiring
        from pytest_noepicycle.errors import NoepiError, UsageError

        screen = session.config.get_terminal_writer()
        try:
            wiring.repair_here(self.facts(int(session.exitstatus)), self._values, session.config.hook, screen)
        except UsageError as error:
            screen.line(f"\nERROR: {error.sentence()}", red=True)
            session.exitstatus = pytest.ExitCode.USAGE_ERROR
        except NoepiError as error:
            screen.line(f"\nnoepi: {error.sentence()}", red=True)


def _asked_to_stop(session: pytest.Session) -> bool:
    """An internal error, or ``pytest.exit``: nothing that a repair could build on."""
    return session.exitstatus == pytest.ExitCode.INTERNAL_ERROR


def _check_ladder(name: str) -> None:
    """A misspelt ladder is a usage error at once; what its file holds is read when something failed."""
    from pathlib import Path

    from pytest_noepicycle.adapters.ladder_files import shipped

    if name not in shipped() and not Path(name).expanduser().is_file():
        known = ", ".join(shipped())
        raise pytest.UsageError(
            f"--noepi-ladder: there is no ladder {name!r}; shipped are {known}, or name a YAML file"
        )


@contextlib.contextmanager
def _set_aside(root: str) -> Iterator[None]:
    """Take what is the project's own out of the way: its ``docker.py`` is not the library of that name.

    Modules of other names stay, for the project's hooks may use them. Pytest's own importer steps aside as well: no
    assertion of the engine needs to be rewritten, and it takes time. A recursion limit that a test has left behind
    would stop the engine too.
    """
    sys.setrecursionlimit(max(sys.getrecursionlimit(), _DEPTH))
    finders, path = list(sys.meta_path), list(sys.path)
    others = [entry for entry in path if not _is_project(root, entry or ".")]
    modules = list(sys.modules.items())
    hiding = {name for name, module in modules if _is_of(root, name, module) and PathFinder.find_spec(name, others)}
    kept = {name: module for name, module in modules if name.partition(".")[0] in hiding}
    sys.path[:] = others
    sys.meta_path[:] = [finder for finder in finders if not isinstance(finder, AssertionRewritingHook)]
    for name in kept:
        del sys.modules[name]
    try:
        yield
    finally:
        sys.path[:], sys.meta_path[:] = path, finders
        for name in [name for name in sys.modules if name.partition(".")[0] in hiding]:
            del sys.modules[name]
        sys.modules.update(kept)


def _is_of(root: str, name: str, module: Any) -> bool:
    """Whether a top-level module lies in the project, with all its folders where it is a namespace."""
    if "." in name or not isinstance(module, ModuleType):
        return False
    file = module.__dict__.get("__file__")
    places = [file] if file else list(module.__dict__.get("__path__") or ())
    return bool(places) and all(_is_project(root, str(place)) for place in places)


def _is_project(root: str, place: str) -> bool:
    """Whether a path lies in the project, and neither in an environment there nor beside this very package."""
    path, tree = Path(place).resolve(), Path(root).resolve()
    engine = Path(__file__).resolve().parent
    environments = [prefix for name in (sys.prefix, sys.base_prefix) if (prefix := Path(name).resolve()) != tree]
    kept = path == engine.parent or path.is_relative_to(engine) or "site-packages" in path.parts
    return path.is_relative_to(tree) and not kept and not any(path.is_relative_to(prefix) for prefix in environments)
