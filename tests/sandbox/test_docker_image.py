"""Where an image is named, its own Python and packages are used, and nothing of this machine is shown."""

from __future__ import annotations

import io
import os
import re
import subprocess
import sys
import sysconfig
import tarfile
import uuid
from dataclasses import replace
from pathlib import Path

import pytest

from pytest_noepicycle.domain.settings import Settings
from pytest_noepicycle.errors import SandboxError

PACKAGES = ("pytest", "_pytest", "pluggy", "iniconfig", "packaging", "pygments", "py.py")
UNUSED = re.compile(
    r"/(test|tests|idlelib|tkinter|ensurepip|site-packages|__pycache__|lib2to3|turtledemo|config-[^/]*)(/|$)"
)


def image_of_this_python() -> bytes:
    """A small image: this interpreter under /usr/local, pytest, and the libraries that both load."""
    standard = Path(sysconfig.get_path("stdlib"))
    program = Path(sys.executable).resolve()
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        tar.add(program, "usr/local/bin/python3")
        tar.add(standard, f"usr/local/lib/{standard.name}", filter=lambda m: None if UNUSED.search("/" + m.name) else m)
        for source in Path(sysconfig.get_path("purelib")).iterdir():
            if source.name in PACKAGES or source.name.partition("-")[0] in PACKAGES:
                tar.add(source, f"usr/local/lib/{standard.name}/site-packages/{source.name}")
        for library in sorted(libraries([program, *Path(sysconfig.get_config_var("DESTSHARED")).glob("*.so")])):
            tar.add(Path(library).resolve(), library.lstrip("/"))
    return buffer.getvalue()


def libraries(programs: list[Path]) -> set[str]:
    """The shared libraries that these load."""
    found = set()
    for program in programs:
        said = subprocess.run(["ldd", str(program)], capture_output=True, text=True, check=True, timeout=30).stdout
        found.update(re.findall(r"(/\S+) \(0x", said))
    return found


@pytest.fixture(scope="module")
def image(engine):
    """Import the image under a name of its own, and remove it in the end."""
    import docker

    name = f"noepi-test-{uuid.uuid4().hex}"
    client = docker.from_env(timeout=60)
    try:
        client.api.import_image_from_data(
            image_of_this_python(), repository=name, tag="1", changes=["ENV PATH=/usr/local/bin"]
        )
        yield f"{name}:1"
        client.api.remove_image(f"{name}:1", force=True)
    finally:
        client.close()


@pytest.mark.docker
def test_a_named_image_is_used_as_it_is(image, make_project, trial):
    """The project's tree is at its own path, all else is the image's; the interpreter is not this machine's."""
    tests = """
import os, sys, m

def test_it():
    assert m.A == 2
    assert sys.executable == "/usr/local/bin/python3"
    assert os.environ["PATH"] == "/usr/local/bin"
    assert not os.path.exists("/usr/bin/env")
"""
    project = make_project({"m.py": "A = 1\n", "test_m.py": tests})
    python = replace(
        project.session.interpreter, sys_path=(project.session.rootdir, *project.session.interpreter.sys_path)
    )
    project = replace(project, session=replace(project.session, args=(), interpreter=python))
    box = project.open("docker", Settings(image=image))
    try:
        red = trial(box)
        green = [trial(box, overlay={"m.py": "A = 2\n"}, cold=cold) for cold in (False, True)]
    finally:
        box.close()
    assert red.passing() == frozenset()
    assert [report.passing() for report in green] == [{"test_m.py::test_it"}] * 2, green[0].output


@pytest.mark.docker
def test_an_image_that_is_not_there_is_named(engine, make_project):
    """Nothing is pulled behind the user's back: the error names the image."""
    name = f"noepi-test-none-{os.getpid()}"
    with pytest.raises(SandboxError, match=name):
        make_project({"m.py": ""}).open("docker", Settings(image=name))
