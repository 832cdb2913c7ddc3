"""Services on this machine's loopback that ``noepi_network`` names: reached from a box, and nothing beside them."""

from __future__ import annotations

import socket
import tempfile
import threading
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from shop import Shop, open_shop

from pytest_noepicycle.domain.settings import Settings
from pytest_noepicycle.domain.trial import End
from pytest_noepicycle.errors import SandboxError
from pytest_noepicycle.inside import confine
from pytest_noepicycle.sandbox.process import ProcessSandbox, Way
from pytest_noepicycle.sandbox.services import MOST_CONNECTIONS

pytestmark = pytest.mark.slow

SETTINGS = Settings(memory=512 * 1024**2, processes=48, workers=2)
ASK = """
import socket

def price(name):
    with socket.create_connection(("127.0.0.1", {port}), timeout=20) as shop:
        shop.sendall(name.encode() + b"\\n")
        return int(shop.makefile().readline())
"""
TEST = "from shop import price\n\ndef test_price():\n    assert price('apple') == 3\n"


@pytest.fixture(scope="module")
def shop() -> Iterator[Shop]:
    """The service that boxes may reach."""
    with open_shop() as shop:
        yield shop


def traces() -> tuple[list[str], list[str]]:
    """What a box with services could leave on this side: threads, and folders."""
    threads = [thread.name for thread in threading.enumerate() if thread.name.startswith("noepi")]
    folders = [path.name for path in Path(tempfile.gettempdir()).glob("noepi-door-*")]
    return threads, folders


@pytest.fixture(scope="module")
def silent() -> int:
    """A port at which nothing answers."""
    with socket.create_server(("127.0.0.1", 0)) as gone:
        return gone.getsockname()[1]


@pytest.fixture(scope="module")
def box(kind, make_project, shop, silent) -> Iterator[object]:
    """One box for all trials, from which the shop can be reached; another service that it may reach is down."""
    project = make_project({"shop.py": ASK.format(port=shop.port), "test_shop.py": TEST})
    sandbox = project.sandbox(kind, replace(SETTINGS, network=(shop.port, silent)))
    assert sandbox.services == (f"127.0.0.1:{shop.port}",)
    assert f"can reach 127.0.0.1:{shop.port} (noepi_network)" in sandbox.limits_note
    assert f"Nothing answers at 127.0.0.1:{silent} (noepi_network)" in sandbox.limits_note
    with closing(sandbox.open(project.tree)) as box:
        yield box


@pytest.mark.parametrize("cold", [False, True])
def test_a_service_that_is_named_answers(box, trial, cold):
    """The test in the box meets what it would meet outside."""
    report = trial(box, cold=cold)
    assert report.passing() == {"test_shop.py::test_price"}, report.output


HOSTILE = """
import errno, os, signal, socket, pytest
PORT = {port}

@pytest.mark.parametrize("port", [port for port in ({others}) if port != PORT])
def test_no_other_port(port):
    for host in ("127.0.0.1", "::1", "0.0.0.0"):
        with pytest.raises(OSError): socket.create_connection((host, port), timeout=5)

def test_what_is_down_is_refused_as_outside():
    with pytest.raises(ConnectionRefusedError): socket.create_connection(("127.0.0.1", {silent}), timeout=5)

def test_no_other_machine():
    for address in (("192.0.2.1", PORT), ("172.17.0.1", PORT), ("8.8.8.8", 53)):
        with pytest.raises(OSError): socket.create_connection(address, timeout=2)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as gram, pytest.raises(OSError):
        gram.sendto(b"x", ("8.8.8.8", 53))

@pytest.mark.parametrize("option", [socket.SO_REUSEADDR, socket.SO_REUSEPORT])
def test_no_one_takes_its_place(option):
    for host in ("127.0.0.1", "0.0.0.0"):
        with socket.socket() as own:
            own.setsockopt(socket.SOL_SOCKET, option, 1)
            with pytest.raises(OSError) as refused: (own.bind((host, PORT)), own.listen())
            assert refused.value.errno == errno.EADDRINUSE

def test_the_door_is_shut():
    doors = [os.path.join(at, name) for at, _, names in os.walk("/priv") for name in names if name == "door"]
    assert doors == []

def test_kills_what_it_can():
    if os.fork() == 0:
        os.setsid()
        for _ in range(3): os.fork()
        signal.pause()
    for pid in (pid for pid in map(int, filter(str.isdigit, os.listdir("/proc"))) if pid != os.getpid()):
        try: os.kill(pid, signal.SIGKILL)
        except OSError: pass
"""


def test_nothing_else_can_be_reached_or_replaced(box, trial, shop, silent):
    """Another service of this machine, other machines, the port itself: all stay out of reach of hostile code."""
    with socket.create_server(("127.0.0.1", 0)) as other:
        others = ", ".join(map(str, (other.getsockname()[1], shop.port + 1, 22, 2375)))
        hostile = HOSTILE.format(port=shop.port, others=others, silent=silent)
        report = trial(box, overlay={"test_hostile.py": hostile})
    assert len(report.outcomes) == len(report.passing()) == 11, report.output
    assert trial(box).passing() == {"test_shop.py::test_price"}


BOMB = """
import socket, time

def test_bomb():
    mine = []
    for _ in range(300):
        one = socket.socket()
        one.setblocking(False)
        one.connect_ex(("127.0.0.1", {port}))
        mine.append(one)
    time.sleep(60)
"""


def test_a_bomb_of_connections_is_bounded_and_gone(box, trial, shop, until):
    """Never more than so many at once reach the service, and the next trial finds none of them in its way."""
    shop.most = 0
    bomb = trial(box, ("test_bomb.py::test_bomb",), overlay={"test_bomb.py": BOMB.format(port=shop.port)}, seconds=1.0)
    assert bomb.end is End.TIMEOUT
    assert shop.most == MOST_CONNECTIONS
    assert trial(box).passing() == {"test_shop.py::test_price"}
    assert until(lambda: shop.now == 0)
    assert shop.most == MOST_CONNECTIONS


def test_a_box_that_is_closed_leaves_nothing(kind, make_project, shop, until):
    """No thread, no folder, no socket; whether it is closed once or twice."""
    project = make_project({"test_it.py": ""})
    sandbox = project.sandbox(kind, replace(SETTINGS, network=(shop.port,)))
    assert sandbox.services
    before, files = traces(), len(list(Path("/proc/self/fd").iterdir()))
    box = sandbox.open(project.tree)
    assert traces()[0] == [*before[0], "noepi-services"]
    box.close()
    box.close()
    assert traces() == before
    assert until(lambda: len(list(Path("/proc/self/fd").iterdir())) <= files)


def test_ways_without_a_network_of_their_own_say_so(make_project):
    """Landlock cannot open a port of this machine alone, so it opens none; where nothing is shut, none is named."""
    project = make_project({"m.py": ""})
    settings = replace(SETTINGS, network=(5432,))
    guarded = ProcessSandbox(project.session, settings, way=Way(confine.LANDLOCK, "a reason"))
    assert "noepi_network cannot be had" in guarded.limits_note
    with pytest.raises(SandboxError, match="noepi_network cannot be had") as refused:
        guarded.open(project.tree)
    assert "--noepi-sandbox docker" in refused.value.hint
    bare = ProcessSandbox(project.session, settings, way=Way(confine.NOTHING))
    assert (bare.services, guarded.services) == ((), ())
