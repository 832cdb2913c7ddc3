"""What a box is given beside files: variables from a list, room to write, and a tree that may have been moved."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pytest_noepicycle.domain.session import Interpreter, Session
from pytest_noepicycle.domain.settings import Settings
from pytest_noepicycle.errors import SandboxError
from pytest_noepicycle.sandbox.mirror import Mirror
from pytest_noepicycle.sandbox.relocated import move_session
from pytest_noepicycle.sandbox.surroundings import MIB, Space, environment, scratch_place, setup

PYTHON = Interpreter("/v/bin/python", "3.11.7", "/v", "/opt/py", "linux", ("/opt/py/lib", "/p", "/p/src", "/p/.venv/x"))
SESSION = Session(
    "/p", "/p/sub", ("-c", "/p/x.ini", "--ds=/p", "/pq", "a/p", "-o", "x=/p/a:/p/b"), PYTHON, "9", 1, inipath="/p/x.ini"
)
FOREIGN = {
    "ANTHROPIC_API_KEY": "k",
    "GITHUB_TOKEN": "t",
    "AWS_SECRET_ACCESS_KEY": "s",
    "GITHUB_ENV": "/e",
    "LD_PRELOAD": "/x.so",
    "PYTHONSTARTUP": "/s",
    "PATH": "/evil",
    "HOME": "/home/u",
    "DOCKER_HOST": "tcp://x",
}


@pytest.mark.parametrize(
    ("outer", "named", "expected"),
    [
        (FOREIGN, (), {}),
        ({"LANG": "de", "LC_ALL": "C", "TZ": "UTC"}, (), {"LANG": "de", "LC_ALL": "C", "TZ": "UTC"}),
        ({"PYTEST_ADDOPTS": "-x", "PYTHONUTF8": "1"}, (), {"PYTEST_ADDOPTS": "-x", "PYTHONUTF8": "1"}),
        ({"PYTHONPATH": "/seen/a:/hidden::/seen"}, (), {"PYTHONPATH": "/seen/a:/seen"}),
        ({"PYTHONPATH": "/hidden"}, (), {}),
        ({"LD_LIBRARY_PATH": "/seen/lib:/hidden"}, (), {"LD_LIBRARY_PATH": "/seen/lib"}),
        (
            {"DJANGO_SETTINGS_MODULE": "s", "OTHER": "o"},
            ("DJANGO_SETTINGS_MODULE", "UNSET"),
            {"DJANGO_SETTINGS_MODULE": "s"},
        ),
        (FOREIGN, ("ANTHROPIC_API_KEY",), {}),
        ({"PYTHONHASHSEED": "7"}, ("PYTHONHASHSEED",), {}),
    ],
)
def test_only_what_is_listed_enters(outer, named, expected):
    """Keys, tokens and loader tricks stay outside; what the user names comes in, but for the key that pays."""
    got = environment(SESSION, Settings(env=named), outer, visible=lambda path: path.startswith("/seen"), scratch="/s")
    always = {"VIRTUAL_ENV": "/v", "PYTHONHASHSEED": "0", "PYTHONDONTWRITEBYTECODE": "1", "HOME": "/s", "TMPDIR": "/s"}
    assert got == {"PATH": "/v/bin:/opt/py/bin:/usr/local/bin:/usr/bin:/bin", **always, **expected}


@pytest.mark.parametrize(
    ("mirror", "place"),
    [
        (Mirror("/p", ("/usr",)), "/tmp"),
        (Mirror("/tmp/p", ("/usr",)), "/var/tmp"),
        (Mirror("/p", ("/tmp/venv",)), "/var/tmp"),
        (Mirror("/var/tmp/p", ("/tmp/venv",)), "/scratch"),
        (Mirror("/p", ("/x",), masks=("/tmp/y",)), "/var/tmp"),
    ],
)
def test_scratch_lies_where_nothing_is_mounted(mirror, place):
    """It is emptied after each trial, and nothing of the mirror may be in the way."""
    assert scratch_place(mirror) == place


def test_there_is_room_for_the_tree_and_a_bounded_scratch(tmp_path):
    """Room grows with the tree; scratch stays a part of the memory."""
    archive = tmp_path / "a.tar"
    archive.write_bytes(bytes(MIB))
    space = Space.fitting(str(archive), Settings(memory=400 * MIB))
    assert space == Space(66 * MIB, 101 * MIB)
    told = setup(Mirror("/p", (), keep=("/p/.venv",)), space, "/tmp", {"A": "b"})
    assert told["limits"] == {"file_size": 101 * MIB}
    assert (told["keep"], told["tmp"], told["empty"]) == (["/p/.venv"], "/tmp", ["/dev/shm"])


def test_a_moved_session_speaks_of_the_copy():
    """Every path of the tree moves, as a whole or as a beginning; others, and kept ones, stay."""
    moved = move_session(SESSION, "/p", "/copy/p", ("/p/.venv",))
    assert (moved.rootdir, moved.invocation_dir, moved.inipath) == ("/copy/p", "/copy/p/sub", "/copy/p/x.ini")
    assert moved.args == ("-c", "/copy/p/x.ini", "--ds=/copy/p", "/pq", "a/p", "-o", "x=/copy/p/a:/copy/p/b")
    assert moved.interpreter.sys_path == ("/opt/py/lib", "/copy/p", "/copy/p/src", "/p/.venv/x")


def test_an_editable_install_cannot_move():
    """Its finder knows the original alone, so that the copy would never be tested: this is said, not tried."""
    session = replace(SESSION, interpreter=replace(PYTHON, source_roots=("/elsewhere", "/p/src/pkg")))
    with pytest.raises(SandboxError, match="editable install") as caught:
        move_session(session, "/p", "/copy/p", ())
    assert "docker" in caught.value.hint
