"""Ladder files: read by name or path, and wrong with a line number."""

from __future__ import annotations

import pytest

from pytest_noepicycle.adapters.ladder_files import load, parse, shipped
from pytest_noepicycle.errors import LadderError

GOOD = """\
name: mine
start: cheap
rungs:
  cheap:
    kind: model
    model: claude-haiku-4-5
    on_plateau: strong
  strong:
    kind: model
    price: {input: 1, output: 2}
    on_budget_low: cheap
"""


def test_a_file_is_read_by_its_path(tmp_path):
    """Edges, prices and the start are as the file says."""
    (tmp_path / "a ladder.yaml").write_text(GOOD)
    ladder = load(str(tmp_path / "a ladder.yaml"))
    assert (ladder.name, ladder.start, list(ladder.rungs)) == ("mine", "cheap", ["cheap", "strong"])
    assert ladder.rungs["strong"].price.output == 2.0
    assert ladder.rungs["cheap"].edge("on_regression") == "strong"


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("on_plateau: strong", "on_plateau: stronk", "my.yaml:7: rungs.cheap.on_plateau: there is no rung 'stronk'"),
        ("start: cheap", "start: dear", "my.yaml:2: start: there is no rung 'dear'"),
        ("    kind: model\n    price", "    kind: magic\n    price", "my.yaml:9: rungs.strong.kind"),
        ("output: 2}", "output: -2}", "my.yaml:10: rungs.strong.price.output"),
        ("{input: 1, output: 2}", "{input: 1}", "my.yaml:10: rungs.strong.price: output is missing"),
        ("on_budget_low: cheap", "on_budget_lo: cheap", "my.yaml:11: rungs.strong.on_budget_lo: unknown key"),
        ("  strong:", "  cheap:", "my.yaml:8: rungs.cheap: this key is given twice, first in line 4"),
        ("on_plateau: strong", "on_plateau: stop", "my.yaml:8: rungs.strong: no edge leads to this rung"),
        ("name: mine", "name: [mine", "my.yaml:2: this is not valid YAML"),
        ("name: mine", "name: !!python/object:os.system x", "my.yaml:1: this is not valid YAML"),
    ],
)
def test_what_is_wrong_is_named_with_its_line(old, new, says):
    """The message begins like a compiler's: file, line, key."""
    with pytest.raises(LadderError) as caught:
        parse(GOOD.replace(old, new), source="my.yaml", name="my")
    assert str(caught.value).startswith(says)


@pytest.mark.parametrize("text", ["", "- a\n- b\n", "rungs: {}\n", "just words\n", "a: &x {b: *x}\n"])
def test_what_is_no_ladder_at_all_is_a_sentence_too(text):
    """An empty file, a list, no rungs, a text, and a document that contains itself."""
    with pytest.raises(LadderError, match=r"^my\.yaml:1: "):
        parse(text, source="my.yaml", name="my")


def test_an_unknown_name_lists_the_shipped_ladders_and_the_nearest():
    """A slip of the finger is recognised."""
    with pytest.raises(LadderError) as caught:
        load("defualt")
    assert "did you mean 'default'?" in str(caught.value)
    assert all(name in str(caught.value) for name in shipped())


def test_a_file_that_is_missing_or_no_text_is_named(tmp_path):
    """Neither ends in a traceback."""
    with pytest.raises(LadderError, match=r"there is no file"):
        load(str(tmp_path / "nowhere.yaml"))
    (tmp_path / "bytes.yaml").write_bytes(b"\xff\xfe\xff")
    with pytest.raises(LadderError, match=r"bytes\.yaml: the file cannot be read"):
        load(str(tmp_path / "bytes.yaml"))
