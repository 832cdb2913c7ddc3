"""How an edit fits its surroundings, and slips that were made more than once."""

import ast
from itertools import islice

import pytest

from pytest_noepicycle.domain.context import Context, Suspect
from pytest_noepicycle.domain.guard import Territory
from pytest_noepicycle.domain.patch import Patch
from pytest_noepicycle.domain.score import Baseline
from pytest_noepicycle.rungs.search import LocalSearch
from pytest_noepicycle.rungs.search.plausibility import plausibility
from pytest_noepicycle.rungs.search.scope import Scope
from pytest_noepicycle.rungs.search.source import Source


def judged(text, old, new):
    """Return how plausible it is to put ``new`` in the place of the last ``old`` in a source."""
    scope = Scope("m.py", Source.decode(text.encode()), ast.parse(text))
    start = text.rindex(old)
    inside = [n for n in ast.walk(scope.tree) if hasattr(n, "lineno") and scope.source.span(n)[0] <= start]
    around = [n for n in inside if scope.source.span(n)[1] >= start + len(old)]
    node = min(around, key=lambda n: scope.source.span(n)[1] - scope.source.span(n)[0])
    return plausibility(scope.swap(node, text[:start][scope.source.span(node)[0] :] + new), node, "x", scope)


@pytest.mark.parametrize(
    ("text", "old", "new", "expected"),
    [
        ("def f(a, b):\n    return a + b + a + b", "b", "a", 1.0),
        ("def f(a, b):\n    return a + b", "b", "2", 0.55),
        ("def f(a, b):\n    return a * 2 + a", "a", "b", 1.25),
        ("def f(a, b, c):\n    return g(a, b, c), a, b, c, a < b", "b", "a", 0.3),
        ("x = a", "a", "b", 1.0),
    ],
)
def test_what_an_edit_leaves_unread_or_doubles_counts(text, old, new, expected):
    """A variable that nothing reads any more, or the same thing twice, speaks against an edit."""
    assert judged(text, old, new) == pytest.approx(expected)


def proposals(text, line):
    """Return what the search makes of a file whose one suspect is a line."""
    files = {"m.py": text.encode()}
    context = Context(
        baseline=Baseline(("t.py::t",), ()),
        failures=(),
        suspects=(Suspect("m.py", line, 1.0, "given"),),
        best=Patch(),
        read=files.get,
        read_baseline=files.get,
        files=frozenset(files),
        territory=Territory(frozenset(files)),
        coverage={},
    )
    found = islice(LocalSearch(max_candidates=4000).propose(context), 4000)
    return {p.patch.read("m.py", files.get).decode(): p.detail["operator"] for p in found}


def test_equality_is_not_mended_by_another_comparison():
    """In `__eq__`, nothing is proposed that compares in another way."""
    text = "class A:\n    def __eq__(self, other):\n        return self.x == other.x\n"
    assert not [made for made in proposals(text, 3) if " >= " in made or " != " in made]


def test_a_slip_is_undone_in_all_its_places():
    """The same wrong number or name in two places is changed in both by one proposal."""
    made = proposals("def f(a, b):\n    if a > 7:\n        return a - 7\n    return b\n", 2)
    assert "def f(a, b):\n    if a > 8:\n        return a - 8\n    return b\n" in made


def test_two_small_slips_are_undone_together():
    """When single edits are used up, two that do not touch each other are proposed as one."""
    made = proposals("def f(a, b):\n    return a < 3 and b > 5\n", 2)
    wanted = "def f(a, b):\n    return a <= 3 and b < 5\n"
    assert made[wanted] == "two-places"
    operators = list(made.values())
    assert "two-places" not in operators[: operators.index("two-places")]
    assert set(operators[operators.index("two-places") :]) == {"two-places"}
