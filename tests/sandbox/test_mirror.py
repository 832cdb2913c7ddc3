"""What a box may see, told from folders alone: the environment whole, the rest of the machine not at all."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from pytest_noepicycle.domain.session import Interpreter, Session
from pytest_noepicycle.sandbox.mirror import Mirror, follow, openings, outermost, reflect, unreadable


@pytest.fixture
def machine(tmp_path):
    """A home with an interpreter, an environment, a neighbour and a project in it."""
    root = tmp_path.resolve()
    for folder in (
        "home/py/lib",
        "home/env/bin",
        "home/env/site",
        "home/neighbour/.git",
        "home/neighbour/pkg",
        "home/p/src",
    ):
        (root / folder).mkdir(parents=True)
    program = root / "home/py/python"
    program.write_text("")
    program.chmod(0o755)
    (root / "home/env/bin/python").symlink_to("../../py/python")
    (root / "home/neighbour/.env").write_text("secret")
    home = str(root / "home")
    path = tuple(f"{home}/{name}" for name in ("py/lib", "env/site", "neighbour", "p", "p/src", "not there"))
    python = Interpreter(f"{home}/env/bin/python", "3.11.7", f"{home}/env", f"{home}/py", "linux", path)
    return home, Session(f"{home}/p", f"{home}/p", (), python, "9", 1)


def own(paths, home):
    """Those of the paths that lie in the home, from there on."""
    return [path.removeprefix(f"{home}/") for path in paths if path.startswith(home)]


def test_an_environment_is_shown_and_home_is_not(machine):
    """Interpreter, environment and neighbour are mounted, each once; the tree comes by itself; secrets are masked."""
    home, session = machine
    mirror = reflect(session, session.tree, home=home)
    assert own(mirror.mounts, home) == ["env", "neighbour", "py"]
    assert "/usr" in mirror.mounts
    assert own(mirror.masks, home) == ["neighbour/.env", "neighbour/.git"]
    assert (mirror.keep, mirror.left_out) == ((), ())
    assert not {"/", "/etc", "/root", "/run", "/var/run", "/home", "/tmp", home} & set(mirror.mounts)
    assert not any("docker" in path for path in mirror.mounts)


def test_an_environment_in_the_tree_is_kept(machine):
    """It is mounted over the tree, and the worker leaves it alone."""
    home, session = machine
    mirror = reflect(session, home, home="/elsewhere")
    assert own(mirror.keep, home) == ["env", "py"]
    assert own(mirror.mounts, home) == ["env", "py"]


def test_home_on_the_import_path_is_left_out(machine):
    """A PYTHONPATH that names home, or a folder above it, shows nothing, and is named."""
    home, session = machine
    python = replace(session.interpreter, sys_path=(home, str(Path(home).parent), "/root", "relative"))
    mirror = reflect(replace(session, interpreter=python), session.tree, home=home)
    assert own(mirror.mounts, home) == ["env", "py"]
    assert set(mirror.left_out) >= {home, str(Path(home).parent)}


def test_a_guard_that_can_only_allow_goes_round_the_masks(machine):
    """A folder with a secret in it is opened entry by entry."""
    home, session = machine
    assert own(openings(reflect(session, session.tree, home=home)), home) == ["env", "neighbour/pkg", "py"]


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"platform": "darwin"}, "darwin"),
        ({"executable": "/no/such/python"}, "not there any more"),
        ({"prefix": "/home"}, "holds more than an environment"),
        ({"base_prefix": "/"}, "holds more than an environment"),
    ],
)
def test_what_cannot_be_mirrored_is_said(machine, change, why):
    """Another system, a lost interpreter, a prefix that is half the machine: each has its sentence."""
    home, session = machine
    with pytest.raises(ValueError, match=why):
        reflect(replace(session, interpreter=replace(session.interpreter, **change)), session.tree, home=home)


@pytest.mark.parametrize("tree", ["/", "/usr", "/tmp", "/etc"])
def test_a_part_of_the_system_is_no_project(machine, tree):
    """A box cannot lay a tree over the system's own folders."""
    with pytest.raises(ValueError, match="part of the system"):
        reflect(machine[1], tree)


def test_a_project_that_is_its_own_environment_cannot_be_mirrored(machine):
    """The tree would hide the interpreter's modules."""
    home, session = machine
    with pytest.raises(ValueError, match="more than an environment"):
        reflect(session, f"{home}/env", home="/elsewhere")


def test_every_link_on_the_way_is_noted(tmp_path):
    """Links to links, relative and absolute ones, through folders: a box gets them all."""
    root = tmp_path.resolve()
    (root / "real/deep").mkdir(parents=True)
    (root / "real/deep/file").write_text("")
    (root / "one").symlink_to("real")
    (root / "two").symlink_to(root / "one" / "deep")
    links: dict[str, str] = {}
    assert follow(f"{root}/two/../deep/file", links) == f"{root}/real/deep/file"
    assert links == {f"{root}/two": f"{root}/one/deep", f"{root}/one": "real"}


def test_a_circle_of_links_ends(tmp_path):
    """It cannot be followed for ever; each link in it is noted once."""
    links: dict[str, str] = {}
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    follow(str(tmp_path / "a"), links)
    noted = {Path(path).name: target for path, target in links.items()}
    assert (noted["a"], noted["b"]) == ("b", "a")


@pytest.mark.parametrize(
    ("paths", "kept"),
    [
        (["/a/b", "/a", "/a/c/d"], ("/a",)),
        (["/ab", "/a", "/a-b"], ("/a", "/a-b", "/ab")),
        (["/b/c", "/b/c", "/a"], ("/a", "/b/c")),
        ([], ()),
    ],
)
def test_only_the_outermost_mounts_remain(paths, kept):
    """A mount shows all that lies in it."""
    assert outermost(paths) == kept


def test_a_folder_that_is_private_is_found(tmp_path):
    """The tests run as another user, who could not read it."""
    shown, hidden = tmp_path / "shown", tmp_path / "hidden"
    shown.mkdir(mode=0o755)
    hidden.mkdir(mode=0o700)
    assert unreadable(Mirror("/p", (str(shown),))) is None
    assert unreadable(Mirror("/p", (str(shown), str(hidden)))) == str(hidden)
