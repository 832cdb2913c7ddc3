"""Roman numerals, both ways."""

import pytest

from roman import from_roman, to_roman


@pytest.mark.parametrize(("number", "text"), [(1, "I"), (4, "IV"), (49, "XLIX"), (1994, "MCMXCIV"), (3999, "MMMCMXCIX")])
def test_to_roman(number, text):
    """Numbers are written with the subtractive forms."""
    assert to_roman(number) == text


@pytest.mark.parametrize("number", [0, -1, 4000])
def test_out_of_range(number):
    """What has no numeral is refused."""
    with pytest.raises(ValueError, match="no Roman numeral"):
        to_roman(number)


@pytest.mark.parametrize(("number", "text"), [(1, "I"), (4, "IV"), (49, "XLIX"), (1994, "MCMXCIV"), (3999, "MMMCMXCIX")])
def test_from_roman(number, text):
    """Numerals are read as they are written."""
    assert from_roman(text) == number


@pytest.mark.parametrize("text", ["", "IIII", "IC", "VX", "abc"])
def test_malformed_numerals(text):
    """What nobody would write is refused."""
    with pytest.raises(ValueError, match="Roman"):
        from_roman(text)
