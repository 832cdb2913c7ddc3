"""The guard: what may be touched, what never, and by which rule it is refused."""

from __future__ import annotations

import pytest

from pytest_noepicycle.domain.guard import RULES, Territory, judge, may_edit
from pytest_noepicycle.domain.patch import FileChange, Patch

FILES = frozenset(
    {"pkg/__init__.py", "pkg/core.py", "pkg/data.json", "pkg/tested.py", "pkg/inner/mod.py", "solo.py", "conftest.py"}
    | {"tests/test_core.py", "tests/conftest.py", "tests/casedata.py", "pyproject.toml", "test_flat.py", "link.py"}
    | {"qa/test_a.py", "qa/test_b.py", "qa/support.py", "custom.ini"}
)
TERRITORY = Territory(
    files=FILES,
    links=frozenset({"link.py", "linked"}),
    tests_in={
        "pkg/tested.py": ("pkg/tested.py::test_it", "pkg/tested.py::pkg.tested.f"),
        "qa/test_a.py": ("qa/test_a.py::test_1",),
        "qa/test_b.py": ("qa/test_b.py::test_1",),
    },
    configuration=frozenset({"custom.ini"}),
    taken=frozenset({"requests", "numpy"}),
)
TESTED = (
    b'def f():\n    """Doc.\n\n    >>> f()\n    1\n    """\n    return 1\n\n\ndef test_it():\n    assert f() == 1\n'
)


def rule(path: str, before: bytes | None = b"x = 1\n", after: bytes | None = b"x = 2\n", territory=TERRITORY) -> str:
    """Return the rule that refuses a change, or an empty text."""
    refusals = judge(Patch.of([FileChange(path, before, after)]), territory)
    return refusals[0].rule if refusals else ""


@pytest.mark.parametrize(
    ("path", "refused_by"),
    [
        ("pkg/core.py", ""),
        ("pkg/__init__.py", ""),
        ("solo.py", ""),
        ("../outside.py", "leaves-tree"),
        ("/etc/passwd", "leaves-tree"),
        ("pkg/../../x.py", "leaves-tree"),
        ("./pkg/core.py", "leaves-tree"),
        ("pkg//core.py", "leaves-tree"),
        ("C:/x.py", "leaves-tree"),
        ("pkg\\core.py", "leaves-tree"),
        ("pkg/a\nb.py", "leaves-tree"),
        ("", "leaves-tree"),
        ("link.py", "follows-link"),
        ("linked/mod.py", "follows-link"),
        (".git/hooks/pre-commit", "hidden-or-tooling"),
        (".github/workflows/ci.yml", "hidden-or-tooling"),
        (".claude/settings.json", "hidden-or-tooling"),
        ("pkg/__pycache__/core.cpython-311.pyc", "hidden-or-tooling"),
        ("x.dist-info/entry_points.txt", "hidden-or-tooling"),
        ("sitecustomize.py", "start-up-hook"),
        ("pkg/usercustomize.py", "start-up-hook"),
        ("evil.pth", "start-up-hook"),
        ("conftest.py", "configuration"),
        ("pkg/conftest.py", "configuration"),
        ("pyproject.toml", "configuration"),
        ("pkg/pytest.ini", "configuration"),
        ("setup.py", "configuration"),
        ("custom.ini", "configuration"),
        ("tests/test_core.py", "test-file"),
        ("tests/casedata.py", "test-file"),
        ("test_flat.py", "test-file"),
        ("pkg/core_test.py", "test-file"),
        ("qa/support.py", "test-file"),
        ("pkg/data.json", "not-python"),
        ("README.md", "not-python"),
        ("pkg/core.pyc", "compiled"),
        ("pkg/fast.so", "compiled"),
        ("requirements-dev.txt", "packaging"),
        ("uv.lock", "packaging"),
        ("AGENTS.md", "ci-or-agent-file"),
        ("docs/CLAUDE.md", "ci-or-agent-file"),
        ("Makefile", "ci-or-agent-file"),
        ("CODEOWNERS", "ci-or-agent-file"),
        ("pkg/__snapshots__/core.ambr", "snapshot"),
        ("pkg/golden/out.json", "snapshot"),
        ("Conftest.py", "configuration"),
        ("pkg/PyTest.ini", "configuration"),
        ("pkg/p\u0430ge.py", "odd-name"),
        ("--output=x.py", "odd-name"),
        ("pkg/Core.py", "odd-name"),
    ],
)
def test_each_path_is_judged_by_name(path: str, refused_by: str):
    """The allow-list holds, and each refusal names its rule."""
    assert rule(path) == refused_by


@pytest.mark.parametrize(
    ("path", "refused_by"),
    [
        ("pkg/fresh.py", ""),
        ("pkg/inner/fresh.py", ""),
        ("pkg/deep/er/fresh.py", ""),
        ("pkg/tools/__init__.py", ""),
        ("fresh.py", ""),
        ("pkg.py", "new-module"),
        ("pygments.py", "new-module"),
        ("casedata.py", "new-module"),
        ("pytest_more.py", "new-module"),
        ("_pytest/__init__.py", "new-module"),
        ("requests.py", "new-module"),
        ("json.py", "new-module"),
        ("numpy.py", "new-module"),
        ("nowhere/fresh.py", "new-module"),
        ("pytest.py", "new-module"),
    ],
)
def test_a_new_module_joins_the_product_or_takes_a_free_name(path: str, refused_by: str):
    """New files stand beside modules of the product and hide nothing that exists."""
    taken = Territory(FILES, taken=frozenset({"requests", "numpy", "pytest"}))
    assert rule(path, before=None, territory=taken) == refused_by


@pytest.mark.parametrize(
    ("before", "after", "refused_by"),
    [
        (b"x = 1\n", None, "deletion"),
        (b"x = 1\n", b"  \n", "emptied"),
        (b"", b"x = 1\n", ""),
        (b"x = 1\n", "x = 1  # \u202e\n".encode(), "bidirectional"),
        ("x = '\u202e'\n".encode(), "y = '\u202e'\n".encode(), ""),
        (b"x = 1\n", "x\u200b = 1\n".encode(), "bidirectional"),
        (b"x = 1\n", "\ufeffx = 2\n".encode(), ""),
    ],
    ids=["deleted", "emptied", "filled", "bidi added", "bidi was there", "no width", "a mark at the start"],
)
def test_what_a_change_does_is_judged_too(before, after, refused_by):
    """Deleting, emptying and hiding are refused; what the project had already is its own."""
    assert rule("pkg/core.py", before, after) == refused_by


@pytest.mark.parametrize(
    ("after", "refused_by"),
    [
        (TESTED.replace(b"    return 1", b"    return 0 + 1"), ""),
        (TESTED.replace(b"    1\n", b"    2\n"), "frozen-test"),
        (TESTED.replace(b"== 1", b"== 2"), "frozen-test"),
        (TESTED.replace(b"def test_it", b"def test_other"), "frozen-test"),
        (TESTED + b"\n\ntest_it = len\n", "frozen-test"),
        (TESTED + b"\n\nfrom os import path as test_it\n", "frozen-test"),
        (TESTED + b"\n\nif True:\n    def test_it(): pass\n", "frozen-test"),
        (TESTED + b"\n\npytestmark = []\n", "frozen-test"),
        (TESTED + b'\n\ndef g():\n    """Doc.\n\n    >>> g()\n    """\n', ""),
        (b"import os\n" + TESTED + b"\n\ndef g():\n    return os\n", ""),
    ],
    ids=[
        *("product", "doctest", "test", "renamed test", "test bound again", "test imported over"),
        *("test defined again", "mark", "a further doctest", "a helper"),
    ],
)
def test_tests_inside_product_files_are_frozen(after, refused_by):
    """A product file may change around its tests and doctests, never in them."""
    assert rule("pkg/tested.py", TESTED, after) == refused_by


def test_a_users_own_rules_close_and_open_further_files():
    """noepi_protect closes, noepi_product narrows, noepi_editable opens; none of them opens what is never open."""
    mine = Territory(FILES, protect=("pkg/core.py",), product=("pkg",), editable=("pkg/*.json", "conftest.py"))
    assert rule("pkg/core.py", territory=mine) == "protected-by-user"
    assert rule("solo.py", territory=mine) == "outside-product"
    assert rule("pkg/data.json", territory=mine) == ""
    assert rule("conftest.py", territory=mine) == "configuration"


@pytest.mark.parametrize(
    "path", ["poetry.lock", "pkg/golden/a.json", "CLAUDE.md", "pkg/x.so", ".github/a.yml", "x.pth"]
)
def test_what_is_never_open_stays_so_whatever_a_user_opens(path: str):
    """noepi_editable opens data, not what steers, locks, judges or hides."""
    assert rule(path, territory=Territory(FILES, editable=("*",)))


def test_one_bad_file_is_enough_and_every_bad_file_is_named():
    """A patch is refused whole, with a reason for each of its files."""
    changes = [FileChange(path, b"1", b"2") for path in ("pkg/core.py", "tests/test_core.py", "conftest.py")]
    assert [r.path for r in judge(Patch.of(changes), TERRITORY)] == ["conftest.py", "tests/test_core.py"]


def test_rungs_can_ask_before_they_propose():
    """What may_edit says agrees with what judge says of an ordinary edit."""
    assert all(may_edit(path, TERRITORY) == (rule(path) == "") for path in FILES)


def test_every_rule_has_a_stable_name():
    """Reports and tests use these names."""
    assert set(RULES) == {
        *("leaves-tree", "follows-link", "hidden-or-tooling", "start-up-hook", "configuration", "test-file"),
        *("protected-by-user", "not-python", "outside-product", "deletion", "new-module", "emptied"),
        *("bidirectional", "frozen-test", "packaging", "ci-or-agent-file", "compiled", "snapshot", "odd-name"),
        *("special-cased", "memory"),
    }


@pytest.mark.parametrize(
    ("before", "after", "rule"),
    [
        ("x = 1\n", "import ctypes\n", "memory"),
        ("x = 1\n", "from ctypes import c_int\n", "memory"),
        ("x = 1\n", "y = __import__('ctypes')\n", "memory"),
        ("x = 1\n", "open('/proc/self/mem', 'r+b')\n", "memory"),
        ("import ctypes\n", "import ctypes\nx = ctypes.CDLL(None)\n", ""),
        ("x = 1\n", "import gc\ngc.collect()\n", ""),
        ("x = 1\n", '"""Needs no ctypes."""\n', ""),
    ],
)
def test_writing_into_the_interpreter_is_nothing_that_a_fix_begins_with(before: str, after: str, rule: str):
    """No Python object is safe from it, the test's own expectation least; a file that did so before may go on."""
    refused = judge(Patch.of([FileChange("pkg/core.py", before.encode(), after.encode())]), TERRITORY)
    assert [refusal.rule for refusal in refused] == ([rule] if rule else [])
