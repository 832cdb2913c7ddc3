"""What an import could have meant, read from the project's own modules."""

import pytest

from pytest_noepicycle.domain.failure import Failure
from pytest_noepicycle.rungs.search.exports import meant_modules, meant_names

FILES = {
    "src/shop/__init__.py": b"from .cart import Cart\n",
    "src/shop/cart.py": b"RATE = 3\nclass Item:\n    pass\ndef total(x):\n    inner = 1\n",
    "src/shop/broken.py": b"def (",
    "tests/test_cart.py": b"",
}


def failure(message):
    """Return a failure of a collection."""
    return [Failure("tests/test_cart.py", "collect", "ImportError", message)]


@pytest.mark.parametrize(
    ("message", "meant"),
    [
        ("cannot import name 'Itm' from 'shop.cart' (/x/shop/cart.py)", {"Itm": "Item"}),
        ("cannot import name 'totl' from 'shop.cart' (/x/shop/cart.py)", {"totl": "total"}),
        ("cannot import name 'RATES' from 'shop.cart' (/x/shop/cart.py)", {"RATES": "RATE"}),
        ("cannot import name 'Kart' from 'shop' (/x/shop/__init__.py)", {"Kart": "Cart"}),
        ("module 'shop.cart' has no attribute 'Itm'", {"Itm": "Item"}),
        ("cannot import name 'inner' from 'shop.cart'", {}),
        ("cannot import name 'x' from 'shop.broken'", {}),
        ("cannot import name 'loads' from 'json'", {}),
    ],
)
def test_a_name_is_looked_up_in_the_module_that_was_asked(message, meant):
    """Classes, functions, constants and what a package passes on; nothing inside a function."""
    assert meant_names(failure(message), frozenset(FILES), FILES.get) == meant


@pytest.mark.parametrize(
    ("message", "meant"),
    [
        ("No module named 'shop.crat'", {"crat": "cart"}),
        ("No module named 'shop.entirely_different'", {}),
        ("No module named 'elsewhere.cart'", {}),
    ],
)
def test_a_module_is_looked_up_in_its_package(message, meant):
    """Only modules of the same package are taken for it."""
    assert meant_modules(failure(message), frozenset(FILES)) == meant
