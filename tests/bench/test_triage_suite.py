"""Failures whose causes are known: the catalogue, the matrix, and a part of the suite through the real engine."""

from __future__ import annotations

import ast

import pytest

from pytest_noepicycle.bench.triage.catalogue import parse
from pytest_noepicycle.bench.triage.matrix import MISSED, Said, as_text
from pytest_noepicycle.bench.triage.specimen import Batch, Kind, Specimen
from pytest_noepicycle.bench.triage.suite import BATCHES, sort_batch

pytestmark = pytest.mark.slow

TEXT = """\
=== one: real
X = $a
---
def test_it(): pass
=== two: collection | *
---
import y
--- test_y.py
z = 1
=== three: flaky | test_a test_b
---
pass
+++ README.md
words
"""


def test_a_chapter_is_read_into_specimens_and_the_files_they_share():
    """Product, tests, other files, the tests that fail: each where the text has it."""
    specimens, shared = parse(TEXT)
    assert [(s.name, s.true, s.ids) for s in specimens] == [
        ("one", Kind.REAL, ("test_one.py::test_it",)),
        ("two", Kind.COLLECTION, ("test_two.py",)),
        ("three", Kind.FLAKY, ("test_three.py::test_a", "test_three.py::test_b")),
    ]
    assert specimens[1].files(1) == {"test_two.py": "import y\n", "test_y.py": "z = 1\n"}
    assert shared == {"README.md": "words\n"}


def test_the_seed_alone_draws_the_values():
    """The same seed gives the same files, another one other values."""
    one = parse(TEXT)[0][0]
    assert one.files(1) == one.files(1)
    assert len({one.files(seed)["one.py"] for seed in range(9)}) > 1
    assert all("$" not in text for text in one.files(1).values())


def test_the_suite_holds_sixty_failures_and_more_of_every_kind():
    """Every kind of triage is in it, most of all faults of the code, and no two specimens share a name."""
    specimens = [specimen for batch in BATCHES for specimen in batch.specimens]
    assert {specimen.true for specimen in specimens} == set(Kind)
    assert sum(len(specimen.ids) for specimen in specimens) >= 60
    assert sum(specimen.true.of_the_code for specimen in specimens) >= 30
    assert len({specimen.name for specimen in specimens}) == len(specimens)


def test_what_is_meant_to_be_python_is():
    """Only what is to fail when it is collected may be anything else."""
    for batch in BATCHES:
        for specimen in batch.specimens if batch.name != "uncollected" else ():
            for path, text in specimen.files(3).items():
                ast.parse(text, path)


@pytest.mark.parametrize(
    ("true", "said", "unforgivable"),
    [
        (Kind.REAL, "flaky", True),
        (Kind.TIMEOUT, "environment", True),
        (Kind.SHARED, "unreproduced", True),
        (Kind.COLLECTION, MISSED, True),
        (Kind.REAL, "order-dependent", False),
        (Kind.FLAKY, "real", False),
        (Kind.FLAKY, MISSED, False),
    ],
)
def test_only_a_fault_of_the_code_that_is_excused_is_unforgivable(true, said, unforgivable):
    """To mend in vain is a pity; to tell people that their code is right when it is not is not to be had."""
    assert Said("t", true, said).unforgivable is unforgivable


def test_the_matrix_counts_and_names_what_is_wrong():
    """A row for each true kind, then the wrong ones, then whether the rule holds."""
    text = as_text([Said("a", Kind.REAL, "real"), Said("b", Kind.REAL, "flaky", "hint"), Said("c", Kind.FLAKY, MISSED)])
    rows = {line.split()[0]: line.split()[1:] for line in text.splitlines() if line}
    assert rows["real"][:5] == ["1", ".", ".", ".", "1"]
    assert text.splitlines()[0].endswith(MISSED)
    assert "1 of 3 failures are called what they are" in text
    assert text.endswith("faults of the code that were excused: b")


def _part(*names: str) -> Batch:
    known: dict[str, Specimen] = {one.name: one for batch in BATCHES for one in batch.specimens}
    return Batch("part", tuple(known[name] for name in names))


def test_a_part_of_the_suite_is_called_what_it_is(tmp_path):
    """Through the real engine in one project: each said kind is the true one, and the culprit is named."""
    part = _part("sums", "addressed", "refusing", "misspelt", "keeping", "switched", "served", "asking", "disputed")
    said = list(sort_batch(part, tmp_path, seed=11, sandbox="process"))
    assert {one.test: one.said for one in said} == {one.test: one.true.value for one in said}
    assert {one.true for one in said} == {
        Kind.REAL,
        Kind.SHARED,
        Kind.ORDER,
        Kind.ENVIRONMENT,
        Kind.CONTRADICTION,
    }
    hints = {one.test: one.hint for one in said}
    assert "test_switched.py::test_first" in hints["part/test_switched.py::test_it"]
