"""What works on this machine: each part tried for real, without a token and within seconds."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pytest_noepicycle.adapters import keys, ladder_files, snapshot
from pytest_noepicycle.adapters.clouds import CLOUDS, lacking
from pytest_noepicycle.codec import decode
from pytest_noepicycle.domain.ladder import Ladder
from pytest_noepicycle.domain.patch import Patch
from pytest_noepicycle.domain.session import Interpreter, Session
from pytest_noepicycle.domain.settings import Settings
from pytest_noepicycle.domain.trial import Limits, Status, Trial
from pytest_noepicycle.errors import NoepiError
from pytest_noepicycle.sandbox import choice
from pytest_noepicycle.sandbox.layout import lay_out_inside

FINE, NOTE, BROKEN = "fine", "note", "broken"
_ASKED = """
import importlib.metadata, json, sys
sys.path.append(sys.argv[1])
from _noepi_inside import session
plugins = {(d.metadata["Name"], e.name) for d in importlib.metadata.distributions()
           for e in d.entry_points if e.group == "pytest11"}
pytest = next((d.version for d in importlib.metadata.distributions() if d.metadata["Name"] == "pytest"), "")
print(json.dumps({"interpreter": session.interpreter(sys.argv[2]), "pytest": pytest, "plugins": sorted(plugins)}))
"""
_ANSWER_SECONDS = 5.0  # an interpreter that says nothing for so long does not work
_SAMPLE_LIMITS = Limits(6.0, 4.0)
_OURS = "noepicycle"  # the entry point of this very plugin
_SAMPLE = "def test_passes():\n    assert 1 + 1 == 2\n\n\ndef test_fails():\n    assert 1 + 1 == 3\n"


@dataclass(frozen=True, slots=True)
class Finding:
    """One part: ``state`` is fine, note (works, but you should know) or broken; ``advice`` says what to do."""

    part: str
    state: str
    text: str
    advice: str = ""


@dataclass(slots=True)
class _Machine:
    """What has been found out so far."""

    python: str
    root: Path
    settings: Settings
    facts: dict[str, Any] = field(default_factory=dict)


def check(python: str, root: Path, settings: Settings) -> Iterator[Finding]:
    """Yield a finding for each part, in the order in which they need each other."""
    machine = _Machine(python, root, settings)
    yield Finding("engine", FINE, f"Python {sys.version.split()[0]}")
    for part in (_python, _pytest, _plugins, _sandbox, _ladder):
        if part in (_pytest, _plugins, _sandbox) and not machine.facts:
            continue
        yield from part(machine)


def _python(machine: _Machine) -> Iterator[Finding]:
    with tempfile.TemporaryDirectory(prefix="noepi-") as folder:
        lay_out_inside(Path(folder))
        command = [machine.python, "-c", _ASKED, folder, str(machine.root)]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=_ANSWER_SECONDS, check=False)
        except OSError as error:
            yield Finding("project", BROKEN, f"{machine.python} cannot be started: {error}", "Name it with --python.")
            return
        except subprocess.TimeoutExpired:
            text = f"{machine.python} did not answer within {_ANSWER_SECONDS:.0f} s"
            yield Finding("project", BROKEN, text, "See what it does when it starts, or name another with --python.")
            return
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["it said nothing"])[-1]
        advice = "Install pytest in that environment, or name another with --python."
        yield Finding("project", BROKEN, f"{machine.python}: {last}", advice)
        return
    machine.facts = json.loads(done.stdout)
    yield Finding("project", FINE, f"Python {machine.facts['interpreter']['version']} at {machine.python}")


def _pytest(machine: _Machine) -> Iterator[Finding]:
    version = machine.facts["pytest"]
    old = int(version.split(".")[0]) < 8
    yield Finding("pytest", BROKEN if old else FINE, version, "pytest 8 or newer is needed." if old else "")


def _plugins(machine: _Machine) -> Iterator[Finding]:
    names = list(dict.fromkeys(name for name, _ in machine.facts["plugins"]))
    if "langsmith" in names:
        text = "langsmith, which langgraph brings, registers a pytest plugin that slows every run down"
        yield Finding("plugins", NOTE, text, 'Add to addopts: -p no:langsmith_plugin; or use "noepi fix --python".')
    else:
        yield Finding("plugins", FINE, ", ".join(names) or "none")


def _sandbox(machine: _Machine) -> Iterator[Finding]:
    """Open a box and run two tests in it: the one that must pass does, and the one that must fail does."""
    with tempfile.TemporaryDirectory(prefix="noepi-check-") as folder:
        root = Path(folder).resolve()
        (root / "test_sample.py").write_text(_SAMPLE, "utf-8")
        try:
            sandbox = choice.choose(machine.settings.sandbox, _session(machine, str(root)), machine.settings)
            outcomes = _tried(sandbox, str(root))
        except NoepiError as error:
            yield Finding("sandbox", BROKEN, str(error), error.hint)
            return
    if outcomes != (Status.PASSED, Status.FAILED):
        yield Finding("sandbox", BROKEN, f"{sandbox.kind}: two sample tests ended as {outcomes}", "Please report this.")
        return
    note = sandbox.limits_note
    yield Finding("sandbox", NOTE if note else FINE, f"{sandbox.kind}: sample tests ran as they should", note)


def _tried(sandbox: choice.GuardedSandbox, root: str) -> tuple[Status, ...]:
    shot = snapshot.snapshot(root)
    try:
        box = sandbox.open(shot)
        try:
            ids = ("test_sample.py::test_passes", "test_sample.py::test_fails")
            report = box.run(Trial(Patch(), ids, _SAMPLE_LIMITS))
            return tuple(report.select(ids)[test].status for test in ids)
        finally:
            box.close()
    finally:
        shot.close()


def _session(machine: _Machine, root: str) -> Session:
    """Return a session without plugins: the samples need none, and to load them takes longer than all the rest."""
    interpreter = decode(Interpreter, machine.facts["interpreter"])
    unloaded = [word for _, entry in machine.facts["plugins"] if entry != _OURS for word in ("-p", f"no:{entry}")]
    return Session(root, root, tuple(unloaded), interpreter, machine.facts["pytest"], 1)


def _ladder(machine: _Machine) -> Iterator[Finding]:
    try:
        ladder = ladder_files.load(machine.settings.ladder)
    except NoepiError as error:
        yield Finding("ladder", BROKEN, str(error), error.hint)
        return
    yield Finding(
        "ladder", NOTE if ladder.warning else FINE, f"{ladder.name}: {', '.join(ladder.rungs)}", ladder.warning
    )
    yield from _keys(ladder, str(machine.root))


def _keys(ladder: Ladder, root: str, find: Callable[[str, str], str | None] = keys.api_key) -> Iterator[Finding]:
    for provider in dict.fromkeys(rung.provider for rung in ladder.rungs.values() if rung.provider in CLOUDS):
        why = lacking(provider)
        yield Finding("cloud", NOTE if why else FINE, why or f"{provider}: credentials are set (they were not tried)")
    with_key = (rung for rung in ladder.rungs.values() if rung.asks and rung.provider not in CLOUDS)
    names = dict.fromkeys(rung.api_key_env for rung in with_key)
    for name in names:
        if find(name, root) is None:
            advice = f"Set {name} in the environment or in .env to use models after the free search."
            yield Finding("key", NOTE, f"{name} is not set: model rungs are skipped", advice)
        elif name:
            yield Finding("key", FINE, f"{name} is set (it was not tried)")
