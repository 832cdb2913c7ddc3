"""Layouts of projects: a sandbox sees what pytest sees, a fault is mended and nothing else; a difference is told."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import pytest

from pytest_noepicycle.bench.layouts.__main__ import LAYOUTS, main
from pytest_noepicycle.bench.layouts.bed import laid_out
from pytest_noepicycle.bench.layouts.compare import Compared, compare, differences, table, usual
from pytest_noepicycle.bench.layouts.layout import RIGHT, Layout

pytestmark = pytest.mark.slow

NAMED = {layout.name: layout for layout in LAYOUTS}


def compared(layout: Layout, folder: Path, *, repair: bool = True) -> tuple[str, ...]:
    """Compare a layout in this environment."""
    with laid_out(layout, folder / "bed", Path(sys.executable)) as bed:
        return compare(bed, usual(bed), "here", "process", repair=repair).differs


def test_a_layout_is_seen_and_mended(tmp_path: Path):
    """Ids and outcomes are pytest's own; the fault is mended, proven and applied, and pytest is green afterwards."""
    assert compared(NAMED["a service on loopback"], tmp_path) == ()
    assert not any(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["a collector of its own", "plugins of the project"])
def test_a_layout_is_seen_as_it_is(name: str, tmp_path: Path):
    """Ids and outcomes in the sandbox are those of an ordinary run."""
    assert compared(NAMED[name], tmp_path, repair=False) == ()


def test_what_differs_in_a_sandbox_is_told(tmp_path: Path):
    """A test that depends on where it runs ends otherwise there, and is named with both outcomes."""
    layout = NAMED["flat"]
    nosy = "import os\n\n\ndef test_nosy():\n    assert not os.environ['HOME'].startswith('/root')\n"
    nosy = nosy.replace("not os.environ['HOME'].startswith('/root')", f"'{Path.home()}' == os.environ['HOME']")
    odd = replace(layout, files={**layout.files, "tests/test_nosy.py": nosy})
    assert compared(odd, tmp_path, repair=False) == ("tests/test_nosy.py::test_nosy is passed, in the sandbox failed",)


def test_differences_name_what_only_one_side_has_and_what_ends_otherwise():
    """Nothing is said of what agrees."""
    assert differences({"a": "passed", "b": "failed"}, {"a": "passed", "b": "failed"}, "it") == []
    found = differences(
        {"a": "passed", "b": "failed", "c": "skipped"}, {"b": "passed", "c": "skipped", "d": "error"}, "it"
    )
    assert found == ["b is failed, in it passed", "it alone has d (error)", "it lacks a (passed)"]


def test_the_table_shows_each_layout_in_each_environment():
    """What was not run is a dash; what differs is counted in its cell and written out below."""
    results = [
        Compared("flat", "pytest 8, process", (), 3.2),
        Compared("flat", "pytest 9, process", ("it lacks a (passed)",), 4.0),
        Compared("src", "pytest 9, process", (), 5.0),
    ]
    lines = table(results).splitlines()
    assert [line.split() for line in lines[1:3]] == [
        ["flat", "ok", "3", "s", "1", "differ"],
        ["src", "-", "ok", "5", "s"],
    ]
    assert lines[-2:] == ["flat, pytest 9, process: it lacks a (passed)", "2 of 3 ok, 12 s"]


@pytest.mark.parametrize("layout", LAYOUTS, ids=lambda layout: layout.name)
def test_each_layout_has_one_fault(layout: Layout, tmp_path: Path):
    """The slip stands once in the file that is named, and mending it changes that file alone."""
    before = layout.lay_out(tmp_path)
    after = layout.mended(before)
    assert [path for path in before if after[path] != before[path]] == [layout.fault]
    assert RIGHT.encode() in after[layout.fault]


def test_names_are_unique_and_can_be_chosen(capsys: pytest.CaptureFixture[str]):
    """--only takes a part of a name; one that fits nothing is an error."""
    assert len(NAMED) == len(LAYOUTS)
    assert main(["--list", "--only", "xdist"]) == 0
    assert "xdist in addopts" in capsys.readouterr().out
    assert main(["--only", "no such layout"]) == 2
