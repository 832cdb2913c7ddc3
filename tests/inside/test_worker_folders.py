"""A file or a folder as one target, through a real worker: only tests that ran and passed make it pass."""

from __future__ import annotations

import pytest

SKIPS = 'import pytest\ndef test_one(): pytest.skip("not now")\n'
MARKED = '@pytest.mark.skip(reason="no")\ndef test_two(): pass\n'
PASSES = "def test_three(): pass\n"
IMPORTS = 'import pytest\npytest.importorskip("nothing_of_that_name")\ndef test_four(): pass\n'
FIXTURE = (
    'import pytest\n@pytest.fixture(autouse=True)\ndef gone(): pytest.skip("nothing here")\ndef test_five(): pass\n'
)
FOLDERS = {
    "all skip themselves": ({"test_a.py": SKIPS, "test_b.py": SKIPS}, "skipped"),
    "all are marked to be skipped": ({"test_a.py": "import pytest\n" + MARKED}, "missing"),
    "marked ones beside one that passes": ({"test_a.py": "import pytest\n" + MARKED + PASSES}, "passed"),
    "one skips itself beside one that passes": ({"test_a.py": SKIPS, "test_b.py": PASSES}, "skipped"),
    "the only file skips itself": ({"test_a.py": IMPORTS}, "missing"),
    "a file skips itself beside one that passes": ({"test_a.py": IMPORTS, "test_b.py": PASSES}, "passed"),
    "a fixture skips them all": ({"test_a.py": FIXTURE}, "skipped"),
    "a hook deselects them all": (
        {"test_a.py": PASSES, "conftest.py": "def pytest_collection_modifyitems(items):\n    items.clear()\n"},
        "missing",
    ),
    "there is no test": ({"test_a.py": "x = 1\n"}, "missing"),
}


@pytest.fixture(scope="module")
def rig(make_rig):
    """A project with a test elsewhere; each case brings its folder as an overlay."""
    return make_rig({"test_elsewhere.py": "def test_elsewhere(): pass\n", "part/data.txt": ""})


@pytest.mark.parametrize("name", FOLDERS)
@pytest.mark.parametrize("target", ["part", "part/test_a.py"])
def test_a_folder_passes_by_tests_that_pass(rig, name, target):
    """What skips itself has shown nothing: a folder or file of such tests does not pass, alone or beside others."""
    files, status = FOLDERS[name]
    here = {path: text for path, text in files.items() if target == "part" or path in ("test_a.py", "conftest.py")}
    report = rig.run(target, overlay={f"part/{path}": text.encode() for path, text in here.items()})
    passed = report.outcomes[target].passed
    assert passed == (status == "passed" and any(PASSES in text for text in here.values())), report.output
    assert report.outcomes[target].status.value == status or target != "part"
    assert "test_elsewhere.py::test_elsewhere" not in report.passing()
