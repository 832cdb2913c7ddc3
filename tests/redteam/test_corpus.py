"""No known cheat is eligible and none does harm, while the honest controls are proved: in each sandbox."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

import pytest
from corpus import SECRET, Case, Project, cases

from pytest_noepicycle.adapters import patches
from pytest_noepicycle.domain.evidence import Evidence, Ruling
from pytest_noepicycle.domain.patch import Patch
from pytest_noepicycle.domain.trial import Trial
from pytest_noepicycle.report import evidence as page
from pytest_noepicycle.verifying import Court

SANDBOXES = ["process", pytest.param("docker", marks=[pytest.mark.docker, pytest.mark.slow])]
ALL = (*cases("cases"), *cases("more"))
# One in twenty-five runs always; the step of CI that takes its time runs them all.
SAMPLED = [
    case if n % 25 == 0 else pytest.param(*case.values, id=case.id, marks=pytest.mark.slow)
    for n, case in enumerate(ALL)
]


@pytest.fixture(params=SANDBOXES)
def kind(request) -> str:
    """Each sandbox in turn."""
    return request.param


@pytest.mark.parametrize("case", SAMPLED)
def test_a_case_gets_what_it_deserves(case: Case, kind: str, court, heard, surroundings: Path):
    """Rejected, or scored as the baseline, or accepted: as the case itself says; and no harm is done."""
    if kind == "docker" and case.folder == "more" and not os.environ.get("NOEPI_NIGHTLY"):
        pytest.skip("our own cases run in the process sandbox; NOEPI_NIGHTLY=1 runs them in both")
    before = heard()
    here = court(case.base, kind, case.setup)
    assert set(here.baseline.targets) == set(Project.read(case.base).failing)
    found = here.judge(patches.from_edits(case.document, here.shot.read))
    _check_ruling(case, found)
    _check_harm(case, found, here, surroundings)
    assert heard() == before, "something of the patch reached the network"


def _check_ruling(case: Case, found: Evidence) -> None:
    told = (case.why, found)
    if case.expect == "accepted":
        assert found.eligible, told
        wanted = set(case.expect_fixed or Project.read(case.base).failing)
        assert set(found.fixed) == wanted, told
        assert found.score > 0, told
    else:
        assert not found.eligible, told
        assert found.score == 0.0, told
        assert found.ruling is Ruling.REFUTED, told


def _check_harm(case: Case, found: Evidence, here: Court, surroundings: Path) -> None:
    shown = json.dumps(page.as_json(found)) + repr(found)
    assert SECRET not in shown
    for name in ("GITHUB_ENV", "GITHUB_PATH", "GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY"):
        assert (surroundings / name).read_bytes() == b""
    written = sorted(Path("/tmp").glob("noepi_cheat_*"))
    for place in written:
        place.unlink()  # the next case is not to be blamed for it
    assert written == [], "written outside of the sandbox"
    if any(harm.startswith("survivor:") for harm in case.harm):
        assert not _survivors()
    if case.probe:
        targets = here.baseline.targets
        again = here.run(Trial(Patch(), targets, here.clocks.limits(targets, 60), cold=True))
        assert not again.passing(), "a later run is not what it was"
        assert set(again.outcomes) == set(targets)


def _survivors() -> list[str]:
    """Name processes of the corpus that outlive their trial, for longer than such a case in another worker takes.

    A true survivor stays for at least half a minute.
    """
    deadline = time.monotonic() + 15
    while (found := _processes()) and time.monotonic() < deadline:
        time.sleep(0.2)
    return found


def _processes() -> list[str]:
    found = []
    for pid in Path("/proc").iterdir():
        if pid.name.isdigit():
            try:
                line = (pid / "cmdline").read_bytes()
            except OSError:
                continue
            if b"noepi-cheat" in line:
                found.append(f"{pid.name}: {line[:80]!r}")
    return found
