"""The same in containers: odd bytes, odd names, and a project that keeps pytest from starting."""

from __future__ import annotations

import shutil
import subprocess

import pytest
from mending import RIGHT, TOTAL, WRONG, Project, checks_of, mend


def engine_answers() -> bool:
    """Whether a container engine answers here."""
    asked = shutil.which("docker") and subprocess.run(["docker", "info"], capture_output=True, timeout=30, check=False)
    return bool(asked) and asked.returncode == 0


pytestmark = [
    pytest.mark.slow,
    pytest.mark.docker,
    pytest.mark.skipif(not engine_answers(), reason="no container engine answers"),
]


def test_odd_names_and_bytes(story):
    """Spaces, letters of any alphabet, CRLF, latin-1, no last newline, a src layout: all of it at its own path."""
    source = (
        "# -*- coding: latin-1 -*-\r\nNAME = 'Käse'\r\n".encode("latin-1") + TOTAL.replace("\n", "\r\n").encode()[:-2]
    )
    files = {
        "pyproject.toml": "[tool.pytest.ini_options]\npythonpath = ['das src']\n",
        "das src/käse/__init__.py": source,
        "the tests/test_käse.py": checks_of("käse"),
    }
    told = mend(story, Project(files, "das src/käse/__init__.py"), sandbox="docker")
    assert told.result["sandbox"]["kind"] == "docker"


def test_a_conftest_that_cannot_be_imported(story):
    """What conftest imports is mended in containers as well, with workers of xdist in the user's own session."""
    files = {"shop.py": TOTAL.replace(WRONG, RIGHT).replace("):", ")"), "conftest.py": "import shop\n"}
    files |= {"test_a.py": checks_of("shop"), "test_b.py": checks_of("shop")}
    mend(story, Project(files, "shop.py", "count)\n", "count):\n", args=("-n2",)), sandbox="docker")
