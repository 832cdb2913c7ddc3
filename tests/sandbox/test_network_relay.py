"""The relay by itself: between two loopback addresses of this machine."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import closing

import pytest
from shop import Shop, open_shop

from pytest_noepicycle.sandbox.relay import Relay


@pytest.fixture
def shop() -> Iterator[Shop]:
    """The service behind the relay."""
    with open_shop() as shop:
        yield shop


@pytest.fixture
def relayed(shop) -> Iterator[tuple[Relay, Callable[[], socket.socket]]]:
    """A relay of three connections at once before the shop, at the same port of another loopback address."""
    listener = socket.create_server(("127.0.0.2", shop.port))
    relay = Relay([listener], 3)
    yield relay, lambda: socket.create_connection(("127.0.0.2", shop.port), timeout=20)
    relay.close()
    relay.close()
    relay.cut()
    assert listener.fileno() == -1
    assert "noepi-services" not in [thread.name for thread in threading.enumerate()]


def answer(customer: socket.socket, name: bytes) -> bytes:
    """Ask for a price."""
    customer.sendall(name + b"\n")
    return customer.recv(100)


def test_a_relay_lets_the_next_in_when_one_goes(relayed, shop):
    """The fourth waits until one of three has left."""
    _, visit = relayed
    with visit() as first, visit() as second, visit() as third, visit() as fourth:
        assert [answer(one, b"apple") for one in (first, second, third)] == [b"3\n"] * 3
        fourth.sendall(b"pear\n")
        second.close()
        assert fourth.recv(100) == b"5\n"
    assert shop.most == 3


def test_a_relay_hands_on_the_end_of_what_is_sent(relayed):
    """An end that has said all it has to say still gets its answer, all of it, and then the other's end."""
    _, visit = relayed
    with visit() as one:
        sender = threading.Thread(target=lambda: (one.sendall(b"apple\n" * 50_000), one.shutdown(socket.SHUT_WR)))
        sender.start()
        with one.makefile("rb") as said:
            assert said.read() == b"3\n" * 50_000
        sender.join()


def test_a_relay_that_is_cut_serves_the_next(relayed):
    """All that was open or waiting is closed, and who comes afterwards is served."""
    relay, visit = relayed
    old = [visit() for _ in range(8)]
    assert answer(old[0], b"apple") == b"3\n"
    relay.cut()
    assert [one.recv(1) for one in old] == [b""] * 8
    for one in old:
        one.close()
    with visit() as new:
        assert answer(new, b"pear") == b"5\n"


def test_a_service_that_goes_is_a_connection_that_is_reset():
    """Where nothing answers any more, the box does not mistake it for an orderly end."""
    with socket.create_server(("127.0.0.1", 0)) as gone:
        port = gone.getsockname()[1]
    relay = Relay([socket.create_server(("127.0.0.2", port))], 3)
    # The reset may come while the connection is still being made.
    reset, service = pytest.raises(ConnectionResetError), ("127.0.0.2", port)
    with closing(relay), reset, socket.create_connection(service, timeout=20) as one:
        one.recv(1)
