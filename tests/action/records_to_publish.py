"""Records of finished runs, as a run leaves them, without the minutes that a run takes."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pytest_noepicycle.adapters.records import Record
from pytest_noepicycle.domain.patch import FileChange, Patch

FILES: Mapping[str, str] = {
    "calc.py": "def double(n):\n    return n + 3\n\n\ndef half(n):\n    return n // 2\n",
    "test_calc.py": "from calc import double\n\n\ndef test_double():\n    assert double(4) == 8\n",
    "pytest.ini": "[pytest]\nnoepi_protect = secret_*.py\n",
    "secret_keys.py": "KEY = 1\n",
}
WRONG, RIGHT = "return n + 3", "return n + n"
TARGETS = ["test_calc.py::test_double", "test_calc.py::test_more"]


def patch_of(path: str = "calc.py", wrong: str = WRONG, right: str = RIGHT) -> Patch:
    """Return a patch of one of the files."""
    before = FILES[path]
    return Patch.of([FileChange(path, before.encode(), before.replace(wrong, right).encode())])


def record(
    folder: Path,
    commit: str,
    patch: Patch | None = None,
    *,
    fixed: int = 2,
    root: Path | None = None,
    message: str = "assert 7 == 8",
    **more: Any,
) -> Path:
    """Write a record and return its folder; without a patch the run gained nothing."""
    folder.mkdir(parents=True, exist_ok=True)
    kept, chosen = Record(folder), patch or Patch()
    result: dict[str, Any] = {
        "run_id": "r",
        "stop_reason": "solved" if fixed == 2 else "plateau",
        "stop_sentence": "it ended",
        "verified": bool(patch),
        "base_commit": commit,
        "fingerprint": "cfb89fd945066ef1",
        "tests": {"targets": TARGETS, "fixed": TARGETS[:fixed], "still_failing": TARGETS[fixed:]},
        "tokens": {"spent": 0, "cap": 50000},
        "cost_usd": 0.0,
        "checks": {"cold": "passed"},
        "sandbox": {"kind": "docker"},
        "patch": {"paths": list(chosen.paths)} if patch else None,
        **more,
    }
    failed = {"phase": "call", "exception": "AssertionError", "frames": []}
    events = [
        {"event": "triaged", "real": [{**failed, "test": test, "message": message} for test in TARGETS]},
        {"event": "baseline", "targets": TARGETS, "guards": ["test_calc.py::test_other"]},
        {
            "event": "attempt",
            "iteration": 1,
            "rung": "local-search",
            "score": 1.0,
            "note": "`3` → `n`",
            "fixed": TARGETS,
        },
        {"event": "verdict", "patch": chosen.digest, "holds": True},
    ]
    kept.write("result.json", json.dumps(result))
    kept.write("decisions.jsonl", "".join(json.dumps(event) + "\n" for event in events))
    if patch:
        kept.keep_patch(str(root or folder), patch)
    kept.write("origin.json", json.dumps({"folder": ""}))
    return folder


def green(folder: Path, commit: str) -> Path:
    """Write the record of a run in which nothing failed."""
    return record(folder, commit, None, fixed=0, stop_reason="nothing_to_fix", fingerprint="", tests={"guards": 3})
