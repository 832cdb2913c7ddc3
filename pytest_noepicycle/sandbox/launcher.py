"""Starting a confined worker: its launcher, and the channel to what stands behind it."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any

from pytest_noepicycle import inside
from pytest_noepicycle.inside.frames import PACKAGE
from pytest_noepicycle.sandbox.wire import PipeChannel

INSIDE = str(Path(inside.__file__).resolve().parent)
TAIL_BYTES = 4096
END_SECONDS = 10.0

# Loads the half that runs inside from where it is installed, under the name that it has in a box.
_BOOT = f"""
import importlib.util, sys
spec = importlib.util.spec_from_file_location("{PACKAGE}", sys.argv[1] + "/__init__.py",
                                              submodule_search_locations=[sys.argv[1]])
sys.modules["{PACKAGE}"] = importlib.util.module_from_spec(spec)
from {PACKAGE}.confine import main
main()
"""


class LauncherChannel(PipeChannel):
    """A channel to a worker behind its launcher, whose standard error is a file that nobody else sees."""

    def __init__(self, process: subprocess.Popen[bytes], complaints: IO[bytes]) -> None:
        super().__init__(process)
        self._complaints, self._last_words = complaints, ""

    @property
    def reason(self) -> str:
        """Return the end of what worker and launcher complained of."""
        if not self._complaints.closed:
            size = os.fstat(self._complaints.fileno()).st_size
            tail = os.pread(self._complaints.fileno(), TAIL_BYTES, max(0, size - TAIL_BYTES))
            self._last_words = tail.decode("utf-8", "replace").strip()
        return self._last_words

    def kill(self) -> None:
        """Hang up, upon which the launcher ends all that it started and cleans up; end it by force if it stays."""
        try:
            if not self._stdin.closed:
                self._stdin.close()
                self._wait_for_end()
            super().kill()
        finally:
            self._last_words = self.reason
            self._complaints.close()

    def _wait_for_end(self) -> None:
        try:
            self._process.wait(timeout=END_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()  # the first process of its namespaces, and so all of them, die with it


def launch(python: str, plan: Mapping[str, Any]) -> LauncherChannel:
    """Start the launcher with its orders: see :func:`inside.confine.main`."""
    complaints = tempfile.TemporaryFile()  # noqa: SIM115 - the channel closes it
    try:
        process = subprocess.Popen(
            [python, "-I", "-S", "-B", "-c", _BOOT, INSIDE, json.dumps(plan)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=complaints,
            env={name: os.environ[name] for name in ("PATH", "LD_LIBRARY_PATH") if name in os.environ},
            cwd="/",
            start_new_session=True,
        )
    except BaseException:
        complaints.close()
        raise
    return LauncherChannel(process, complaints)
