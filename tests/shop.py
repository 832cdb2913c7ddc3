"""A service on loopback for tests that need one: a price list."""

from __future__ import annotations

import socketserver
import threading
from collections.abc import Iterator
from contextlib import contextmanager

PRICES = {"apple": 3, "pear": 5}


class Shop(socketserver.ThreadingTCPServer):
    """A price list on loopback: a name and a newline, answered with a number; it knows how many asked at once."""

    daemon_threads, request_queue_size = True, 256

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Counter)
        self.port = self.server_address[1]
        self.lock, self.now, self.most = threading.Lock(), 0, 0

    def count(self, change: int) -> None:
        """Count who comes and goes."""
        with self.lock:
            self.now += change
            self.most = max(self.most, self.now)


class Counter(socketserver.StreamRequestHandler):
    """One customer."""

    def handle(self) -> None:
        """Answer until the customer goes."""
        self.server.count(1)
        try:
            for line in self.rfile:
                self.wfile.write(b"%d\n" % PRICES.get(line.decode().strip(), 0))
        except OSError:
            return
        finally:
            self.server.count(-1)


@contextmanager
def open_shop() -> Iterator[Shop]:
    """A shop at a free port, until the end of the block."""
    with Shop() as shop:
        thread = threading.Thread(target=shop.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            yield shop
        finally:
            shop.shutdown()
            thread.join()
