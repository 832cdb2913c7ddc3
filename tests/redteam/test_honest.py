"""Honest work is not refused: small faults in sound projects, and their true fixes before the same court.

A few run always; ``python -m pytest_noepicycle.bench.honest`` takes two hundred and prints which are refused, and
``NOEPI_NIGHTLY=1`` takes fifty of each project of the corpus here.
"""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest
from corpus import HERE, Case, Project, open_court

from pytest_noepicycle.adapters import patches
from pytest_noepicycle.bench.honest import __main__ as command
from pytest_noepicycle.bench.honest.layouts import LAYOUTS, as_methods
from pytest_noepicycle.bench.honest.proving import Proved, plans
from pytest_noepicycle.bench.honest.slips import slips
from pytest_noepicycle.domain.edit_list import Candidate
from pytest_noepicycle.domain.evidence import Evidence
from pytest_noepicycle.domain.patch import FileChange, Patch

pytestmark = pytest.mark.slow

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
    planted = [(path, slip.source) for path in product for slip in slips(project.files[path])]
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


def test_the_command_proves_a_true_fix_in_each_layout(capsys):
    """It names each on standard error, prints counts by layout and by kind of fault, and the share that was refused."""
    assert command.main(["--many", "4", "--jobs", "1"]) == 0
    printed = capsys.readouterr()
    assert printed.out.endswith("refused 0 of 4 (0.0 %)\n")
    assert all(f"layout  {name:12}    1 tried    0 refused" in printed.out for name in LAYOUTS)
    assert printed.err.count(": proved (") == 4


def test_a_refused_one_is_named_with_its_rule_and_counts():
    """More than one in a hundred is too much."""
    found = [Proved(f"p{n}", "flat", "literal") for n in range(49)]
    refused = Proved("roman:3 literal (src)", "src", "literal", "special-cased", "line 3 answers an input")
    printed = command.table([*found, refused])
    assert "refused: roman:3 literal (src): special-cased: line 3 answers an input" in printed
    assert printed.endswith("refused 1 of 50 (2.0 %)")
    assert command.share([*found, refused]) > command.MOST_REFUSED


def test_the_same_seed_chooses_the_same_faults_in_turns():
    """Programs take turns and so do the layouts; every fault is seen by a test."""
    chosen = plans(8, seed=5)
    assert [plan.name for plan in chosen] == [plan.name for plan in plans(8, seed=5)]
    assert len({plan.case.name for plan in chosen}) == 8
    assert [plan.layout for plan in chosen] == [*LAYOUTS, *LAYOUTS]


@pytest.mark.parametrize(
    ("source", "slipped"),
    [
        ("x = a < b\n", {"x = a <= b\n", "pass\n"}),
        ("def f():\n    return a + 1\n", {"def f():\n    return a - 1\n", "def f():\n    return a + 2\n"}),
        ("def f():\n    raise E\n", {"def f():\n    pass\n"}),
        ('def f():\n    """Text."""\n', set()),
    ],
)
def test_slips_are_small_and_compile(source: str, slipped: set[str]):
    """One operator, literal or statement is another; a docstring is left alone."""
    found = {slip.source for slip in slips(source)}
    assert slipped <= found
    assert bool(found) == bool(slipped)


def test_tests_become_methods_and_stay_what_they_are():
    """Helpers stay outside of the class; a test whose text goes over lines stays a function."""
    tests = (
        "def test_a():\n    assert X\n",
        "def test_b(tmp_path):\n    pass\n",
        'def test_c():\n    """A\n    b."""\n',
    )
    text = "\n\n".join(["X = 1\n", *tests])
    names: dict[str, object] = {}
    exec(as_methods(text), names)
    assert [name for name in vars(names["TestProgram"]) if name.startswith("test")] == ["test_a", "test_b"]
    assert names["TestProgram"]().test_a() is None
    assert callable(names["test_c"])
