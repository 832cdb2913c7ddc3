"""A project whose tests need a service of this machine: told what to set, and mended once it is set."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from mending import TOTAL, Project, mend
from shop import Shop, open_shop

pytestmark = pytest.mark.slow

TEST = """
import socket

from till import total


def price(name):
    with socket.create_connection(("127.0.0.1", {port}), timeout=20) as shop:
        shop.sendall(name.encode() + b"\\n")
        return int(shop.makefile().readline())


def test_total():
    assert total(price("apple"), 5) == 15
    assert total(price("pear"), 2) == 10
"""


@pytest.fixture(scope="module")
def shop() -> Iterator[Shop]:
    """The service, for plain pytest and for the sandbox."""
    with open_shop() as shop:
        yield shop


def files(shop: Shop, ini: str = "") -> dict[str, str | bytes]:
    """The project's files."""
    return {
        "till.py": TOTAL,
        "test_till.py": TEST.format(port=shop.port),
        "pytest.ini": f"[pytest]\nnoepi_reruns = 1\n{ini}",
    }


def test_without_the_key_the_run_says_what_to_set(story, namespaces, shop):
    """Nothing is spent on a failure that only the sandbox has; the key is named with the port."""
    told = story(files(shop)).fix("--noepi-dry-run")
    assert f"set noepi_network = {shop.port}" in told.text
    assert told.result["tests"]["environment"] == ["test_till.py::test_total"]
    assert told.result["sandbox"]["network"] is False


@pytest.mark.parametrize("kind", [pytest.param("docker", marks=pytest.mark.docker), "process"])
def test_with_the_key_the_fault_is_mended(story, request, kind, shop):
    """The service is reached from every box, from those of the proof as well, and the record says which it was."""
    request.getfixturevalue("engine" if kind == "docker" else "namespaces")
    project = Project(files(shop, f"noepi_network = localhost:{shop.port}\n"), "till.py")
    told = mend(story, project, sandbox=kind)
    assert told.result["sandbox"]["network"] is True
    assert told.result["sandbox"]["services"] == [f"127.0.0.1:{shop.port}"]
    assert f"can reach 127.0.0.1:{shop.port}" in told.text


def test_a_bad_value_is_a_usage_error(story, shop):
    """The sentence comes before anything is done."""
    told = story(files(shop, "noepi_network = example.com:80\n")).fix()
    assert told.status == 4, told.text
    assert "noepi_network: ['example.com:80'] is not a list of at most 8 services" in told.text
