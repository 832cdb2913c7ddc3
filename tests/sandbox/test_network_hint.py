"""The hint of a refused connection: it names the key, with the port that the failure or its source tells."""

from __future__ import annotations

import pytest

from pytest_noepicycle.domain.failure import Failure, Frame
from pytest_noepicycle.stages.environment import environment
from pytest_noepicycle.stages.scene import Surroundings

REFUSED = "[Errno 111] Connection refused"


@pytest.mark.parametrize(
    ("exception", "message", "line", "port"),
    [
        (
            "OperationalError",
            'connection to server at "127.0.0.1", port 5432 failed: Connection refused',
            "x()",
            "5432",
        ),
        ("redis.ConnectionError", "Error 111 connecting to localhost:6379. Connection refused.", "x()", "6379"),
        ("requests.ConnectionError", f"HTTPConnectionPool(host='localhost', port=8080): {REFUSED}", "x()", "8080"),
        ("OperationalError", f"Can't connect to MySQL server on 'localhost' ({REFUSED})", "connect(port=3306)", "3306"),
        ("ConnectionRefusedError", REFUSED, "create_connection(('127.0.0.1', 9042))", "9042"),
        ("ConnectionRefusedError", REFUSED, 'connect("http://[::1]:8983/solr")', "8983"),
        ("ConnectionRefusedError", REFUSED, "connect(environ.get('DB_PORT', '5433'))", "5433"),
        ("ConnectionRefusedError", REFUSED, "report(12, import_20)", "PORT"),
        ("ConnectionRefusedError", REFUSED, "connect('localhost:99999')", "PORT"),
        ("ConnectionRefusedError", REFUSED, "connect()", "PORT"),
    ],
)
def test_the_port_is_named(exception, message, line, port):
    """As different libraries tell it; a number that is no port of this machine is not taken for one."""
    files = {"test_t.py": b"", "pkg/m.py": line.encode()}
    steps = (Frame("test_t.py", 1, "test_a"), Frame("pkg/m.py", 1, "f"))
    failure = Failure("test_t.py::test_a", "call", exception, message, steps, "")
    finding = environment(failure, Surroundings(frozenset(), frozenset(files), files.get))
    assert finding.cause == "service"
    assert finding.hint.endswith(f"set noepi_network = {port}")
