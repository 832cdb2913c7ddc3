"""The page of a run: whole and self-contained for every end, harmless whatever a run has seen, and small."""

from __future__ import annotations

import itertools
import re
from collections import Counter
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import browser
import pytest
from journals import LONG, Pretended
from runs import PATCH, SOLVED, failed, summary

from pytest_noepicycle.domain.estimate import Estimate, Quote
from pytest_noepicycle.domain.evidence import Flag
from pytest_noepicycle.domain.patch import FileChange, Patch
from pytest_noepicycle.domain.run import Alternative, Choice, StopReason
from pytest_noepicycle.domain.settings import Thresholds
from pytest_noepicycle.report import reading, wording
from pytest_noepicycle.report.history import History
from pytest_noepicycle.report.html import page
from pytest_noepicycle.report.html.code import coloured
from pytest_noepicycle.report.html.heat import heat

HOSTILE = (
    '</style></pre><script>alert(1)</script><img src="https://evil.example/x" onerror="alert(2)"> \u202e\x1b[2J\x00'
)
BIG_STEPS = {1: 30, 3: 22, 5: 4, 10: 25, 12: 9, 14: 6, 16: 6, 20: 4, 21: 18, 24: 12, 25: 4, 26: 3, 28: 8, 31: 4}
BIG_STEPS |= {33: 5, 36: 4, 39: 12, 40: 4, 42: 5, 44: 4}
PATIENT = Thresholds(plateau_window=3, delta_threshold=0.02, grace_period=1)


class Structure(HTMLParser):
    """The elements of a page, with their attributes, and the headings in their order."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Keep the element."""
        self.elements.append((tag, dict(attrs)))

    def of(self, *tags: str) -> list[dict[str, str | None]]:
        """Return the attributes of all elements of these names."""
        return [attrs for tag, attrs in self.elements if tag in tags]


def long_run() -> History:
    """Fifty attempts on two hundred tests."""
    long = Pretended(tests=200, gains=BIG_STEPS, thresholds=PATIENT, tokens=812, prompt="Mend it. " * 900)
    return reading.of_events(long.run(50), "long")


def hostile_run() -> History:
    """A run in which every text that comes from outside is an attack, and one of them is ten megabytes long."""
    flood = HOSTILE + "x" * 10_000_000
    diff = f"diff --git a/m.py b/m.py\n--- a/m.py\n+++ b/m.py\n@@ -1 +1 @@\n-{HOSTILE}\n+{flood}\n"
    evil = Pretended(gains={2: 1}, prompt=flood, answer=HOSTILE, diff=diff)
    past = reading.of_events(evil.run(6), HOSTILE)
    targets = (*past.baseline.targets, HOSTILE)
    failures = tuple(replace(one, message=HOSTILE, text=flood, test=HOSTILE) for one in past.failures)
    patch = Patch.of([FileChange(f"{HOSTILE}.py", b"x = 1\n", flood.encode("utf-8", "replace"))])
    baseline = replace(past.baseline, targets=targets)
    ended = {"stop_reason": "budget", "verified": True, "warnings": [HOSTILE], "why": HOSTILE, "tests": {"broken": []}}
    return replace(
        past, baseline=baseline, failures=failures, patch=patch, result=ended, stop=StopReason.BUDGET, task=HOSTILE
    )


ENDS = {
    str(stop): reading.of(summary(SOLVED if stop is StopReason.SOLVED else replace(failed(stop), why="because")))
    for stop in StopReason
}
SEVERAL = Choice(9, (Alternative("m.py:1: `2` → `3`", PATCH.diff().decode()),))
QUOTES = (Quote("small", "m", 900, 0.01), Quote("large", "n", 2000, None, "no API key"))
RUNS = {
    "several": reading.of(summary(replace(SOLVED, choice=SEVERAL))),
    "unique": reading.of(summary(replace(SOLVED, choice=Choice(9)))),
    "estimated": reading.of(
        summary(replace(failed(StopReason.DRY_RUN), estimate=Estimate("small", f"Mend {HOSTILE}", QUOTES)))
    ),
}
RUNS |= {**ENDS, "unfinished": reading.of_events(Pretended().run(3), "r"), "empty": reading.of_events([], "r")}


@pytest.mark.parametrize("name", RUNS)
def test_the_page_of_every_end_is_whole_and_asks_the_network_for_nothing(name: str):
    """One heading at the top, none left out below, ids once, no script, no address beyond the page itself."""
    text = page.render(RUNS[name])
    built = Structure(text)
    levels = [int(tag[1]) for tag, _ in built.elements if re.fullmatch(r"h[1-6]", tag)]
    assert levels[0] == 1 and levels.count(1) == 1  # noqa: PT018
    assert all(after - before <= 1 for before, after in itertools.pairwise(levels))
    ids = Counter(attrs["id"] for _, attrs in built.elements if "id" in attrs)
    assert not [name for name, count in ids.items() if count > 1]
    assert not built.of("script", "iframe", "object", "embed", "link", "base", "form", "img")
    for _, attrs in built.elements:
        assert not {"src", "srcset", "style", "action"} & attrs.keys()
        assert not [key for key in attrs if key.startswith("on")]
    targets = [attrs["href"] or "" for attrs in built.of("a")]
    assert all(target.startswith("#") and target[1:] in ids for target in targets)
    assert "default-src 'none'" in text


def test_a_stranger_reads_what_was_wrong_what_changed_what_proves_it_and_what_does_not():
    """The sentences that decide, in the order in which a reviewer asks for them."""
    text = page.render(ENDS["solved"])
    order = [
        "2 of 2 failing tests mended",
        ">What was wrong</h2>",
        "t.py::a",
        ">What changed</h2>",
        "pkg/a.py",
        ">What proves it</h2>",
        "without the patch the same tests fail again",
        ">What is not proven</h3>",
        "1 test passed outside the sandbox and not in it",
        ">See for yourself</h2>",
        "git apply best.patch",
    ]
    places = [text.index(part) for part in order]
    assert places == sorted(places)


def test_what_the_tests_leave_open_is_shown_as_the_edits_that_pass_as_well():
    """Each of them unfolds to its lines; where none was found, that is said too."""
    text = page.render(RUNS["several"])
    assert "1 of 9 other edits at this place pass the same tests" in text
    assert "Another edit that passes: m.py:1: `2` → `3`" in text
    assert "Of 9 other edits that were tried at this place none passes the tests." in page.render(RUNS["unique"])


def test_a_dry_run_shows_what_would_be_asked_and_its_dearest_price():
    """An unknown price is not known; what lacks is named."""
    text = page.render(RUNS["estimated"])
    for part in ("What would be asked", "$0.0100", "not known", "no API key", "The first question, to small"):
        assert part in text


def test_a_run_that_died_says_that_nothing_is_proven():
    """Its attempts are there, its best is named, and no word claims a fix."""
    text = page.render(reading.of_events(Pretended(gains={1: 2}).run(2), "r"))
    assert "A run that did not come to its end" in text
    assert "Its best so far scores 0.50; nothing of it is proven." in text
    assert "passed, not proven" in text
    assert 'id="attempt-2"' in text


def test_hostile_texts_are_shown_harmless_and_cut():
    """No element, attribute or control character of a foreign text survives; ten megabytes become a few kilobytes."""
    text = page.render(hostile_run())
    built = Structure(text)
    assert not built.of("script", "img")
    assert text.count("</style>") == 1
    assert not {"\u202e", "\x1b", "\x00"} & set(text)
    assert "\\x202e" in text
    assert len(text.encode()) < 300_000
    assert "more characters are in decisions.jsonl" in text
    assert "too large to be looked through here" in text


def test_a_long_run_stays_small_and_says_what_was_left_out():
    """Fifty attempts on two hundred tests fit into half a megabyte, each attempt with its question and answer."""
    text = page.render(long_run())
    assert len(text.encode()) < 500_000
    assert text.count('<details class="attempt"') == 50
    assert "as in <a href=" in text


def test_the_heat_map_tells_the_course_of_each_test():
    """Mended in its attempt, kept after it, open before; a guard that a candidate broke has a row of its own."""
    past = reading.of_events(Pretended(gains={1: 1, 4: 1}).run(4), "r")
    rows = {row.tests[0]: row for row in heat(past).rows}
    assert rows["tests/test_part_0.py::test_case[0]"].cells == "nkkk"
    assert rows["tests/test_part_0.py::test_case[1]"].cells == "fffn"
    assert rows["tests/test_part_0.py::test_case[2]"].tests[1:] == ("tests/test_part_0.py::test_case[3]",)
    assert rows["tests/test_whole.py::test_kept"].cells == "ggbg"
    assert rows["tests/test_whole.py::test_kept"].guard


def test_a_flag_stands_beneath_the_line_that_it_means():
    """The line's number is the new file's; a flag of line 0 belongs to the whole file."""
    diff = Patch.of([FileChange("a.py", b"x = 1\ny = 2\n", b"x = 1\nimport os\ny = 2\n")]).diff().decode()
    (file,) = coloured(diff, [Flag("a.py", 2, "environment", "why"), Flag("a.py", 0, "large", "all of it")])
    assert [(line.new, line.flags[0].flag) for line in file.lines if line.flags] == [(2, "environment")]
    assert [flag.flag for flag in file.flags] == ["large"]
    assert 'class="kn"' in next(line.code for line in file.lines if line.new == 2 and line.kind == "add")


def test_of_a_long_diff_the_first_lines_are_shown_and_the_rest_is_counted():
    """Nothing is left out in silence."""
    diff = Patch.of([FileChange("a.py", b"", b"x = 1\n" * 900)]).diff().decode()
    (file,) = coloured(diff, most=100)
    assert len(file.lines) == 100
    assert file.left_out == 801


needs_browser = pytest.mark.skipif(browser.CHROMIUM is None, reason="no chromium on this machine")


@needs_browser
@pytest.mark.parametrize("make", [long_run, hostile_run])
def test_a_browser_has_nothing_to_complain_of_and_asks_for_nothing(tmp_path: Path, make):
    """A real browser opens the page: no word on the console, no request, the document as it was written."""
    file = tmp_path / "report.html"
    file.write_text(page.render(make()), "utf-8")
    seen = browser.opened(file, tmp_path)
    assert seen.console == ()
    assert [url for url in seen.asked if not url.startswith(("file:", "data:"))] == []
    assert "See for yourself" in seen.document
    assert "<script" not in seen.document


@needs_browser
def test_a_browser_opens_the_report_of_every_end_and_has_nothing_to_complain_of(tmp_path: Path):
    """Each stop reason, and a run without one, in one browser; a faulty page shows that it would be heard."""
    pages = {name: page.render(past) for name, past in RUNS.items()}
    faulty = '<h1>Faulty</h1><script>console.error("heard")</script><img src="http://127.0.0.1:9/asked" alt="">'
    headings, seen = browser.opened_together({**pages, "faulty": f"<!doctype html><title>x</title>{faulty}"}, tmp_path)
    assert headings == {**{name: wording.headline(past) for name, past in RUNS.items()}, "faulty": "Faulty"}
    assert [line for line in seen.console if "heard" in line]
    assert [line for line in seen.console if "heard" not in line and "127.0.0.1:9" not in line] == []
    assert [url for url in seen.asked if not url.startswith(("file:", "data:"))] == ["http://127.0.0.1:9/asked"]


@needs_browser
@pytest.mark.skipif(browser.AXE is None, reason="AXE_CORE does not name axe.min.js (npm pack axe-core)")
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_axe_finds_nothing_in_contrast_or_structure(tmp_path: Path, dark: bool):
    """Every end, a long run and a hostile one, unfolded; a page with a fault shows that axe looks."""
    pages = {name: page.render(past) for name, past in RUNS.items()}
    pages |= {"long": page.render(long_run()), "hostile": page.render(hostile_run())}
    pages["faulty"] = '<!doctype html><title>x</title><p style="color: #999; background: #aaa">pale</p>'
    found = browser.violations(pages, tmp_path, dark=dark)
    assert "color-contrast" in [rule for rule, _ in found.pop("faulty")]
    assert {name: told for name, told in found.items() if told} == {}


def test_a_ladder_longer_than_the_colours_begins_again():
    """Eight rungs share six colours; each attempt still names its rung."""
    rungs = {f"r{n}": {"on_plateau": f"r{n + 1}" if n < 7 else None} for n in range(8)}
    past = reading.of_events(Pretended(ladder=type(LONG)(rungs)).run(40), "r")
    assert len(past.rungs) == 8
    assert page.render(past).count('class="rung">r7<') == 2


def test_a_path_that_git_quotes_is_shown_as_it_is():
    """The diff of a file with another alphabet names it in octal; the page does not, and finds its flags."""
    diff = Patch.of([FileChange("größe \\ é.py", b"", b"x = 1\n")]).diff().decode()
    (file,) = coloured(diff, [Flag("größe \\ é.py", 1, "files", "why")])
    assert file.path == "größe \\ é.py"
    assert file.lines[1].flags
