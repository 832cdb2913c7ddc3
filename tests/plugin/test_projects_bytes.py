"""Sources in any encoding, with any newline and any name: what was not the fault stays as it was, byte by byte."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from mending import TOTAL, Project, check_mended, checks_of, contents, mend, quick_first

CRLF = TOTAL.replace("\n", "\r\n").encode()
BYTES = {
    "crlf-and-latin-1": "# -*- coding: latin-1 -*-\r\nNAME = 'Käse für £'\r\n".encode("latin-1") + CRLF,
    "byte-order-mark-and-no-last-newline": b"\xef\xbb\xbf# Preise \xc3\xbc\n" + TOTAL.rstrip().encode(),
    "mixed-newlines-and-tabs": b"# one\r\n# two\n\x0c\ndef total(price, count):\r\n\treturn price + count\r\n",
}


@pytest.mark.parametrize("source", quick_first(BYTES))
def test_bytes_outside_the_edit_survive(story, source):
    """Newlines, encoding, byte order mark and a missing last newline are the file's own and stay."""
    mend(story, Project({"shop.py": source, "test_shop.py": checks_of("shop")}, "shop.py"))


def test_names_with_spaces_and_letters_of_any_alphabet(story):
    """Folders and files may be called what people call them; the diff names them so that git takes it."""
    files = {
        "der Käse laden/preise_für_äpfel.py": TOTAL,
        "conftest.py": "import sys\nsys.path.insert(0, 'der Käse laden')\n",
        "prüf folder/test_größe 商店.py": checks_of("preise_für_äpfel"),
    }
    project = Project(files, "der Käse laden/preise_für_äpfel.py", args=("prüf folder/test_größe 商店.py",))
    told = mend(story, project)
    before = told.project / project.fault
    before.write_text(TOTAL)
    subprocess.run(["git", "apply", str(told.record / "best.patch")], cwd=told.project, check=True, timeout=30)
    assert before.read_text() == TOTAL.replace("+", "*")


def _git(folder: Path, *words: str) -> str:
    own = ["-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "init.defaultBranch=main"]
    done = subprocess.run(["git", *own, *words], cwd=folder, check=True, capture_output=True, text=True, timeout=30)
    return done.stdout


@pytest.mark.slow
def test_a_dirty_tree_keeps_its_changes(story):
    """Uncommitted edits, staged ones and files that git does not know are neither lost nor committed."""
    project = Project({"shop.py": TOTAL, "test_shop.py": checks_of("shop"), "notes.txt": "one\n"}, "shop.py")
    place = story(project.files)
    _git(place.project, "init", "-q")
    _git(place.project, "add", ".")
    _git(place.project, "commit", "-qm", "one")
    (place.project / "shop.py").write_text("# mine, not committed\n" + TOTAL)
    (place.project / "notes.txt").write_text("two\n")
    (place.project / "new.txt").write_text("new\n")
    _git(place.project, "add", "notes.txt")
    index, before = (place.project / ".git/index").read_bytes(), contents(place.project)
    told = place.fix()
    check_mended(told, project, before)
    assert told.result["dirty"] is True
    assert told.result["base_commit"] == _git(place.project, "rev-parse", "HEAD").strip()
    assert (place.project / ".git/index").read_bytes() == index
    assert ".noepi" not in _git(place.project, "status", "--short")
