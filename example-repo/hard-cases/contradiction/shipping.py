"""Shipping zones and what a parcel costs."""

from __future__ import annotations

NEIGHBOURS = frozenset({"BE", "DE", "NL"})
PRICES = {1: 495, 2: 895, 3: 1950}


def zone(country: str, home: str = "LU") -> int:
    """Return the zone of a country: 1 at home, 2 for neighbours, 3 for the rest."""
    if country == home:
        return 1
    return 2 if country in NEIGHBOURS else 3


def price(country: str) -> int:
    """Return the price of a parcel in cents."""
    return PRICES[zone(country)]
