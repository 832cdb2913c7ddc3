"""Roman numerals, for the volumes of the yearbook."""

from __future__ import annotations

NUMERALS = (
    (1000, "M"),
    (900, "CM"),
    (500, "D"),
    (400, "CD"),
    (100, "C"),
    (90, "XC"),
    (50, "L"),
    (40, "XL"),
    (10, "X"),
    (9, "IX"),
    (5, "V"),
    (4, "IV"),
    (1, "I"),
)


def to_roman(number: int) -> str:
    """Return a number from 1 to 3999 in Roman numerals.

    :raises ValueError: where the number lies outside.
    """
    if not 1 <= number <= 3999:
        raise ValueError(f"{number} has no Roman numeral")
    text = ""
    for value, numeral in NUMERALS:
        count, number = divmod(number, value)
        text += numeral * count
    return text


def from_roman(text: str) -> int:
    """Return the number that a Roman numeral stands for.

    :raises ValueError: where it is not written as :func:`to_roman` writes it.
    """
    raise NotImplementedError
