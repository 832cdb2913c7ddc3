"""Amounts of money as whole cents: parsing, formatting, rounding and splitting."""

from __future__ import annotations

import re

_AMOUNT = re.compile(r"(?P<sign>-?)(?P<whole>\d{1,3}(?:,\d{3})*|\d+)(?:\.(?P<cents>\d{1,2}))?")


def parse_amount(text: str) -> int:
    """Return the cents that ``text`` names, for example ``-1,234.50``.

    :raises ValueError: where it is no amount.
    """
    match = _AMOUNT.fullmatch(text.strip())
    if match is None:
        raise ValueError(f"not an amount: {text!r}")
    whole = int(match["whole"].replace(",", ""))
    cents = int((match["cents"] or "").ljust(2, "0"))
    total = whole * 100 + cents
    return -total if match["sign"] else total


def format_amount(cents: int, currency: str = "") -> str:
    """Return cents as text with thousands separated, for example ``1,234.50 EUR``."""
    sign = "-" if cents < 0 else ""
    whole, rest = divmod(abs(cents), 100)
    text = f"{sign}{whole:,}.{rest:02d}"
    return f"{text} {currency}" if currency else text


def percentage(cents: int, basis_points: int) -> int:
    """Return a share of an amount, rounded half away from zero; 100 basis points are one per cent."""
    share, rest = divmod(abs(cents) * basis_points, 10_000)
    if rest >= 5_000:
        share += 1
    return share if cents >= 0 else -share


def split(cents: int, weights: list[int]) -> list[int]:
    """Divide an amount by weights so that no cent is lost; the first parts take what is left over.

    :raises ValueError: where the weights do not add up to something positive.
    """
    total = sum(weights)
    if total <= 0:
        raise ValueError("the weights must add up to more than zero")
    parts = [cents * weight // total for weight in weights]
    left_over = cents - sum(parts)
    for index in range(left_over):
        parts[index] += 1
    return parts
