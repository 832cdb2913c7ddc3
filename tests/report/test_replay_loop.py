"""Each run that the tests of the loop make is taken again from its journal, and comes out the same."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from journals import check_form, numbered
from supervised import LADDER

from pytest_noepicycle.replay import replay
from pytest_noepicycle.report import reading


def _load() -> ModuleType:
    """Import the loop's tests as a module of another name."""
    file = Path(__file__).parents[1] / "supervisor/test_loop.py"
    spec = importlib.util.spec_from_file_location("loop_told_again", file)
    assert spec is not None and spec.loader is not None  # noqa: PT018
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


LOOP = _load()
globals().update({name: value for name, value in vars(LOOP).items() if name.startswith("test_") or name == "world"})


@pytest.fixture(autouse=True)
def every_run_is_taken_again(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """After each test of the loop: the journal keeps to its form, every decision agrees, the history is the state."""
    runs: list[Any] = []
    honest = LOOP.run

    def kept(*given: Any, **more: Any) -> Any:
        runs.append(honest(*given, **more))
        return runs[-1]

    monkeypatch.setattr(LOOP, "run", kept)
    yield
    for told in runs:
        events = numbered(told.journal.events, LADDER)
        check_form(events)
        again = replay(events)
        assert again.differing == ()
        assert [(str(one.again.action), str(one.again.signal)) for one in again.decisions] == told.decisions
        past = reading.of_events(events, "r")
        assert past.attempts == told.state.attempts
        assert past.baseline == told.state.baseline
