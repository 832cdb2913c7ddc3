"""Honest work is not refused: small faults in sound projects, and their true fixes before the same court.

One of each project runs always; ``NOEPI_NIGHTLY=1`` runs fifty of each, which takes about half an hour.
"""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest
from corpus import HERE, Case, Project, open_court
from planting import faults

from pytest_noepicycle.adapters import patches
from pytest_noepicycle.domain.edit_list import Candidate
from pytest_noepicycle.domain.evidence import Evidence
from pytest_noepicycle.domain.patch import FileChange, Patch

# The project, and a patch of the corpus that mends it.
SOUND = {
    "minicalc": "cases/92_honest_precedence",
    "daterange": "cases/93_honest_eq_hash",
    "stockroom": "more/b06_honest_exception",
    "slugbox": "more/b07_honest_regular_expression",
    "ledger": "more/b02_honest_base_case",
}
MANY = 50 if os.environ.get("NOEPI_NIGHTLY") else 1


def sound(base: str) -> Project:
    """The project with every test green."""
    project = Project.read(base)
    mending = Case.read(HERE / f"{SOUND[base]}.json")
    files = {path: text.encode() for path, text in project.files.items()}
    changed = patches.from_edits(mending.document, files.get).patch.files()
    return Project({**project.files, **{path: (text or b"").decode() for path, text in changed.items()}}, [])


def judged(project: Project, path: str, fault: str, folder: Path) -> Evidence | None:
    """The evidence for the true fix of a fault; None where no test sees the fault."""
    Project({**project.files, path: fault}, []).write(folder)
    change = FileChange(path, fault.encode(), project.files[path].encode())
    with open_court(folder, "process") as court:
        return court.judge(Candidate(Patch.of([change]))) if court.baseline.targets else None


@pytest.mark.parametrize("base", SOUND)
def test_the_true_fix_of_a_small_fault_is_proved(base: str, tmp_path: Path):
    """At most one in a hundred is refused; each that is, is named."""
    project = sound(base)
    product = [path for path in project.files if path.endswith(".py") and "test" not in path]
    planted = [(path, fault) for path in product for fault in faults(project.files[path])]
    random.Random(7).shuffle(planted)
    seen, refused = 0, []
    for number, (path, fault) in enumerate(planted):
        found = judged(project, path, fault, tmp_path / str(number))
        seen += found is not None
        if found is not None and not found.solved:
            refused.append((path, fault, found))
        if seen >= MANY:
            break
    assert seen, "no test sees any of the faults"
    assert len(refused) * 100 <= seen, refused
