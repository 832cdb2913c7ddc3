"""Amounts: read, written, shared out."""

import pytest

from ledgerline.money import format_amount, parse_amount, percentage, split


@pytest.mark.parametrize(
    ("text", "cents"),
    [("0", 0), ("12", 1200), ("12.5", 1250), ("-3.07", -307), ("1,234.50", 123450), (" 7.99 ", 799), ("1234567", 123456700)],
)
def test_parse_amount(text, cents):
    """What people write is read as cents."""
    assert parse_amount(text) == cents


@pytest.mark.parametrize("text", ["", "twelve", "1.234", "1,23", "--2"])
def test_parse_amount_refuses(text):
    """What is no amount is refused by name."""
    with pytest.raises(ValueError, match="not an amount"):
        parse_amount(text)


def test_format_amount():
    """Thousands are separated, cents always have two digits."""
    assert format_amount(123450, "EUR") == "1,234.50 EUR"
    assert format_amount(-7) == "-0.07"
    assert format_amount(0) == "0.00"


@pytest.mark.parametrize(
    ("cents", "basis_points", "share"), [(1000, 2100, 210), (50, 100, 1), (49, 100, 0), (-50, 100, -1), (0, 2100, 0)]
)
def test_percentage_rounds_half_away_from_zero(cents, basis_points, share):
    """Half a cent counts as one, on either side of zero."""
    assert percentage(cents, basis_points) == share


def test_split_loses_no_cent():
    """Three equal parts of a hundred add up to a hundred, the first takes the odd cent."""
    assert split(100, [1, 1, 1]) == [34, 33, 33]
    assert split(101, [1, 1, 1]) == [34, 34, 33]


def test_split_by_weights():
    """Parts follow their weights; a part without weight gets nothing."""
    assert split(1000, [3, 0, 1]) == [750, 0, 250]


def test_split_refuses_weights_of_nothing():
    """Without any weight there is nothing to divide by."""
    with pytest.raises(ValueError, match="more than zero"):
        split(100, [0, 0])
