"""The suite: batches of specimens, and how one batch is run as anyone would run it."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from pytest_noepicycle.bench import outcomes, projects
from pytest_noepicycle.bench.triage import catalogue
from pytest_noepicycle.bench.triage.matrix import MISSED, Said
from pytest_noepicycle.bench.triage.specimen import Batch, Kind
from pytest_noepicycle.report import journal

_SECONDS = 600.0
_QUIET = (
    "-q",
    "--tb=no",
    "-p",
    "no:langsmith_plugin",
    "-p",
    "no:anyio",
    "-p",
    "no:asyncio",
    "-p",
    "no:hypothesispytest",
)
_REPAIR = ("--noepi-fix", "--noepi-dry-run", "--noepi-ladder", "offline", "--noepi-time-limit", "300")


def _batch(name: str, *options: str, **variables: str) -> Batch:
    specimens, shared = catalogue.read(name)
    return Batch(name, specimens, shared, options, variables)


BATCHES = (
    _batch("faults"),
    _batch("disguised"),
    _batch("stuck", "-o", "noepi_test_timeout=1", TRIAGE_LIMIT="1"),
    _batch("uncollected"),
    _batch("company"),
    _batch("needy", "-k", "victim"),
    _batch("chance"),
    _batch("surroundings", TRIAGE_MOOD="bad"),
    _batch("purposes"),
    _batch("contradicting"),
)
"""The whole suite: ``stuck`` has a limit that stands outside the sandbox only, as a plugin would set it."""


def sort_batch(batch: Batch, folder: Path, *, seed: int, sandbox: str) -> Iterator[Said]:
    """Write a batch's project into a folder, run its tests with a dry repair, and yield what was said of each failure.

    :raises BenchError: where the run left no result.
    """
    tree = folder / batch.name
    for path, text in batch.layout(seed).items():
        (tree / path).parent.mkdir(parents=True, exist_ok=True)
        (tree / path).write_text(text, "utf-8")
    variables = [f"{name}={value}" for name, value in batch.variables.items()]
    command = ["env", *variables, sys.executable, "-B", "-m", "pytest", *_QUIET, *_REPAIR, "--noepi-sandbox", sandbox]
    log = folder / f"{batch.name}.log"
    projects.run([*command, *batch.options], tree, _SECONDS, log)
    result = outcomes.read_result(tree)
    if not result:
        raise projects.BenchError(f"the batch {batch.name} left no result: {log.read_text('utf-8')[-2000:]}", hint="")
    yield from _said(batch, result, _events(tree))


def _events(tree: Path) -> dict[str, dict[str, Any]]:
    return {
        event["event"]: event for file in tree.glob(".noepi/runs/*/decisions.jsonl") for event in journal.read(file)
    }


def _said(batch: Batch, result: Mapping[str, Any], events: Mapping[str, Mapping[str, Any]]) -> Iterator[Said]:
    """Compare, for each test that failed outside, what it is with what was said of it."""
    kinds = dict.fromkeys(result["tests"]["targets"], Kind.REAL.value)
    kinds.update(
        {failure["test"]: _of_target(failure) for failure in events["triaged"]["real"] if failure["test"] in kinds}
    )
    hints = {finding["test"]: finding["hint"] for finding in result["tests"]["findings"]}
    kinds.update({finding["test"]: finding["kind"] for finding in result["tests"]["findings"]})
    for test in events["run_started"]["failed"]:
        true = batch.truth.get(test.partition("[")[0])
        if true is not None:
            yield Said(f"{batch.name}/{test}", true, kinds.get(test, MISSED), hints.get(test, ""))


def _of_target(failure: Mapping[str, Any]) -> str:
    if failure["phase"] == "collect":
        return Kind.COLLECTION.value
    return Kind.TIMEOUT.value if failure["exception"] == "Timeout" else Kind.REAL.value
