"""The classical programs as data: each is right, slips visibly, and is read from a file that people can read."""

import pytest

from pytest_noepicycle.bench.classics.__main__ import main, table
from pytest_noepicycle.bench.classics.cases import parse, read_cases
from pytest_noepicycle.bench.classics.exercise import exercise
from pytest_noepicycle.bench.repair import Mended, observed

CASES = read_cases()
TEXT = """# Title

## double · wrong operator
```python
def double(x):
    return x * 2
```
```diff
-    return x * 2
+    return x ** 2
```
```python
def test_three():
    assert double(3) == 6
```
```python
def observe(rng):
    return double(rng.random())
```
"""


def test_there_are_enough_and_no_two_share_a_name():
    """At least forty programs, of at least ten kinds of slip."""
    assert len(CASES) >= 40
    assert len({case.name for case in CASES}) == len(CASES)
    assert len({case.kind for case in CASES}) >= 10


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_case_is_right_without_its_slip(case):
    """All tests pass on the right program, and a slip is at most a few lines."""
    report = exercise(case, case.code, None, measured=False)
    assert [o.test for o in report.outcomes.values() if not o.passed] == []
    assert case.slipped != case.code
    assert observed(case, case.code, range(5)) == observed(case, case.code, range(5))


def test_a_file_is_read():
    """Heading, code, slip, tests and observation make a case; its files make a project."""
    (case,) = parse(TEXT)
    assert (case.name, case.kind, case.path) == ("double", "wrong operator", "double.py")
    assert case.slipped == "def double(x):\n    return x ** 2\n"
    assert case.files["tests/test_double.py"].startswith("from double import *\n")


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [("```diff", "```python", "a case holds"), ("-    return x * 2", "-    return x", "must be in the code, once")],
)
def test_a_case_that_is_not_written_so_is_named(old, new, said):
    """What does not follow the form is an error with the case's name."""
    with pytest.raises(ValueError, match=f"double: .*{said}"):
        parse(TEXT.replace(old, new))


def test_the_table_counts_by_kind():
    """Each kind has its row, and the last row is all of them."""
    (case,) = parse(TEXT)
    rows = table([Mended(case, "rightly", 4, 0.5), Mended(case, "not", 90, 2.0)]).splitlines()
    assert rows[2].split() == ["wrong", "operator", "2", "1", "0", "0", "1", "4", "0.5"]
    assert rows[-1].split()[:2] == ["all", "2"]


def test_a_word_that_no_case_has_is_bad_use(capsys):
    """Nothing to run is said and is not a success."""
    assert main(["no such case"]) == 2
    assert "no case" in capsys.readouterr().out


def test_cases_are_listed(capsys):
    """`--list` names the cases that a word chooses, and runs none."""
    assert main(["--list", "fibonacci"]) == 0
    assert capsys.readouterr().out == "fibonacci: order of statements\n"
