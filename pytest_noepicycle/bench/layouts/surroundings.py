"""Layouts by what tests need around them: services, collectors and plugins of their own, a framework."""

from __future__ import annotations

from pytest_noepicycle.bench.layouts.layout import SHOP, Layout, tests_of

SURROUNDINGS = (
    Layout(
        "a service on loopback",
        {
            "shop.py": SHOP,
            "test_shop.py": """
                import http.server
                import threading
                import urllib.request
                import pytest
                from shop import label, total


                class Till(http.server.BaseHTTPRequestHandler):
                    def do_GET(self):
                        price, count = self.path.strip("/").split("/")
                        self.send_response(200)
                        self.end_headers()
                        self.wfile.write(str(total(int(price), int(count))).encode())

                    def log_message(self, *words):
                        pass


                @pytest.fixture(scope="module")
                def till():
                    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Till) as server:
                        threading.Thread(target=server.serve_forever, daemon=True).start()
                        yield f"http://localhost:{server.server_port}"
                        server.shutdown()


                @pytest.mark.parametrize(("price", "count"), [(3, 5), (7, 2)])
                def test_total(till, price, count):
                    with urllib.request.urlopen(f"{till}/{price}/{count}", timeout=10) as answer:
                        assert int(answer.read()) == price * count


                def test_nothing(till):
                    with urllib.request.urlopen(f"{till}/0/0", timeout=10) as answer:
                        assert answer.read() == b"0"


                def test_label():
                    assert label("a") == "A"
            """,
        },
        "shop.py",
    ),
    Layout(
        "a collector of its own",
        {
            "shop.py": SHOP,
            "conftest.py": """
                import pytest
                import shop


                def pytest_collect_file(parent, file_path):
                    if file_path.suffix == ".yaml" and file_path.name.startswith("test"):
                        return Sheet.from_parent(parent, path=file_path)


                class Sheet(pytest.File):
                    def collect(self):
                        for line in self.path.read_text().splitlines():
                            name, _, sums = line.partition(": ")
                            yield Row.from_parent(self, name=name, sums=sums)


                class Row(pytest.Item):
                    def __init__(self, *, sums, **more):
                        super().__init__(**more)
                        self.sums = [int(number) for number in sums.split()]

                    def runtest(self):
                        price, count, wanted = self.sums
                        if shop.total(price, count) != wanted:
                            raise Wrong(self.name, wanted)

                    def repr_failure(self, excinfo):
                        return f"wrong: {excinfo.value.args}"

                    def reportinfo(self):
                        return self.path, 0, f"row {self.name}"


                class Wrong(Exception):
                    pass
            """,
            "tests/test_sums.yaml": "bread: 3 5 15\nmilk: 7 2 14\nnothing: 0 0 0\n",
            "tests/test_shop.py": tests_of("shop"),
        },
        "shop.py",
    ),
    Layout(
        "plugins of the project",
        {
            "shop.py": SHOP,
            "conftest.py": "pytest_plugins = ['fixtures.money', 'fixtures.hooks']\n",
            "fixtures/__init__.py": "",
            "fixtures/money.py": "import pytest\n\n\n@pytest.fixture\ndef price():\n    return 3\n",
            "fixtures/hooks.py": """
                def pytest_addoption(parser):
                    parser.addoption("--currency", default="EUR")
                    parser.addini("shop", "which shop")


                def pytest_configure(config):
                    config.addinivalue_line("markers", "till: at the till")


                def pytest_generate_tests(metafunc):
                    if "count" in metafunc.fixturenames:
                        metafunc.parametrize("count", [2, 5])
            """,
            "pytest.ini": "[pytest]\naddopts = --strict-markers\nshop = corner\n",
            "test_shop.py": """
                import pytest
                from shop import label, total


                @pytest.mark.till
                def test_total(price, count):
                    assert total(price, count) == 3 * count


                def test_shop(pytestconfig):
                    assert label(pytestconfig.getini("shop")) == "Corner"


                def test_currency(pytestconfig):
                    assert pytestconfig.getoption("currency") == "GBP"
            """,
        },
        "shop.py",
        args=("--currency", "GBP"),
    ),
    Layout(
        "django",
        {
            "pytest.ini": "[pytest]\nDJANGO_SETTINGS_MODULE = site_of.settings\npythonpath = .\n",
            "site_of/__init__.py": "",
            "site_of/settings.py": """
                SECRET_KEY = "not a secret"
                INSTALLED_APPS = ["shop"]
                DATABASES = {"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": "db.sqlite3"}}
                DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
                ROOT_URLCONF = "site_of.urls"
                USE_TZ = True
            """,
            "site_of/urls.py": """
                from django.http import HttpResponse
                from django.urls import path
                from shop.sums import total

                def page(request, price, count):
                    return HttpResponse(total(price, count))


                urlpatterns = [path("<int:price>/<int:count>", page)]
            """,
            "shop/__init__.py": "",
            "shop/sums.py": SHOP,
            "shop/models.py": """
                from django.db import models
                from shop.sums import total


                class Line(models.Model):
                    price = models.IntegerField()
                    count = models.IntegerField()

                    @property
                    def total(self):
                        return total(self.price, self.count)
            """,
            "shop/migrations/__init__.py": "",
            "shop/migrations/0001_initial.py": """
                from django.db import migrations, models


                class Migration(migrations.Migration):
                    initial = True
                    operations = [
                        migrations.CreateModel(
                            "Line",
                            [
                                ("id", models.BigAutoField(primary_key=True)),
                                ("price", models.IntegerField()),
                                ("count", models.IntegerField()),
                            ],
                        )
                    ]
            """,
            "tests/test_shop.py": """
                import pytest
                from django.test import TestCase
                from shop.models import Line


                @pytest.mark.django_db
                def test_line():
                    Line.objects.create(price=3, count=5)
                    assert Line.objects.get().total == 15


                def test_page(client):
                    assert client.get("/7/2").content == b"14"


                class LineTest(TestCase):
                    def test_none(self):
                        self.assertEqual(Line.objects.count(), 0)


                def test_no_database():
                    assert str(Line(price=1, count=1)).startswith("Line")
            """,
        },
        "shop/sums.py",
        plugins=("django",),
    ),
)
