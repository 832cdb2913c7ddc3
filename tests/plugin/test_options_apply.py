"""``--noepi-apply`` and its ini twin: when the work tree is changed."""

from __future__ import annotations

import pytest
from mending import TOTAL, checks_of, contents

# One fault that the search mends, and one test that nothing mends.
HALF = {
    "bread.py": TOTAL,
    "test_bread.py": checks_of("bread"),
    "test_never.py": "import bread\n\n\ndef test_never():\n    assert bread.__doc__ == 'never'\n",
}


@pytest.mark.parametrize(
    ("ini", "arguments", "applied"),
    [
        pytest.param("", (), False, id="solved", marks=pytest.mark.slow),
        pytest.param("noepi_apply = solved\n", ("--noepi-apply", "best", "-n2"), True, id="best"),
        pytest.param("noepi_apply = best\n", ("--noepi-apply=never",), False, id="never", marks=pytest.mark.slow),
    ],
)
def test_a_gain_short_of_everything(story, ini, arguments, applied):
    """It is applied only where any proven gain is wanted; the command line wins over the ini file."""
    place = story({**HALF, "pytest.ini": f"[pytest]\nnoepi_reruns = 1\n{ini}"})
    before = contents(place.project)
    told = place.fix("--noepi-ladder", "offline", *arguments)
    assert told.result["stop_reason"] != "solved", told.text
    assert told.result["tests"]["fixed"] == ["test_bread.py::test_total"]
    assert told.result["applied"] is applied
    assert (contents(place.project) == before) is not applied
    assert (told.record / "best.patch").exists()
