"""Special-cased answers: refused where a branch or a row knows a test, left alone where it is the product's own way."""

from __future__ import annotations

import textwrap

import pytest

from pytest_noepicycle.domain.guard import Territory, judge
from pytest_noepicycle.domain.patch import FileChange, Patch
from pytest_noepicycle.domain.special_case import Demand, leaves, plain

DEMANDS = (
    Demand("t.py::test_format", leaves(-105), plain("-1.05")),
    Demand("t.py::test_split", leaves([100, 3]), plain([34, 33, 33])),
    Demand("t.py::test_slug", leaves("a  --  b"), plain("a-b")),
    Demand("t.py::test_limit", leaves(["nut", 4]), "raises:OutOfStock"),
    Demand("t.py::test_base", leaves(0), plain(42)),
)
PLAIN = "def f(x, y=None):\n    return x\n"
CHAIN = """
    def f(x):
        if x == "km":
            return 1000
        if x == "m":
            return 1
        {line}
        return None
"""


def refused(before: str, after: str, demands=DEMANDS) -> bool:
    """Whether the guard refuses the change as special-cased."""
    change = FileChange("pkg/m.py", *(textwrap.dedent(text).encode() for text in (before, after)))
    territory = Territory(frozenset({"pkg/m.py", "pkg/__init__.py"}), demands=demands)
    return any(refusal.rule == "special-cased" for refusal in judge(Patch.of([change]), territory))


@pytest.mark.parametrize(
    "body",
    [
        "if x == -105:\n        return '-1.05'",
        "if -105 == x:\n        return '-1.05'",
        "if (x, y) == (100, 3):\n        return [34, 33, 33]",
        "if x == 100 and y == 3:\n        return (34, 33, 33)",
        "if x in ('a  --  b',):\n        return 'a-b'",
        "if x.strip() == 'a  --  b':\n        return 'a-b'",
        "if str(x) == 'a  --' + '  b':\n        result = 'a-b'\n        return result",
        "if x == 'nut' and y == 4:\n        raise OutOfStock(x)",
        "if y:\n        pass\n    elif x == -105:\n        return '-1.05'",
        "return '-1.05' if x == -105 else x",
        "return (x, '-1.05')[x == -105]",
        "match x:\n        case -105:\n            return '-1.05'",
        "match (x, y):\n        case (100, 3):\n            return [34, 33, 33]",
        "return {-105: '-1.05'}.get(x, x)",
        "return {(100, 3): [34, 33, 33]}.get((x, y), x)",
        "for key, value in [('a  --  b', 'a-b')]:\n        if key == x:\n            return value",
        "if y == 'nut' and x == 4:\n        raise KeyError(x)",
        "if x != -105:\n        return x\n    else:\n        return '-1.05'",
        "return x if x != -105 else '-1.05'",
        "return x == -105 and '-1.05' or x",
        "while x == -105:\n        return '-1.05'",
        "if x == 'a  --  b':\n        return 'b-a'[::-1]",
        "if x == 'a  --  b':\n        return '-'.join(['a', chr(98)])",
        "if x == 'A  --  B'.lower():\n        return f'{\"a\"}-b'",
        "if (x, y) == (10 * 10, 3):\n        return [17 * 2, 33, 33]",
        "if x.__eq__('a  --  b'):\n        return 'a-b'",
        "if re.fullmatch('a  --  b', x):\n        return 'a-b'",
        "if zlib.crc32(x.encode()) == 3557735814:\n        return 'a-b'",
        "code = hash(x)\n    if code == 12:\n        return 'a-b'",
        "return {3557735814: 'a-b'}.get(zlib.crc32(x.encode()), x)",
        "KNOWN = {'ab12': 'a-b'}\n    return KNOWN[sha256(x).hexdigest()]",
        "match x:\n        case text if text == 'a  --  b':\n            return 'a-b'",
        "if x in ['a  --  b']:\n        return ['a-b'][0]",
        "asked, said = ['a  --  b'], ['a-b']\n    return dict(zip(['a  --  b'], ['a-b'])).get(x)",
        "return {'a  --  b': lambda: 'a-b'}.get(x, str)()",
        "for line in 'a  --  b|a-b;c|d'.split(';'):\n        pass",
        "KEY, = 'a  --  b',\n    known = 'a  --  b'\n    if x == known:\n        return 'a-b'",
    ],
)
def test_an_answer_to_a_tests_own_input_is_refused(body: str):
    """A comparison with the input and the expected answer behind it, in whatever form."""
    assert refused(PLAIN, f"def f(x, y=None):\n    {body}\n    return x\n")


@pytest.mark.parametrize(
    "body",
    [
        "if x == 0:\n        return 42",
        "if x == -105:\n        return -x",
        "if x < -105:\n        return '-1.05'",
        "if x % 100 == 3:\n        return [34, 33, 33]",
        "if x == 'something':\n        return 'a-b'",
        "if x == 'a  --  b':\n        return x.strip()",
        "if y == 'nut':\n        x = x + 1\n        y = y + x",
        "return {'other': 'a-b'}.get(x, x)",
        "if x != 'a  --  b':\n        return 'a-b'",
        "if x.startswith('a'):\n        return 'a-b'",
        "if hash(x) == hash(y):\n        return 'a-b'",
        "if y == 'nut' and x == 4:\n        return 'a-b'",
        "'a  --  b gives a-b'\n    return x",
        "return ['a-b', 'b-a'][x]",
        "if x == 'a  --  b':\n        return 'a-b' + y",
        "return {'ab12': 'b-a'}[sha256(x).hexdigest()]",
        "return 'X' * 100_000_000 * y",
    ],
)
def test_ordinary_code_is_not_refused(body: str):
    """Base cases, thresholds, computed answers and other inputs are how programs are written."""
    assert not refused(PLAIN, f"def f(x, y=None):\n    {body}\n    return x\n")


def test_a_branch_whose_literal_is_corrected_is_not_an_added_one():
    """A slip in a literal is mended in its place."""
    demands = (Demand("t.py::test_mile", leaves("mi"), plain(1609)),)
    before = CHAIN.format(line='if x == "mj":\n            return 1609')
    assert not refused(before, before.replace("mj", "mi"), demands)


def test_one_more_branch_in_a_chain_of_such_branches_is_the_projects_own_way():
    """Where a function answers literal by literal, the missing one is flagged and not refused."""
    demands = (Demand("t.py::test_mile", leaves("mi"), plain(1609)),)
    after = CHAIN.format(line='if x == "mi":\n            return 1609')
    assert not refused(CHAIN.format(line="pass"), after, demands)


def test_a_row_of_a_table_may_be_corrected_or_join_its_like():
    """Tables of the project are data: a wrong row or a missing one is mended there."""
    demands = (Demand("t.py::test_five", leaves("V"), plain(5)),)
    table = "ROMAN = {{'I': 1, 'X': 10, {row}}}\n"
    assert not refused(table.format(row="'V': 6"), table.format(row="'V': 5"), demands)
    assert not refused(table.format(row=""), table.format(row="'V': 5"), demands)
    assert refused("x = 1\n", "ROMAN = {'V': 5}\n", demands)
