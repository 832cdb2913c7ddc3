"""Layouts by how tests are written."""

from __future__ import annotations

from pytest_noepicycle.bench.layouts.layout import SHOP, Layout

SUITES = (
    Layout(
        "unittest classes",
        {
            "shop.py": SHOP,
            "test_shop.py": """
                import unittest
                import shop


                class Totals(unittest.TestCase):
                    @classmethod
                    def setUpClass(cls):
                        cls.price = 3

                    def test_total(self):
                        self.assertEqual(shop.total(self.price, 5), 15)

                    def test_many(self):
                        for count in (2, 3, 7):
                            with self.subTest(count=count):
                                self.assertEqual(shop.total(4, count), 4 * count)

                    def test_label(self):
                        self.assertEqual(shop.label("a"), "A")

                    @unittest.skip("not here")
                    def test_elsewhere(self):
                        raise ValueError

                    @unittest.expectedFailure
                    def test_wish(self):
                        self.assertEqual(shop.label("a b"), "a b")
            """,
        },
        "shop.py",
    ),
    Layout(
        "parametrised",
        {
            "shop.py": SHOP,
            "test_shop.py": """
                import pytest
                from shop import label, total

                IDS = ["two words", "a::b", "[x]", "größe-商店", "a/b.py::c", "%d", "", "tab\\there", "-k"]


                @pytest.fixture(scope="module", params=["slow", "quick"])
                def pace(request):
                    return request.param


                @pytest.mark.parametrize("count", range(3, 12), ids=IDS)
                @pytest.mark.parametrize("price", [pytest.param(4, id="[a] :: b")])
                class TestTotal:
                    def test_total(self, price, count):
                        assert total(price, count) == price * count


                def test_label(pace):
                    assert label(pace) in ("Slow", "Quick")


                @pytest.mark.parametrize("nothing", [])
                def test_nothing(nothing):
                    pass
            """,
        },
        "shop.py",
    ),
    Layout(
        "fixtures of a class",
        {
            "shop.py": SHOP,
            "test_shop.py": """
                import pytest
                import shop


                @pytest.fixture(scope="class")
                def basket(request):
                    request.cls.made = getattr(request.cls, "made", 0) + 1
                    yield []


                @pytest.mark.usefixtures("basket")
                class TestBasket:
                    def setup_method(self):
                        self.price = 6

                    def test_total(self, basket):
                        assert shop.total(self.price, 4) == 24

                    def test_made_once(self):
                        assert self.made == 1

                    class TestInner:
                        def setup_method(self):  # pytest would call the outer class's on the inner one
                            self.name = "a"

                        def test_label(self):
                            assert shop.label(self.name) == "A"
            """,
        },
        "shop.py",
    ),
    *(
        Layout(
            f"async, {mode} mode",
            {
                "pytest.ini": f"[pytest]\nasyncio_mode = {mode}\n",
                "shop.py": SHOP.replace("def total", "async def total"),
                "test_shop.py": f"""
                    import asyncio
                    import pytest
                    from shop import label, total

                    {mark}
                    async def test_total():
                        await asyncio.sleep(0)
                        assert await total(3, 5) == 15

                    {mark}
                    async def test_other():
                        assert await asyncio.sleep(0, 1) == 1


                    def test_label():
                        assert label("a") == "A"
                """,
            },
            "shop.py",
            plugins=("asyncio",),
        )
        for mode, mark in (("strict", "@pytest.mark.asyncio"), ("auto", ""))
    ),
    Layout(
        "doctests of modules",
        {
            "pytest.ini": "[pytest]\naddopts = --doctest-modules\ndoctest_optionflags = ELLIPSIS\n",
            "shop.py": '''
                def total(price, count):
                    """Return the sum.

                    >>> total(3, 5)
                    15
                    >>> total(7, 2)
                    14
                    """
                    return price + count


                class Basket:
                    """A basket.

                    >>> Basket()
                    <shop.Basket ...>
                    """

                    def count(self):
                        """Return how many.

                        >>> Basket().count()
                        0
                        """
                        return 0
            ''',
            "tests/test_shop.py": "from shop import Basket\n\n\ndef test_count():\n    assert Basket().count() == 0\n",
            "tests/conftest.py": "",
        },
        "shop.py",
    ),
    Layout(
        "doctests in text files",
        {
            "pytest.ini": "[pytest]\naddopts = --doctest-glob=*.rst --doctest-glob=*.md\npythonpath = .\n",
            "shop.py": SHOP,
            "docs/total.rst": """
                Totals
                ======

                >>> from shop import total
                >>> total(3, 5)
                15
                >>> total(7, 2)
                14
            """,
            "docs/label.md": ">>> from shop import label\n>>> label('a')\n'A'\n",
            "test_shop.py": "from shop import label\n\n\ndef test_label():\n    assert label('b') == 'B'\n",
        },
        "shop.py",
    ),
    Layout(
        "hypothesis",
        {
            "shop.py": SHOP,
            "test_shop.py": """
                from hypothesis import given, strategies
                from shop import label, total


                @given(strategies.integers(), strategies.integers())
                def test_total(price, count):
                    assert total(price, count) == price * count


                @given(strategies.just("a"))
                def test_label(name):
                    assert label(name) == "A"


                def test_example():
                    assert total(3, 5) == 15
            """,
        },
        "shop.py",
        plugins=("hypothesispytest",),
    ),
    Layout(
        "mock",
        {
            "shop.py": "import os\n\n\n" + SHOP + "\n\ndef owner():\n    return label(os.environ['OWNER'])\n",
            "test_shop.py": """
                import shop


                def test_total(mocker):
                    seen = mocker.spy(shop, "total")
                    assert shop.total(3, 5) == 15
                    assert seen.call_count == 1


                def test_owner(mocker):
                    mocker.patch.dict("os.environ", {"OWNER": "ada"})
                    assert shop.owner() == "Ada"


                def test_stub(mocker):
                    mocker.patch("shop.label", return_value="x")
                    assert shop.label("y") == "x"
            """,
        },
        "shop.py",
        plugins=("pytest_mock",),
    ),
)
