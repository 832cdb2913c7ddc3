"""Shipping zones."""

from shipping import price, zone


def test_home():
    """Parcels that stay in the country are in the first zone."""
    assert zone("LU") == 1


def test_dutch_parcels_go_to_the_second_zone():
    """The Netherlands count as a neighbour."""
    assert zone("NL") == 2


def test_dutch_parcels_go_to_the_third_zone():
    """The Netherlands have no border with Luxembourg."""
    assert zone("NL") == 3


def test_far_away():
    """The rest of the world is dearest."""
    assert price("NZ") == 1950
