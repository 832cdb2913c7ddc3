"""Code on trial that is hostile, or merely broken, does no harm: neither to this machine nor to the next trial."""

from __future__ import annotations

import os
import socket
import tempfile
import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest

from pytest_noepicycle.domain.trial import End, Status

pytestmark = pytest.mark.slow

ATTACK = "test_attack.py::test_it"
PRODUCT = {"m.py": "def f():\n    return 1\n", "test_m.py": "from m import f\n\n\ndef test_f():\n    assert f() == 1\n"}
SECRET = ("canary", "4711", "of-this-test")


def attack(body: str) -> dict[str, str]:
    """A test with that body; the words of the secret are there, but never joined."""
    words = f"import os, sys, time, signal, socket, subprocess, stat\nSECRET = '-'.join({SECRET!r})\n"
    return {"test_attack.py": f"{words}\n\ndef test_it(tmp_path):\n{textwrap.indent(textwrap.dedent(body), '    ')}"}


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """A home with secrets of every kind, above and in the project."""
    home, secret = tmp_path_factory.mktemp("home"), "-".join(SECRET)
    for name in (".netrc", ".aws/credentials", "project/.git/config", "project/.env", "neighbour/settings.py"):
        path = home / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(secret)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HOME", str(home))
        patch.setenv("SOME_TOKEN", secret)
        patch.setenv("ANTHROPIC_API_KEY", secret)
        yield home


@pytest.fixture(scope="module")
def box(kind, home, make_project) -> Iterator[object]:
    """One box for all attacks: each must leave it as good as new."""
    box = make_project(PRODUCT, at=home / "project").open(kind)
    yield box
    box.close()


@pytest.fixture(autouse=True)
def _unharmed(box, trial):
    """After each attack an honest trial in the same box passes, and sees no process but the worker and itself."""
    yield
    alone = attack("""
        others = [pid for pid in os.listdir('/proc') if pid.isdigit() and int(pid) not in (1, os.getpid())]
        assert others == []
        assert not os.listdir('/dev/shm')
        assert os.listdir(os.environ['HOME']) == []
    """)
    report = trial(box, ("test_m.py::test_f", ATTACK), overlay=alone)
    assert report.end is End.COMPLETE, report.why
    assert report.passing() == {"test_m.py::test_f", ATTACK}, report.output


def test_no_secret_can_be_read(box, trial):
    """Neither the environment, nor home, nor the project, nor another process shows a planted secret."""
    body = """
        found = [name for name, value in os.environ.items() if SECRET in value]
        skipped = ('/proc', '/sys', '/usr', sys.prefix, sys.base_prefix)
        for folder, folders, files in os.walk('/'):
            folders[:] = [name for name in folders if os.path.join(folder, name) not in skipped]
            for path in (os.path.join(folder, name) for name in files):
                info = os.lstat(path)
                if stat.S_ISREG(info.st_mode) and info.st_size < 1 << 20 and os.access(path, os.R_OK):
                    found += [path for _ in '1' if SECRET in open(path, errors='replace').read()]
        for pid in filter(str.isdigit, os.listdir('/proc')):
            for name in ('environ', 'cmdline'):
                try:
                    found += [pid for _ in '1' if SECRET in open(f'/proc/{pid}/{name}', errors='replace').read()]
                except OSError:
                    pass
        assert found == []
    """
    report = trial(box, (ATTACK,), overlay=attack(body))
    assert report.passing() == {ATTACK}, report.output


def test_no_socket_of_the_machine_is_there(box, trial):
    """No engine's socket, nor any other, can be found in the whole box."""
    body = """
        found = []
        for folder, folders, files in os.walk('/'):
            skipped = ('/proc', '/sys', '/usr', sys.prefix, sys.base_prefix)
            folders[:] = [name for name in folders if os.path.join(folder, name) not in skipped]
            paths = [os.path.join(folder, name) for name in files]
            found += [path for path in paths if stat.S_ISSOCK(os.lstat(path).st_mode)]
        assert found == []
        assert not os.path.exists('/var/run/docker.sock')
    """
    report = trial(box, (ATTACK,), overlay=attack(body))
    assert report.passing() == {ATTACK}, report.output


def test_the_network_is_out_of_reach(box, trial):
    """A listener on this machine gets no connection and no datagram; loopback within the box works."""
    with socket.create_server(("127.0.0.1", 0)) as server, socket.socket(type=socket.SOCK_DGRAM) as datagrams:
        datagrams.bind(("127.0.0.1", 0))
        ports = server.getsockname()[1], datagrams.getsockname()[1]
        body = f"""
            for address in ('127.0.0.1', '10.255.255.254'):
                try:
                    socket.create_connection((address, {ports[0]}), timeout=2).close()
                    raise SystemError('connected')
                except OSError:
                    pass
            try:
                socket.socket(type=socket.SOCK_DGRAM).sendto(b'x', ('127.0.0.1', {ports[1]}))
            except OSError:
                pass
            with socket.create_server(('127.0.0.1', 0)) as own:
                socket.create_connection(own.getsockname(), timeout=5).close()
        """
        report = trial(box, (ATTACK,), overlay=attack(body))
        server.setblocking(False)
        datagrams.setblocking(False)
        with pytest.raises(BlockingIOError):
            server.accept()
        with pytest.raises(BlockingIOError):
            datagrams.recv(1)
    assert report.passing() == {ATTACK}, report.output


def test_nothing_but_scratch_can_be_written(box, trial):
    """Not the product, its tests, what steers them, pytest itself, our own half, the interpreter, nor the system."""
    body = """
        import pytest, sysconfig
        inside = '/priv/noepi/_noepi_inside/'
        assert os.path.exists(inside + 'worker.py')
        places = ['m.py', 'test_m.py', 'conftest.py', 'new.py', 'test_attack.py', inside + 'worker.py',
                  inside + 'new.py', pytest.__file__, sysconfig.get_path('purelib') + '/new.pth', sys.prefix + '/new',
                  sys.executable, '/usr/new', '/etc/passwd', '/etc/new', '/new', '/dev/new', '/priv/new']
        written = []
        for place in places:
            for act in (lambda: open(place, 'ab'), lambda: os.chmod(place, 0o777), lambda: os.unlink(place),
                        lambda: os.mkdir(place + '.d'), lambda: os.symlink('/', place + '.l')):
                try:
                    act()
                    written.append(place)
                except OSError:
                    pass
        assert written == []
        (tmp_path / 'scratch').write_text('may be written')
    """
    report = trial(box, (ATTACK,), overlay=attack(body))
    assert report.passing() == {ATTACK}, report.output


def test_no_way_back_to_power(box, trial):
    """A child holds no capability, gets none through setuid programs, and can neither mount nor see through PID 1."""
    body = """
        status = dict(line.split(':', 1) for line in open('/proc/self/status'))
        assert int(status['CapEff'], 16) == int(status['CapPrm'], 16) == int(status['CapInh'], 16) == 0
        assert status['NoNewPrivs'].strip() == '1'
        import ctypes
        libc = ctypes.CDLL(None, use_errno=True)
        assert libc.mount(b'none', str(tmp_path).encode(), b'tmpfs', 0, None) == -1
        assert libc.ptrace(16, 1, None, None) == -1 and libc.ptrace(16, os.getppid(), None, None) == -1
        for path in ('/proc/1/fd', '/proc/1/map_files', '/proc/1/cwd/'):
            try:
                raise SystemError(os.listdir(path))
            except OSError:
                pass
        for path in ('/proc/1/environ', '/proc/1/root/', '/proc/1/mem'):
            assert not os.access(path, os.R_OK) or not os.listdir(path), path
        for number in (signal.SIGKILL, signal.SIGINT, signal.SIGTERM, signal.SIGSTOP):
            try:
                os.kill(1, number)
            except OSError:
                pass
    """
    report = trial(box, (ATTACK,), overlay=attack(body))
    assert report.passing() == {ATTACK}, report.output


@pytest.mark.parametrize(
    ("name", "body"),
    [
        ("loop", "while True: pass"),
        ("stubborn", "[signal.signal(n, signal.SIG_IGN) for n in (1, 2, 3, 13, 14, 15)]\nwhile True: time.sleep(1)"),
        ("stopped", "os.kill(os.getpid(), signal.SIGSTOP)"),
    ],
)
def test_a_test_that_never_ends_is_ended(box, trial, name, body):
    """It times out, whatever signals it ignores, and is named."""
    report = trial(box, (ATTACK,), overlay=attack(body), test_seconds=1.0)
    assert (report.end, report.hung) == (End.TIMEOUT, ATTACK)
    assert report.outcomes[ATTACK].status is Status.TIMEOUT


@pytest.mark.parametrize(
    ("name", "body"),
    [
        ("daemon", "if os.fork() == 0:\n    os.setsid()\n    if os.fork() == 0: time.sleep(60)\n    os._exit(0)"),
        ("disk", "with open(tmp_path / 'f', 'wb') as f:\n    for _ in range(2000): f.write(bytes(1 << 20))"),
        ("shared memory", "with open('/dev/shm/f', 'wb') as f:\n    for _ in range(2000): f.write(bytes(1 << 20))"),
        ("many files", "[open(tmp_path / str(n), 'w').close() for n in range(3000)]"),
        ("closed folder", "os.mkdir(tmp_path / 'x')\nopen(tmp_path / 'x' / 'y', 'w')\nos.chmod(tmp_path / 'x', 0)"),
        ("output", "for _ in range(400): os.write(1, bytes(1 << 16)); os.write(2, bytes(1 << 16))"),
        ("memory", "held = []\nfor _ in range(64): held.append(bytearray(os.urandom(1 << 10)) * (32 << 10))"),
        ("kill all", "os.kill(-1, signal.SIGKILL)"),
        ("exit", "os._exit(0)"),
        (
            "fork bomb",
            "for _ in range(600):\n    try:\n        if os.fork() == 0: time.sleep(15); os._exit(0)\n"
            "    except OSError: break\nelse:\n    raise SystemError('nothing stopped it')",
        ),
    ],
)
def test_whatever_it_takes_it_gives_back(box, trial, name, body):
    """Daemons, floods and bombs end with their trial; the fixture above then finds the box unharmed."""
    report = trial(box, (ATTACK,), overlay=attack(body))
    assert report.end in (End.COMPLETE, End.DIED), report.why
    assert len(report.output) < 64 * 1024
    if name in ("disk", "shared memory", "memory", "kill all", "exit"):
        assert report.passing() == frozenset(), report.output


BOMBS = {
    "threads": """
        import threading
        for _ in range(4):
            threading.Thread(target=lambda: [0 for _ in iter(int, 1)], daemon=True).start()
        while True: pass
    """,
    "forks": """
        import contextlib
        while True:
            with contextlib.suppress(OSError): os.fork()
    """,
    "memory": """
        held = []
        while True:
            try: held.append(bytearray(os.urandom(1 << 10)) * 4096)
            except MemoryError: pass
    """,
    "disk": """
        while True:
            try: (tmp_path / str(time.monotonic_ns())).write_bytes(bytes(1 << 20))
            except OSError: pass
    """,
    "output": """
        while True: os.write(OUTPUT, bytes(1 << 16))
    """,
    "daemons": """
        while True:
            try:
                if os.fork() == 0 and (os.setsid() or os.fork() == 0):
                    [signal.signal(number, signal.SIG_IGN) for number in (1, 2, 3, 13, 15)]
                    while True: os.write(OUTPUT, b'x'); time.sleep(0.1)
            except OSError: pass
    """,
}
# Pytest captures a test's own standard output; the pipe behind it is among what it has put aside.
PIPE = """
    def is_pipe(number):
        try: return stat.S_ISFIFO(os.fstat(number).st_mode)
        except OSError: return False
    OUTPUT = next(number for number in range(4, 64) if is_pipe(number))
"""


@pytest.mark.parametrize("name", BOMBS)
def test_a_bomb_that_never_ends_is_ended(box, trial, name):
    """It goes on until its time is over; then all of it is gone, long before anybody would lose patience."""
    body = textwrap.dedent(PIPE) + textwrap.dedent(BOMBS[name])
    report = trial(box, (ATTACK,), overlay=attack(body), test_seconds=2.0)
    ended = [(End.TIMEOUT, ATTACK)]
    if name == "memory":
        ended.append((End.DIED, None))  # the kernel may end it for its memory before its time is over
    assert (report.end, report.hung) in ended, (report.why, report.output)
    assert (report.seconds < 30.0, len(report.output) < 64 * 1024) == (True, True)


def test_a_gigabyte_of_output_is_read_and_forgotten(box, trial):
    """Its head and tail are kept; who writes it is not held up, and passes."""
    body = textwrap.dedent(PIPE) + "\nfor _ in range(1 << 14): os.write(OUTPUT, bytes(1 << 16))"
    report = trial(box, (ATTACK,), overlay=attack(body), test_seconds=60.0, seconds=90.0)
    assert report.passing() == {ATTACK}, (report.why, report.output[-2000:])
    assert "bytes left out" in report.output
    assert len(report.output) < 64 * 1024


def test_a_closed_box_leaves_nothing(kind, make_project, trial, offspring, until, tmp_path, monkeypatch):
    """Neither a process nor a container is there once it is closed, also when a trial was killed in it."""
    project, before = make_project(PRODUCT), offspring(os.getpid())
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    box = project.open(kind)
    mine = offspring(os.getpid()) - before
    trial(box, (ATTACK,), overlay=attack("while True: pass"), test_seconds=0.5)
    box.close()
    box.close()
    assert until(lambda: not any(Path(f"/proc/{pid}").exists() for pid in mine))
    assert list(tmp_path.iterdir()) == []
