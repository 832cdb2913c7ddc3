"""``report.html``: one self-contained page that asks the network for nothing and runs no script."""

from __future__ import annotations

import functools
from importlib import resources
from typing import Any

from markupsafe import Markup

from pytest_noepicycle.domain.evidence import Flag
from pytest_noepicycle.domain.patch import Patch
from pytest_noepicycle.domain.territory import Territory
from pytest_noepicycle.report import wording
from pytest_noepicycle.report.history import History
from pytest_noepicycle.report.html import charts, view
from pytest_noepicycle.report.html.code import coloured
from pytest_noepicycle.report.html.heat import MEANING, heat
from pytest_noepicycle.report.text import harmless
from pytest_noepicycle.stages.flags import flags


def render(past: History) -> str:
    """Return the page of a run, whether it came to its end or not."""
    page = _environment().get_template("page.html.j2").render(**_values(past))
    return str(page)


@functools.cache
def _environment() -> Any:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    made = Environment(
        loader=PackageLoader("pytest_noepicycle", "report/html/templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters["shown"] = harmless
    made.globals["form"] = charts.form
    made.filters["thousands"] = lambda number: f"{number:,}"
    return made


def _values(past: History) -> dict[str, Any]:
    tokens, cap, usd = wording.spent(past)
    colours = charts.colour_of(past)
    diff, marked = past.patch.diff().decode("utf-8", "replace"), _flags(past)
    return {
        "style": Markup(_style()),  # our own file
        "past": past,
        "result": past.result,
        "headline": wording.headline(past),
        "verdict": wording.verdict(past),
        "why": harmless(wording.what_helped(past), longest=600),
        "files": harmless(wording.files(past), longest=300),
        "tokens": tokens,
        "cap": cap,
        "money": "unknown" if usd is None else wording.money(usd),
        "tests": view.tests(past),
        "tests_left_out": view.tests_left_out(past),
        "diff_files": coloured(diff, marked),
        "edits": wording.edits(past),
        "flag_count": len(marked),
        "counts": past.patch.counts(),
        "checks": _checks(past),
        "open_points": tuple(harmless(point, longest=500) for point in wording.open_points(past)),
        "others": view.others(past),
        "unique": past.choice is not None and not past.choice.others,
        "unproven": wording.unproven(past),
        "attempts": view.attempts(past),
        "attempts_left_out": max(0, len(past.steps) - view.MOST_ATTEMPTS),
        "score_chart": charts.score_chart(past) if len(past.steps) > 1 else None,
        "spending_chart": charts.spending_chart(past) if len(past.steps) > 1 and tokens else None,
        "legend": [(charts.form(colours[name]), name) for name in past.rungs],
        "heat": heat(past),
        "meaning": MEANING,
        "commands": wording.commands(past),
        "facts": _facts(past),
    }


def _style() -> str:
    return resources.files(__package__).joinpath("style.css").read_text("utf-8")


def _flags(past: History) -> tuple[Flag, ...]:
    """Return the lines to look at; the answers that tests expect are not known here, the guard has judged those."""
    ground = Territory(frozenset(past.patch.paths))
    large = [change for change in past.patch.changes if len(change.after or b"") > _LARGEST]
    looked_at = Patch(tuple(change for change in past.patch.changes if change not in large))
    unseen = (Flag(change.path, 0, "too-large", "too large to be looked through here") for change in large)
    return (*flags(looked_at, ground), *unseen)


_LARGEST = 500_000  # bytes of a file


def _checks(past: History) -> list[tuple[str, str, str]]:
    """Return the name, the outcome and the meaning of each check of the last proof."""
    proof = past.proof
    checks = proof.checks if proof else past.result.get("checks", {})
    reasons = proof.reasons if proof else {}
    return [
        (harmless(name), value, harmless(reasons.get(name, "")) or wording.CHECKS.get(name, ""))
        for name, value in checks.items()
    ]


def _facts(past: History) -> list[tuple[str, str]]:
    facts, sandbox = past.facts, past.result.get("sandbox", {})
    network = {True: ", with network", False: ", without network"}.get(sandbox.get("network"), "")
    told = {
        "Run": past.run_id,
        "Commit": f"{facts.get('base_commit') or 'none'}{' with changes' if facts.get('dirty') else ''}",
        "Python": facts.get("python"),
        "pytest": facts.get("pytest"),
        "Sandbox": f"{facts.get('sandbox')}{network}" if facts.get("sandbox") else None,
        "Ladder": f"{past.ladder.name}: {', '.join(past.ladder.rungs)}" if past.ladder else None,
        "Resumed": f"{past.resumed} times" if past.resumed else None,
    }
    return [(name, harmless(str(value), longest=300)) for name, value in told.items() if value]
