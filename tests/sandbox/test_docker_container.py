"""A container's confinement, word for word, and what the engine made of it."""

from __future__ import annotations

import io
import os
import socket
import struct
import tarfile
import time

import pytest

from pytest_noepicycle.domain.settings import Settings
from pytest_noepicycle.errors import EngineUnavailable, SandboxError
from pytest_noepicycle.sandbox import skeleton
from pytest_noepicycle.sandbox.attached import AttachedChannel
from pytest_noepicycle.sandbox.choice import choose
from pytest_noepicycle.sandbox.container import boot_command, host_config, inside_tar
from pytest_noepicycle.sandbox.docker import LABEL
from pytest_noepicycle.sandbox.mirror import Mirror
from pytest_noepicycle.sandbox.process import ProcessSandbox
from pytest_noepicycle.sandbox.surroundings import MIB, Space
from pytest_noepicycle.sandbox.wire import ChannelClosed

SETTINGS = Settings(memory=512 * MIB, processes=48)


def test_every_flag_is_as_promised(tmp_path):
    """No network, no capability for the tests, nothing writable but sized memory, limits on all, gone at its end."""
    (tmp_path / ".git").mkdir()
    (tmp_path / ".env").write_text("")
    masks = (str(tmp_path / ".env"), str(tmp_path / ".git"))
    mirror = Mirror("/home/u/p", ("/opt/py", "/usr", str(tmp_path)), masks=masks)
    config = host_config(mirror, SETTINGS, Space(64 * MIB, 32 * MIB), "/tmp")
    mounts, labels = config.pop("Mounts"), config["SecurityOpt"][1:]
    assert config == {
        "NetworkMode": "none",
        "ReadonlyRootfs": True,
        "Privileged": False,
        "CapDrop": ["ALL"],
        "CapAdd": ["CHOWN", "DAC_OVERRIDE", "FOWNER", "KILL", "SETGID", "SETUID"],
        "SecurityOpt": ["no-new-privileges", *labels],
        "PidsLimit": 56,
        "Memory": 512 * MIB,
        "MemorySwap": 512 * MIB,
        "ShmSize": 64 * MIB,
        "IpcMode": "private",
        "Ulimits": [{"Name": "core", "Soft": 0, "Hard": 0}, {"Name": "nofile", "Soft": 1024, "Hard": 1024}],
        "LogConfig": {"Type": "none"},
        "AutoRemove": True,
        "Init": False,
        "Tmpfs": {
            "/home/u/p": f"exec,nosuid,nodev,mode=755,size={64 * MIB}",
            "/tmp": f"exec,nosuid,nodev,mode=1777,size={32 * MIB}",
            "/priv/noepi": f"nosuid,nodev,mode=755,size={8 * MIB}",
            masks[1]: "ro,nosuid,nodev,mode=000,size=4k",
        },
    }
    assert labels in ([], ["label=disable"])
    assert [(m["Source"], m["Target"]) for m in mounts] == [
        *((path, path) for path in mirror.mounts),
        ("/dev/null", masks[0]),
    ]
    assert all(m["Type"] == "bind" and m["ReadOnly"] for m in mounts)


@pytest.mark.docker
def test_the_engine_took_every_flag(engine, make_project):
    """A running box, inspected: root serves, nothing of the environment leaked, no privilege, no port, no log."""
    import docker

    client = docker.from_env(timeout=10)
    box = make_project({"m.py": ""}).open("docker", SETTINGS)
    try:
        [found] = client.api.containers(filters={"label": f"{LABEL}={os.getpid()}", "status": "running"})
        facts = client.api.inspect_container(found["Id"])
    finally:
        box.close()
    host, own = facts["HostConfig"], facts["Config"]
    assert facts["Name"].startswith("/noepi-")
    assert (own["User"], own["Hostname"], own["StdinOnce"], own["Tty"]) == ("0:0", "sandbox", True, False)
    assert (host["NetworkMode"], host["ReadonlyRootfs"], host["Privileged"]) == ("none", True, False)
    assert (host["CapDrop"], host["PidsLimit"], host["Memory"], host["MemorySwap"]) == (
        ["ALL"],
        56,
        512 * MIB,
        512 * MIB,
    )
    assert (host["AutoRemove"], host["LogConfig"]["Type"], host["Binds"]) == (True, "none", None)
    assert not any(mount["RW"] for mount in facts["Mounts"] if mount["Type"] == "bind")
    assert not any("sock" in mount["Source"] for mount in facts["Mounts"])
    assert client.api.containers(all=True, filters={"label": f"{LABEL}={os.getpid()}"}) == []
    client.close()


def test_the_empty_image_is_always_the_same():
    """Its name is its content: it is made once, and again only when the machine's links change."""
    links = {"/bin": "usr/bin", "/home/u/link": "/data"}
    one, two = (skeleton.image_tar(links, skeleton.accounts()) for _ in range(2))
    other = skeleton.image_tar({"/bin": "usr/bin"}, skeleton.accounts())
    assert skeleton.digest(one) == skeleton.digest(two) != skeleton.digest(other)
    with tarfile.open(fileobj=io.BytesIO(one)) as tar:
        members = {member.name: member for member in tar.getmembers()}
        passwd = tar.extractfile("etc/passwd").read().decode()
    assert members["home/u/link"].linkname == "/data"
    assert members["home/u"].isdir()
    assert members["tmp"].mode == 0o1777
    assert [line.split(":")[2] for line in passwd.splitlines()] == ["0", "65532"]


def test_the_half_inside_is_sent_whole():
    """The container reads exactly that many bytes, and finds the package, owned by root, writable by nobody."""
    half = inside_tar()
    with tarfile.open(fileobj=io.BytesIO(half)) as tar:
        members = tar.getmembers()
    assert {"./_noepi_inside/worker.py", "./_noepi_inside/frames.py"} <= {member.name for member in members}
    assert {(member.uid, member.gid) for member in members} == {(0, 0)}
    assert not any(member.mode & 0o022 for member in members)
    assert str(len(half)) in boot_command("/python", len(half))


def piece(kind: int, content: bytes) -> bytes:
    """A piece of the engine's stream."""
    return struct.pack(">BxxxL", kind, len(content)) + content


def test_two_streams_are_told_apart():
    """Words and complaints come interleaved and cut anywhere; complaints are kept for the error message."""
    ours, theirs = socket.socketpair()
    removed = []
    channel = AttachedChannel(ours, lambda: removed.append(1))
    raw = piece(1, b"wo") + piece(2, b"oh ") + piece(1, b"rds") + piece(2, b"no")
    for byte in raw:
        theirs.send(bytes([byte]))
    said = b""
    while len(said) < 5:
        said += channel.receive(4, time.monotonic() + 5)
    theirs.close()
    with pytest.raises(ChannelClosed, match="ended"):
        channel.receive(1, time.monotonic() + 5)
    assert (said, channel.reason) == (b"words", "oh no")
    channel.kill()
    channel.kill()
    assert removed == [1]


def test_silence_ends_at_the_deadline():
    """Neither a container that says nothing nor one that reads nothing holds us up."""
    ours, theirs = socket.socketpair()
    with theirs:
        channel = AttachedChannel(ours, lambda: None)
        with pytest.raises(ChannelClosed, match="in time"):
            channel.receive(1, time.monotonic() + 0.05)
        with pytest.raises(ChannelClosed, match="in time"):
            channel.send(bytes(16 * MIB), time.monotonic() + 0.2)
        channel.kill()
        with pytest.raises(ChannelClosed, match="closed"):
            channel.send(b"x", time.monotonic() + 1)


def test_docker_by_name_needs_an_engine(make_project, monkeypatch, tmp_path):
    """Without one it is a usage error that says what to do."""
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/no.sock")
    with pytest.raises(EngineUnavailable, match="no container engine answers") as caught:
        choose("docker", make_project({}).session, SETTINGS)
    assert "--noepi-sandbox process" in caught.value.sentence()


def test_auto_takes_processes_only_where_they_are_confined(make_project, monkeypatch, tmp_path):
    """Without an engine it is the process sandbox, with both reasons in the note; unconfined it is an error."""
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/no.sock")
    session = make_project({}).session
    if not ProcessSandbox(session, SETTINGS).confined:
        with pytest.raises(SandboxError, match=r"Docker: no container engine.*confines nothing"):
            choose("auto", session, SETTINGS)
        return
    sandbox = choose("auto", session, SETTINGS)
    assert (sandbox.kind, sandbox.confined, sandbox.runs_model_code) == ("process", True, False)
    assert "Docker is not used: no container engine answers" in sandbox.limits_note


@pytest.mark.docker
def test_auto_takes_docker_where_the_mirror_works(engine, make_project):
    """A container of this engine sees a file that only this machine has."""
    sandbox = choose("auto", make_project({}).session, SETTINGS)
    assert (sandbox.kind, sandbox.confined, sandbox.runs_model_code, sandbox.limits_note) == ("docker", True, True, "")


def test_processes_by_name_may_run_model_code(make_project):
    """Who asks for them by name has been told what they do not protect."""
    sandbox = choose("process", make_project({}).session, SETTINGS)
    assert (sandbox.kind, sandbox.runs_model_code) == ("process", True)
    assert sandbox.limits_note
