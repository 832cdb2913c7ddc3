"""Tables in plain text."""

import pytest

from ledgerline.tables import column_widths, render, shorten


@pytest.mark.parametrize(
    ("text", "width", "expected"), [("paper", 5, "paper"), ("paper", 9, "paper"), ("envelopes", 5, "enve…"), ("ab", 1, "…")]
)
def test_shorten(text, width, expected):
    """Text that is too long ends in an ellipsis and fills the width exactly."""
    assert shorten(text, width) == expected


def test_column_widths():
    """The longest cell decides, up to the limit; short rows are allowed."""
    assert column_widths([["a", "bbb"], ["aaaa"]]) == [4, 3]
    assert column_widths([["x" * 50]]) == [40]
    assert column_widths([]) == []


def test_render():
    """Numbers stand to the right, and no line ends in spaces."""
    table = render(["item", "price"], [["paper", "25.00"], ["ink", "7.50"]], right=frozenset({1}))
    assert table.splitlines() == ["item   price", "-----  -----", "paper  25.00", "ink     7.50"]


def test_render_cuts_long_cells():
    """A cell over the limit is cut, so that every line keeps its length."""
    lines = render(["note"], [["y" * 60]]).splitlines()
    assert [len(line) for line in lines] == [4, 40, 40]
