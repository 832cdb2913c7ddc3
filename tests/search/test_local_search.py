"""The local search as a rung: what it proposes, in which order, and what it leaves alone."""

import ast
import itertools

import pytest

from pytest_noepicycle.domain import guard
from pytest_noepicycle.domain.context import Context, Suspect
from pytest_noepicycle.domain.failure import Failure, Frame
from pytest_noepicycle.domain.guard import Territory
from pytest_noepicycle.domain.patch import FileChange, Patch
from pytest_noepicycle.domain.score import Baseline
from pytest_noepicycle.rungs.search import LocalSearch

SHOP = '''"""A shop."""


def bulk(quantity, limit=10):
    """Tell whether it is much."""
    if quantity > limit:
        return "bulk"
    return "single"


def average(values):
    total = 0
    for value in values:
        total = value
    return total / len(values)
'''


def context(files, *suspects, failures=(), best=None, **facts):
    """Return what a rung knows: files by path, suspects as (path, line) or (path, line, weight)."""
    raw = {path: text.encode() if isinstance(text, str) else text for path, text in files.items()}
    best = best or Patch()
    places = [Suspect(s[0], s[1], s[2] if len(s) > 2 else 1.0, "a test says so") for s in suspects]
    return Context(
        baseline=Baseline(("tests/test_shop.py::test_it",), ()),
        failures=tuple(failures),
        suspects=tuple(places),
        best=best,
        read=lambda path: best.read(path, raw.get),
        read_baseline=raw.get,
        files=frozenset(raw),
        territory=Territory(frozenset(raw), **facts),
    )


def sources(found, path="shop.py"):
    """Return what the proposals make of one file, as bytes."""
    return [proposal.patch.files()[path] for proposal in found]


def test_the_likeliest_edit_comes_first_and_is_explained():
    """At a comparison the boundary is tried first; note and detail say what, where and why."""
    first = next(iter(LocalSearch().propose(context({"shop.py": SHOP}, ("shop.py", 6)))))
    assert first.patch.files()["shop.py"] == SHOP.replace(">", ">=").encode()
    assert first.note == "shop.py:6: `>` → `>=` (comparison boundary)"
    assert first.detail == {
        "operator": "comparison-boundary",
        "path": "shop.py",
        "line": "6",
        "reason": "a test says so",
    }


def test_every_proposal_compiles_and_no_two_say_the_same():
    """Whatever is proposed compiles, differs from the file in meaning, and was not proposed before."""
    found = sources(LocalSearch().propose(context({"shop.py": SHOP}, *(("shop.py", n) for n in range(1, 16)))))
    meanings = [ast.dump(ast.parse(source)) for source in found]
    for source in found:
        compile(source, "shop.py", "exec")
    assert len(found) > 100
    assert len(set(meanings)) == len(meanings)
    assert ast.dump(ast.parse(SHOP)) not in meanings


def test_the_same_context_gives_the_same_proposals():
    """There is no chance in it: two searches agree byte for byte, in order."""
    asked = context({"shop.py": SHOP}, ("shop.py", 14), ("shop.py", 15, 0.7))
    once, again = (list(LocalSearch().propose(asked)) for _ in range(2))
    assert [p.patch.digest for p in once] == [p.patch.digest for p in again]


def test_many_suspects_get_their_likely_edits_before_one_gets_all():
    """Among the first proposals there are some for each of two suspects, although each has dozens of edits."""
    asked = context({"shop.py": SHOP}, ("shop.py", 6, 1.0), ("shop.py", 14, 0.95))
    lines = {p.detail["line"] for p in itertools.islice(LocalSearch().propose(asked), 10)}
    assert lines == {"6", "14"}


def test_it_is_lazy_and_bounded():
    """It yields one at a time, and no more than its bound."""
    asked = context({"shop.py": SHOP}, *(("shop.py", n) for n in range(1, 16)))
    assert len(list(LocalSearch(max_candidates=7).propose(asked))) == 7
    assert list(LocalSearch(max_candidates=0).propose(asked)) == []


def test_it_adds_one_edit_to_the_best_patch_so_far():
    """A gain is kept: what is proposed is the best patch and one edit more, against the baseline."""
    other = FileChange("other.py", b"x = 1\n", b"x = 2\n")
    mended = FileChange("shop.py", SHOP.encode(), SHOP.replace(">", ">=").encode())
    files = {"shop.py": SHOP, "other.py": "x = 1\n"}
    asked = context(files, ("shop.py", 14), best=Patch.of([other, mended]))
    first = next(iter(LocalSearch().propose(asked)))
    assert first.patch.files()["other.py"] == b"x = 2\n"
    assert first.patch.files()["shop.py"] == SHOP.replace(">", ">=").replace("total = value", "total += value").encode()
    assert all(change.before == files[change.path].encode() for change in first.patch.changes)


@pytest.mark.parametrize("path", ["tests/shop.py", "test_shop.py", "conftest.py", "setup.py", ".ci/shop.py"])
def test_a_protected_file_is_left_alone(path):
    """A suspect in a file that the guard protects gives no proposal."""
    assert list(LocalSearch().propose(context({path: SHOP}, (path, 6)))) == []


def test_nothing_is_proposed_that_the_guard_refuses():
    """In a file with a doctest of its own, the docstring stays as it is and every proposal may be tried."""
    asked = context({"shop.py": SHOP}, ("shop.py", 4), ("shop.py", 6), tests_in={"shop.py": ("shop.py::shop.bulk",)})
    found = list(LocalSearch().propose(asked))
    assert found
    assert not [p for p in found if guard.judge(p.patch, asked.territory)]


@pytest.mark.parametrize(
    "raw",
    [
        pytest.param(b"def f(a, b):\r\n\tif a < b:\r\n\t\treturn a\r\n\treturn b", id="crlf-tabs-no-last-newline"),
        pytest.param(b"def f(a, b):\r    if a < b:\r        return a\r    return b\r", id="old-mac"),
        pytest.param(
            "# -*- coding: latin-1 -*-\ndef f(a, b):\n    x = 'äöü'; return a < b, 'é'\n".encode("latin-1"),
            id="latin-1",
        ),
        pytest.param(b"\xef\xbb\xbfdef f(a, b):\n    return '\xc3\xa9' if a < b else b\n", id="bom"),
        pytest.param("def f(a, b):\n    return '€😀', a < b, 'ß'\n".encode(), id="utf-8-wide"),
        pytest.param(b"def f(a, b):\n\x0c\n    return a < b  \n\n", id="form-feed-and-trailing-space"),
    ],
)
def test_bytes_outside_the_edit_stay_as_they_are(raw):
    """Newlines, encoding, mark, tabs and a missing last newline survive a changed comparison."""
    lines = raw.replace(b"\r\n", b"\n").replace(b"\r", b"\n").count(b"\n") + 1
    found = sources(LocalSearch().propose(context({"m.py": raw}, *(("m.py", n) for n in range(1, lines + 1)))), "m.py")
    assert raw.replace(b"<", b"<=") in found


def test_inserted_lines_take_the_newlines_of_the_file():
    """A guard put into a file with CRLF ends its lines with CRLF too."""
    raw = b"def f(x):\r\n    return x[0]\r\n"
    failure = Failure("tests/test_m.py::test_f", "call", "IndexError", "out of range", (Frame("m.py", 2, "f"),))
    found = sources(LocalSearch().propose(context({"m.py": raw}, ("m.py", 2), failures=[failure])), "m.py")
    assert b"def f(x):\r\n    if not x:\r\n        return None\r\n    return x[0]\r\n" in found


def test_a_line_between_two_functions_belongs_to_the_first():
    """A missing `return` is added at the end of a function that another one follows without a blank line."""
    raw = b"class A:\n    def f(self, x):\n        y = x\n    def g(self):\n        pass\n"
    found = sources(LocalSearch().propose(context({"m.py": raw}, ("m.py", 3))), "m.py")
    assert raw.replace(b"y = x\n", b"y = x\n        return y\n") in found


@pytest.mark.parametrize("raw", [b"# coding: nonsense\nx = 1 < 2\n", b"x = '\xff' < 2\n", b"x = 1\0 < 2\n", b""])
def test_a_file_that_cannot_be_read_is_left_alone(raw):
    """An unknown encoding, broken bytes, a null byte, an empty file: no proposal and no error."""
    assert list(LocalSearch().propose(context({"m.py": raw}, ("m.py", 1), ("m.py", 2)))) == []


def test_what_the_encoding_cannot_hold_is_not_proposed():
    """An edit that would need a letter which the file's encoding lacks is passed over."""
    raw = b"# coding: latin-1\nx = 'abc'\n"
    failure = Failure("tests/test_m.py::test_f", "call", "AssertionError", "assert 'abc' == 'ab€'")
    found = sources(LocalSearch().propose(context({"m.py": raw}, ("m.py", 2), failures=[failure])), "m.py")
    assert found
    assert not [source for source in found if "€".encode() in source]


@pytest.mark.parametrize(
    ("broken", "mended"),
    [
        ("def f(a)\n    return a\n", "def f(a):\n    return a\n"),
        ("def f(a):\n    return (a\n", "def f(a):\n    return (a)\n"),
        ("def f(a):\n    return a)\n", "def f(a):\n    return a\n"),
        ("def f(a):\n    if a = 1:\n        return 2\n", "def f(a):\n    if a == 1:\n        return 2\n"),
        ("def f(a):\n    x = [1 2]\n    return x\n", "def f(a):\n    x = [1, 2]\n    return x\n"),
        ("x = [\n    1\n    2,\n]\n", "x = [\n    1,\n    2,\n]\n"),
        ("def f(a):\n    return 'a\n", "def f(a):\n    return 'a'\n"),
        ("def f(a):\n    x = 1\n      y = 2\n    return x\n", "def f(a):\n    x = 1\n    y = 2\n    return x\n"),
        ("def f(a):\nreturn a\n", "def f(a):\n    return a\n"),
        ("def f(a):\n    retrun a\n", "def f(a):\n    return a\n"),
        ("if a:\n    x = 1\nelse if b:\n    x = 2\n", "if a:\n    x = 1\nelif b:\n    x = 2\n"),
        ("x = a && b\n", "x = a and b\n"),
        ("print 'x'\n", "print('x')\n"),
    ],
)
def test_a_file_that_does_not_parse_is_mended_as_text(broken, mended):
    """The usual slip at the line of the error is among the first dozen, and all that is proposed compiles."""
    found = sources(LocalSearch().propose(context({"m.py": broken}, ("m.py", 1))), "m.py")
    assert mended.encode() in found[:12]
    for source in found:
        compile(source, "m.py", "exec")
