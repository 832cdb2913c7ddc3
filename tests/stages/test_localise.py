"""Where the fault may be: tracebacks, coverage, messages, and what is left without them."""

import pytest

from pytest_noepicycle.domain.failure import Failure, Frame
from pytest_noepicycle.domain.guard import Territory
from pytest_noepicycle.domain.score import Baseline
from pytest_noepicycle.stages.localise import localise

SHOP = '''"""A shop."""
LIMIT = 10


def bulk(quantity):
    """Tell whether it is much."""
    if quantity > LIMIT:
        return "bulk"
    return "single"


def price(
    quantity,
    each,
):
    result = (
        quantity
        * each
    )
    return check(result)


def check(value):
    if value < 0:
        raise ValueError(value)
    return value
'''
TEXT = """def shout(text):
    return text.lower()
"""
TESTS = """from shop import bulk, price
import lib.text


def test_bulk():
    assert bulk(10) == "bulk"


def test_price():
    assert price(1, 2) == 3
"""
FILES = {"shop.py": SHOP, "lib/text.py": TEXT, "tests/test_shop.py": TESTS, "lib/__init__.py": ""}
BULK, PRICE, SHOUT, OTHER = (f"tests/test_shop.py::test_{name}" for name in ("bulk", "price", "shout", "other"))


def failed(test, *frames, exception="builtins.AssertionError", message="assert 1 == 2", phase="call", text=""):
    """Return a failure with frames as (path, line, function), outside in."""
    return Failure(test, phase, exception, message, tuple(Frame(*frame) for frame in frames), text)


def suspects(failures, coverage=None, passing=(), files=FILES, **facts):
    """Localise, with coverage as test → path → lines."""
    found = {test: {p: frozenset(n) for p, n in lines.items()} for test, lines in (coverage or {}).items()}
    raw = {path: text.encode() for path, text in files.items()}
    baseline = Baseline(tuple(f.test for f in failures), tuple(passing))
    territory = Territory(frozenset(files), **facts)
    return localise(failures, found, baseline, raw.get, territory, passing=frozenset(passing))


def places(found, count=None):
    """Return the first places as (path, line)."""
    return [(s.path, s.line) for s in found[:count]]


def test_the_innermost_frame_of_the_product_comes_first():
    """A crash names the place where it was raised, then those that led there; test and library frames do not count."""
    frames = [("tests/test_shop.py", 10, "test_price"), ("shop.py", 20, "price"), ("shop.py", 25, "check")]
    found = suspects([failed(PRICE, *frames, ("/usr/lib/re.py", 3, "f"), exception="builtins.ValueError")])
    assert places(found, 1) == [("shop.py", 25)]
    assert ("shop.py", 20) in places(found, 4)
    assert found[0].weight == 1.0
    assert "ValueError came from here, in `check`" in found[0].reason


def test_what_only_failing_tests_run_comes_before_what_passing_ones_share():
    """Coverage tells the guilty line from the innocent ones around it."""
    coverage = {BULK: {"shop.py": {7, 8}}, OTHER: {"shop.py": {7, 9}}}
    found = suspects([failed(BULK)], coverage, passing=[OTHER])
    assert places(found, 2) == [("shop.py", 8), ("shop.py", 7)]
    assert "1 of 1 failing tests" in found[0].reason


def test_a_passing_test_that_shares_more_speaks_louder():
    """A line cleared by a near test is less suspect than one cleared by a far test."""
    far = {"shop.py": {9, 16, 20, 24, 26}}
    near = {"shop.py": {7, 8}}
    coverage = {BULK: {"shop.py": {7, 8, 9}}, PRICE: far, OTHER: near}
    found = {s.line: s.weight for s in suspects([failed(BULK)], coverage, passing=[PRICE, OTHER])}
    assert found[9] > found[7]


def test_two_faults_each_get_their_share_of_the_top():
    """Failures with different code are ranked apart: both modules stand among the first three."""
    coverage = {
        BULK: {"shop.py": set(range(7, 27))},
        PRICE: {"shop.py": set(range(7, 27))},
        SHOUT: {"lib/text.py": {2}},
    }
    found = suspects([failed(BULK), failed(PRICE), failed(SHOUT)], coverage)
    assert {path for path, _ in places(found, 3)} == {"shop.py", "lib/text.py"}


def test_a_suspect_is_the_first_line_of_its_statement():
    """A statement over several lines is one suspect, and its docstring is none."""
    found = suspects([failed(PRICE)], {PRICE: {"shop.py": {6, 17, 18, 19}}})
    assert ("shop.py", 16) in places(found)
    assert not {6, 17, 18, 19} & {line for _, line in places(found)}


def test_signatures_and_constants_that_suspect_code_rests_on_are_suspect_too():
    """A line run by nobody but read by the failing code is a weaker suspect."""
    found = suspects([failed(BULK)], {BULK: {"shop.py": {7, 9}}})
    reasons = {s.line: s.reason for s in found}
    assert "sets `LIMIT`" in reasons[2]
    assert "signature of `bulk`" in reasons[5]
    assert {s.line: s.weight for s in found}[2] < found[0].weight


def test_a_function_that_the_test_names_comes_first():
    """Of two functions run alike, the one that the failing test calls is nearer to the fault."""
    found = suspects([failed(BULK)], {BULK: {"shop.py": {9, 26}}})
    assert places(found, 1) == [("shop.py", 9)]


@pytest.mark.parametrize(
    "text",
    [
        'E     File "/home/me/project/shop.py", line 5\nE   SyntaxError: expected',
        "shop.py:5: in <module>\n    def bulk(quantity)",
        "invalid syntax (shop.py, line 5)",
    ],
)
def test_a_syntax_error_names_its_line(text):
    """A file that does not parse is suspect where the error says."""
    files = {**FILES, "shop.py": SHOP.replace("def bulk(quantity):", "def bulk(quantity)")}
    failure = failed("tests/test_shop.py", exception="builtins.SyntaxError", message=text, phase="collect")
    found = suspects([failure], files=files)
    assert places(found, 1) == [("shop.py", 5)]
    assert "names this line" in found[0].reason


def test_a_name_that_cannot_be_imported_points_at_one_like_it():
    """The definition with a similar name, in what the test imports, is the first suspect."""
    message = "cannot import name 'bulky' from 'shop' (/home/me/shop.py)"
    found = suspects([failed("tests/test_shop.py", exception="builtins.ImportError", message=message, phase="collect")])
    assert places(found, 1) == [("shop.py", 5)]
    assert "`bulk` is like `bulky`" in found[0].reason


def test_without_coverage_the_imported_files_are_suspect():
    """Where nothing tells which lines ran, whole bodies are ranked, those first that the test names."""
    found = suspects([failed(BULK)])
    assert {path for path, _ in places(found)} == {"shop.py", "lib/text.py"}
    assert set(places(found, 3)) == {("shop.py", 7), ("shop.py", 8), ("shop.py", 9)}


def test_protected_files_are_never_suspect():
    """Tests, and what the user protects, are left out whatever ran in them."""
    frames = [("tests/test_shop.py", 10, "test_price"), ("shop.py", 19, "price")]
    coverage = {PRICE: {"tests/test_shop.py": {10}, "shop.py": {19}, "lib/text.py": {2}}}
    found = suspects([failed(PRICE, *frames)], coverage, protect=("shop.py",))
    assert {path for path, _ in places(found)} == {"lib/text.py"}


def test_the_order_does_not_depend_on_the_order_of_what_comes_in():
    """Sets and mappings in another order give the same ranks, and every suspect has a weight and a reason."""
    coverage = {BULK: {"shop.py": {7, 8, 9}, "lib/text.py": {2}}, OTHER: {"shop.py": {9, 7}}}
    once = suspects([failed(BULK)], coverage, passing=[OTHER, PRICE])
    again = suspects([failed(BULK)], dict(reversed(coverage.items())), passing=[PRICE, OTHER])
    assert once == again
    assert all(0 < s.weight <= 1 and s.reason for s in once)
    assert [s.weight for s in once] == sorted((s.weight for s in once), reverse=True)


def test_nothing_to_go_by_gives_no_suspect():
    """No failures, or failures that touch no product file, end in an empty answer."""
    assert suspects([]) == ()
    assert suspects([failed("tests/test_gone.py::test_x", ("/usr/lib/x.py", 1, "f"))]) == ()
