"""What a sandbox is given to run: the laid-out half, the worker's command line, pytest's arguments."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from pytest_noepicycle import inside
from pytest_noepicycle.domain.session import Session
from pytest_noepicycle.inside.frames import PACKAGE

_START = "import sys; sys.path.insert(0, sys.argv[1]); from {package}.worker import main; main()"


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_FLAGS_DROPPED = _words(
    """
    --exitfirst --lf --last-failed --ff --failed-first --nf --new-first --sw --stepwise --sw-skip --stepwise-skip
    --sw-reset --stepwise-reset --pdb --trace --quiet --verbose --collect-only --co --showlocals --no-showlocals
    --no-header --no-summary --no-fold-skipped --xfail-tb --cache-clear --help --version --fixtures
    --fixtures-per-test --funcargs --markers --setup-show --setup-only --setup-plan --full-trace --looponfail
    --force-sugar --keep-duplicates --continue-on-collection-errors --noepi-fix --noepi-dry-run --no-cov
    --no-cov-on-fail --cov-append --cov-branch --cov-reset
    """
)
_VALUES_DROPPED = _words(
    """
    --numprocesses --dist --tx --px --maxprocesses --max-worker-restart --testrunuid --maxfail --durations
    --durations-min --junitxml --junit-xml --junitprefix --junit-prefix --html --json-report-file --report-log --tb
    --color --code-highlight --show-capture --basetemp --pastebin --deselect --reruns --reruns-delay --verbosity
    --lfnf --last-failed-no-failures --rootdir --config-file --cov-report --cov-config --cov-fail-under
    --cov-context --cov-precision
    """
)
_VALUES_OPTIONAL = frozenset({"--cov", "--debug", "--cache-show", "--noepi-resume"})
_VALUES_KEPT = _words(
    """
    --override-ini --import-mode --confcutdir --ignore --ignore-glob --pythonwarnings --log-level --doctest-glob
    --doctest-report --capture --ds --dc
    """
)
_SHORT_VALUES_KEPT = frozenset("poW")
_SHORT_VALUES_DROPPED = frozenset("nkmrc")
_SHORT_FLAGS_DROPPED = frozenset("xqvlhfd")


def lay_out_inside(folder: Path) -> Path:
    """Copy the half that runs in the project's interpreter into ``folder`` as a package; return ``folder``.

    The files are read-only and import nothing but each other, the standard library and pytest.
    """
    package = folder / PACKAGE
    package.mkdir(parents=True, mode=0o755)
    for source in sorted(Path(inside.__file__).parent.glob("*.py")):
        target = package / source.name
        target.write_bytes(source.read_bytes())
        target.chmod(0o444)
    return folder


def worker_command(python: str, folder: str | Path) -> list[str]:
    """Return the command line of a worker: ``folder`` is where the laid-out half lies *inside* the sandbox."""
    return [python, "-I", "-B", "-c", _START.format(package=PACKAGE), str(folder)]


def pytest_arguments(session: Session) -> tuple[str, ...]:
    """Return the options with which a sandbox calls pytest: what changes how tests run, and no choice of tests.

    The root and the configuration file are named outright, so that no file of a candidate can move them.
    """
    kept = [*_kept(session.args, session.invocation_dir), f"--rootdir={session.rootdir}"]
    if session.inipath:
        kept += ["-c", session.inipath]
    if session.has_plugin("pytest-cov"):
        kept.append("--no-cov")
    return tuple(kept)


def _kept(args: Sequence[str], folder: str) -> Iterator[str]:
    rest = list(args)
    while rest:
        token = rest.pop(0)
        if token == "--":
            return
        if token.startswith("--"):
            yield from _long(token, rest, folder)
        elif token.startswith("-") and len(token) > 1:
            yield from _short(token, rest)
        elif not _chooses_tests(token, folder):
            yield token  # the value of an option that only some plugin knows


def _chooses_tests(token: str, folder: str) -> bool:
    """Whether a word without a dash names tests: an id, or something that lies on the disk."""
    return "::" in token or os.path.exists(os.path.join(folder, token))  # noqa: PTH110, PTH118 - '/a' stays '/a'


def _long(token: str, rest: list[str], folder: str) -> Iterator[str]:
    name, glued, _ = token.partition("=")
    if name in _FLAGS_DROPPED:
        return
    if name in _VALUES_OPTIONAL or name in _VALUES_DROPPED or name.startswith("--noepi-"):
        optional = name in _VALUES_OPTIONAL
        if not glued and rest and not (optional and rest[0].startswith("-")):
            rest.pop(0)
        return
    yield token
    if name in _VALUES_KEPT and not glued and rest:
        yield rest.pop(0)


def _short(token: str, rest: list[str]) -> Iterator[str]:
    """Read ``-xvn2`` as pytest does: flags, and at most one option that takes what follows."""
    kept = ""
    for index, letter in enumerate(token[1:], start=1):
        if letter in _SHORT_VALUES_KEPT or letter in _SHORT_VALUES_DROPPED:
            value = token[index + 1 :] or (rest.pop(0) if rest else "")
            if kept:
                yield f"-{kept}"
            if letter in _SHORT_VALUES_KEPT and "noepicycle" not in value:
                yield from (f"-{letter}", value)
            return
        if letter not in _SHORT_FLAGS_DROPPED:
            kept += letter
    if kept:
        yield f"-{kept}"
