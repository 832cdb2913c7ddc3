"""The facts of a session that does not take place: what an ordinary run would be, and no code of the project."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from pytest_noepicycle.adapters import facts
from pytest_noepicycle.errors import UsageError
from pytest_noepicycle.sandbox.layout import lay_out_inside

TRAP = "raise SystemExit('it ran')\n"


@pytest.fixture
def half(tmp_path: Path) -> Path:
    """The thin half, laid out."""
    return lay_out_inside(tmp_path / "half")


def project(folder: Path, files: dict[str, str]) -> str:
    """Write a project."""
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return str(folder)


def test_nothing_of_a_tree_full_of_traps_is_imported(tmp_path: Path, half: Path, monkeypatch):
    """Not its conftest, nor its plugin, nor a module by the name of one that pytest needs."""
    traps = dict.fromkeys(("conftest.py", "pytest.py", "pluggy.py", "mine.py", "sitecustomize.py", "test_m.py"), TRAP)
    ini = "[pytest]\naddopts = -p mine --cov -n 4 -p no:cov\nrequired_plugins = no-such\npython_files = check_*.py\n"
    root = project(tmp_path / "p", {**traps, "pytest.ini": ini, "tests/test_m.py": TRAP})
    monkeypatch.setenv("PYTHONPATH", root)
    monkeypatch.setenv("PYTEST_PLUGINS", "mine")
    told = facts.ask(sys.executable, root, ["-x", "tests"], half, untrusted=root)
    assert (told["rootdir"], told["inipath"]) == (root, f"{root}/pytest.ini")
    assert told["args"] == ["-x", "tests"]
    assert told["python_files"] == ["check_*.py"]
    assert told["interpreter"]["sys_path"][:2] == [root, root]
    assert str(half) not in told["interpreter"]["sys_path"]
    assert "pytest-cov" not in {plugin["distribution"] for plugin in told["plugins"]}


def test_settings_of_the_project_are_read(tmp_path: Path, half: Path):
    """The ini file's own values, and the plugins that are installed."""
    root = project(tmp_path / "p", {"pytest.ini": "[pytest]\nnoepi_editable = *.json\n"})
    told = facts.ask(sys.executable, root, [], half, untrusted=root)
    assert list(told["settings"]["editable"]) == ["*.json"]
    assert told["exit_status"] == 0


@pytest.mark.parametrize(("python", "ini"), [("/no/python", ""), (sys.executable, "[pytest]\nminversion = 99\n")])
def test_what_cannot_be_asked_is_wrong_use(tmp_path: Path, half: Path, python: str, ini: str):
    """The interpreter's or pytest's own words are in the message."""
    root = project(tmp_path / "p", {"pytest.ini": ini})
    with pytest.raises(UsageError, match=r"cannot be started|99"):
        facts.ask(python, root, [], half, untrusted=root)
