"""The other ways to confine a process: by Landlock on a copy, as an ordinary user, and not at all."""

from __future__ import annotations

import json
import os
import shutil
import struct
import subprocess
import sys
import sysconfig
import tempfile
from dataclasses import replace
from pathlib import Path

import pytest

import pytest_noepicycle
from pytest_noepicycle.domain.settings import Settings
from pytest_noepicycle.domain.trial import End
from pytest_noepicycle.errors import SandboxError
from pytest_noepicycle.inside import confine, landlock
from pytest_noepicycle.sandbox.process import ProcessSandbox, Way

SETTINGS = Settings(memory=512 * 1024**2, processes=48)
FILES = {"m.py": "def f():\n    return 1\n", "test_m.py": "from m import f\n\n\ndef test_f():\n    assert f() == 2\n"}
SHUT = """
import os, socket, subprocess, sys, pytest
import m

@pytest.mark.parametrize("path", [{secret!r}, "/etc/shadow", "/proc/1/environ"])
def test_reads_nothing(path):
    with pytest.raises(OSError): open(path).read()

@pytest.mark.parametrize("path", [{secret!r}, m.__file__, __file__ + "x", "/etc/x", "/dev/shm/x", {outside!r}])
def test_writes_nothing(path):
    with pytest.raises(OSError): open(path, "a")

def test_reaches_nothing():
    for family in (socket.AF_INET, socket.AF_INET6, socket.AF_UNIX, socket.AF_NETLINK):
        with pytest.raises(OSError): socket.socket(family)
    a, b = socket.socketpair()
    a.close(), b.close()

def test_scratch(tmp_path): (tmp_path / "x").write_text("x")

def test_programs(): assert subprocess.run([sys.executable, "-c", "1"]).returncode == 0

def test_power():
    status = dict(line.split(":", 1) for line in open("/proc/self/status"))
    assert int(status["CapEff"], 16) == 0 and status["NoNewPrivs"].strip() == "1"
"""


@pytest.fixture
def landlock_box(make_project, tmp_path, monkeypatch):
    """A box that Landlock confines, on a copy in a temporary folder of its own."""
    if not landlock.version() or not landlock.filters_sockets():
        pytest.skip("this kernel speaks no Landlock, or no filter is known for this processor")
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    project = make_project(FILES)
    box = ProcessSandbox(project.session, SETTINGS, way=Way(confine.LANDLOCK)).open(project.tree)
    yield box
    box.close()
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith("noepi-box-")] == []


@pytest.mark.parametrize("cold", [False, True])
def test_landlock_confines_a_copy(landlock_box, trial, tmp_path, cold):
    """Nothing else can be read or written, no socket be had, and the copy is what is tested."""
    secret = tmp_path / "secret"
    secret.write_text("canary")
    attack = SHUT.format(secret=str(secret), outside=str(tmp_path / "new"))
    red = trial(landlock_box, ("test_m.py::test_f",), cold=cold)
    report = trial(landlock_box, overlay={"m.py": "def f():\n    return 2\n", "test_shut.py": attack}, cold=cold)
    assert red.passing() == frozenset()
    assert report.end is End.COMPLETE, report.why
    assert len(report.passing()) == len(report.outcomes) == 14, report.output
    assert list(tmp_path.glob("new")) == []


def test_landlock_boxes_end_what_they_started(landlock_box, trial):
    """A daemon of one trial is gone in the next, and a loop ends at its time."""
    daemon = "import os, time\ndef test_it():\n    if os.fork() == 0:\n        os.setsid(); os.fork(); time.sleep(60)\n"
    trial(landlock_box, ("test_d.py::test_it",), overlay={"test_d.py": daemon})
    loop = trial(
        landlock_box, ("test_l.py::test_it",), overlay={"test_l.py": "def test_it():\n while 1: pass\n"}, test_seconds=1
    )
    green = trial(landlock_box, ("test_m.py::test_f",), overlay={"m.py": "def f():\n    return 2\n"})
    assert loop.end is End.TIMEOUT
    assert green.passing() == {"test_m.py::test_f"}, green.output


def test_an_editable_install_is_refused_on_a_copy(make_project, tmp_path, monkeypatch):
    """It would import the original; the error says so, and no folder is left behind."""
    project = make_project(FILES)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    python = replace(project.session.interpreter, source_roots=(f"{project.session.rootdir}/m.py",))
    sandbox = ProcessSandbox(replace(project.session, interpreter=python), SETTINGS, way=Way(confine.LANDLOCK))
    with pytest.raises(SandboxError, match="editable install"):
        sandbox.open(project.tree)
    assert list(tmp_path.iterdir()) == []


def test_without_any_confinement_it_says_so(make_project, trial):
    """The tests run on a copy, and the note does not pretend."""
    project = make_project(FILES)
    sandbox = ProcessSandbox(project.session, SETTINGS, way=Way(confine.NOTHING, "a reason"))
    box = sandbox.open(project.tree)
    try:
        report = trial(box, overlay={"m.py": "def f():\n    return 2\n"})
    finally:
        box.close()
    assert (sandbox.confined, report.passing()) == (False, {"test_m.py::test_f"})
    assert "confines nothing" in sandbox.limits_note
    assert "(a reason)" in sandbox.limits_note


@pytest.mark.parametrize(("machine", "socket_call"), [("x86_64", 41), ("aarch64", 198)])
def test_the_filter_forbids_sockets_alone(machine, socket_call):
    """Read as the kernel reads it: sockets and io_uring fail, a signal to everybody too, all else passes."""
    arch = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}[machine]
    program = landlock.socket_filter(machine, keep_signals_in=True)
    kill = {"x86_64": 62, "aarch64": 129}[machine]
    verdicts = [
        execute(program, arch, call, argument)
        for call, argument in ((socket_call, 2), (425, 0), (kill, 0xFFFFFFFF), (kill, 5), (0, 0), (socket_call + 1, 0))
    ]
    assert verdicts == [0x5000D, 0x50026, 0x5000D, 0x7FFF0000, 0x7FFF0000, 0x7FFF0000]
    assert execute(program, 0x40000003, socket_call, 0) == 0x80000000
    if machine == "x86_64":
        assert execute(program, arch, 0x40000000 | socket_call, 0) == 0x5000D


def execute(program, arch, call, argument):
    """Run a filter on one system call."""
    data = struct.pack("IIQQ", call, arch, 0, argument)
    held, at = 0, 0
    while True:
        code, yes, no, value = program[at]
        at += 1
        if code == 0x20:
            held = struct.unpack_from("I", data, value)[0]
        elif code == 0x06:
            return value
        else:
            at += yes if (held == value if code == 0x15 else held >= value) else no


ORDINARY = """
import json, os, sys, importlib.util
from pathlib import Path
spec = importlib.util.spec_from_file_location("shared", sys.argv[1])
shared = importlib.util.module_from_spec(spec)
sys.modules["shared"] = shared
spec.loader.exec_module(shared)
from dataclasses import replace
python = replace(shared.this_interpreter(), sys_path=tuple(path for path in sys.path if path and path != sys.argv[3]))
project = shared.write_project(Path(sys.argv[2]) / "project", json.loads(sys.argv[4]), python)
sandbox = project.sandbox("process")
told = {"way": sandbox.way.name, "because": sandbox.way.because}
if not sandbox.way.because:
    box = sandbox.open(project.tree)
    for cold in (False, True):
        report = shared.run_trial(box, cold=cold)
        told[str(cold)] = {name: outcome.status.value for name, outcome in report.outcomes.items()}
        told["output"] = report.output + report.why
    box.close()
project.tree.close()
print(json.dumps(told))
"""
HELD = """
import os, signal, subprocess, pytest

def test_tree_is_read_only():
    for path in ("m.py", "new.py", "test_held.py"):
        with pytest.raises(OSError): open(path, "a")
        with pytest.raises(OSError): os.chmod(path, 0o777)

def test_worker_is_out_of_reach():
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGKILL, signal.SIGSTOP): os.kill(1, number)
    for path in ("/proc/1/environ", "/proc/1/mem", "/proc/1/root/etc/passwd"):
        with pytest.raises(OSError): open(path).read()

def test_no_power():
    status = dict(line.split(":", 1) for line in open("/proc/self/status"))
    assert [int(status[name], 16) for name in ("CapEff", "CapPrm", "CapBnd", "CapAmb")] == [0, 0, 0, 0]
    assert subprocess.run(["unshare", "--user", "true"], stderr=subprocess.DEVNULL).returncode != 0
    assert subprocess.run(["mount", "-o", "remount,rw", os.getcwd()], stderr=subprocess.DEVNULL).returncode != 0

def test_processes_are_bounded():
    for _ in range(400):
        try:
            if os.fork() == 0: signal.pause()
        except OSError: return
    raise SystemError("nothing stopped it")

def test_scratch(tmp_path): (tmp_path / "x").write_text("x")
"""


def environment_of(program: Path, place: Path, version: str) -> str:
    """A virtual environment by hand, because the distribution may not ship what makes one; it borrows our packages."""
    packages = place / f"lib/python{version}/site-packages"
    packages.mkdir(parents=True)
    (place / "bin").mkdir()
    (place / "bin/python").symlink_to(program)
    (place / "pyvenv.cfg").write_text(f"home = {program.parent}\n")
    (packages / "borrowed.pth").write_text(sysconfig.get_path("purelib"))
    return str(place / "bin/python")


def test_an_ordinary_user_is_confined_as_well(request):
    """With a user namespace of its own the tree is read-only to the tests, though they have the worker's user."""
    if os.geteuid() != 0:
        pytest.skip("not root: every other test of the process sandbox is this one")
    version = f"{sys.version_info[0]}.{sys.version_info[1]}"
    program = Path(f"/usr/bin/python{version}")
    if not program.exists():
        pytest.skip(f"no interpreter of version {version} that another user can run")
    # Not in pytest's own folder, whose parents another user may not pass.
    folder = Path(tempfile.mkdtemp(prefix="noepi-ordinary-"))
    request.addfinalizer(lambda: shutil.rmtree(folder))
    os.chown(folder, 65534, 65534)
    python = environment_of(program, folder / "venv", version)
    repository = str(Path(pytest_noepicycle.__file__).parent.parent)
    shared = str(Path(__file__).with_name("conftest.py"))
    arguments = [shared, str(folder), repository, json.dumps({"m.py": "", "test_held.py": HELD})]
    said = subprocess.run(
        [python, "-B", "-c", ORDINARY, *arguments],
        env={"PYTHONPATH": repository, "PATH": os.defpath, "HOME": str(folder), "TMPDIR": str(folder)},
        user=65534,
        group=65534,
        extra_groups=[],
        capture_output=True,
        text=True,
        timeout=120,
        cwd="/",
    )
    assert said.returncode == 0, said.stderr
    told = json.loads(said.stdout)
    if told["because"]:
        pytest.skip(told["because"])
    assert told["way"] == confine.NAMESPACES
    names = ("tree_is_read_only", "worker_is_out_of_reach", "no_power", "processes_are_bounded", "scratch")
    wanted = {f"test_held.py::test_{name}": "passed" for name in names}
    assert told["False"] == wanted, told["output"]
    assert told["True"] == wanted, told["output"]
