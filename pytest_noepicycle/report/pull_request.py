"""The pull request of a run: its title, its body, and the notes under it; foreign text appears in it as code only."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pytest_noepicycle.domain.evidence import Flag
from pytest_noepicycle.domain.patch import Patch
from pytest_noepicycle.domain.publishing import marker
from pytest_noepicycle.report import wording
from pytest_noepicycle.report.text import fenced, harmless

LONGEST = 60_000  # characters; GitHub takes 65,536
_LONGEST_TITLE = 120
_MOST_ROWS = 40
_MOST_LINES = 200
_MOST_NAMED = 5  # tests in a sentence
# What GitHub makes more of than text, in a body and in the commit message that a merge makes of it.
_SPEAKING = re.compile(r"@(?=[\w-])|#(?=\d)|\bGH-(?=\d)|/(?:issues|pull|discussions|commit)/(?=\w)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Told:
    """All that a pull request says: ``result`` and ``events`` as the record holds them, untrusted but for the patch.

    ``remarks`` are sentences of ours about how it was published; ``run_url`` leads to the job and its artifacts.
    """

    result: Mapping[str, Any]
    patch: Patch
    base: str
    commit: str
    events: Sequence[Mapping[str, Any]] = ()
    flags: tuple[Flag, ...] = ()
    remarks: tuple[str, ...] = field(default=())
    run_url: str = ""


def title(told: Told) -> str:
    """Return the title: how many tests of how many, and where the change lies."""
    fixed, targets = _fixed(told), _targets(told)
    share = f"{len(fixed)}" if len(fixed) == len(targets) else f"{len(fixed)} of {len(targets)}"
    tests = "test" if len(targets) == 1 else "tests"
    where = ", ".join(told.patch.paths[:3]) + (" and more" if len(told.patch.paths) > 3 else "")
    return spoken_for(f"Mend {share} failing {tests} in {where}")


def spoken_for(text: str) -> str:
    """Return foreign text as a title: one line, nothing in it that GitHub reacts to."""
    return _inert(text, longest=_LONGEST_TITLE).replace("\n", " ").replace("`", "'")


def body(told: Told) -> str:
    """Return the body, at most :data:`LONGEST` characters; what does not fit is left out from the end, and said."""
    parts = [
        _head(told),
        _failed(told),
        _changed(told),
        _evidence(told),
        _chart(told),
        _cost(told),
        _open_points(told),
        _flags(told),
        _ways(told),
        _log(told),
    ]
    kept, length = list[str](), 0
    for part in filter(None, parts):
        length += len(part) + 2
        if length > LONGEST - 200:
            kept.append("_The rest was left out: it is in the run's artifact._")
            break
        kept.append(part)
    return "\n\n".join(kept) + "\n"


def note(kind: str, told: Told | None, base: str) -> str:
    """Return the comment of a kind, with the mark by which it is known again."""
    if kind == "green":
        text = (
            f"Every test of {quoted(base)} passes again without this change, so it is closed here. "
            "The branch stays. Opened again, it is left to you."
        )
    else:
        text = (
            "A newer run has another patch for this failure. This branch holds a person's commit, so it is left alone."
        )
        if told is not None:
            diff = _inert(told.patch.diff().decode("utf-8", "replace"), longest=20_000)
            text += f" Proven at {quoted(told.commit[:12])}:\n\n{fenced(diff, 'diff')}"
    return f"{text}\n\n{marker(kind)}\n"


def quoted(value: object, longest: int = 160) -> str:
    """Return foreign text as code on one line, for a sentence or a table."""
    flat = re.sub(r"\s+", " ", _inert(str(value), longest=longest)).replace("|", "\\|").strip()
    if not flat:
        return ""
    fence = "`" * (1 + max((len(run) for run in re.findall(r"`+", flat)), default=0))
    pad = " " if "`" in flat else ""
    return f"{fence}{pad}{flat}{pad}{fence}"


def _inert(text: str, *, longest: int) -> str:
    """Break what names a person, an issue or a commit, so that nobody is told and nothing is closed."""
    near = text[: 4 * longest]  # far beyond the cut, so that no secret is seen by half
    return _SPEAKING.sub(lambda found: f"{found[0][:1]}\u200b{found[0][1:]}", harmless(near, longest=longest))


def _head(told: Told) -> str:
    fixed, targets = _fixed(told), _targets(told)
    which = f"{len(fixed)} of {len(targets)} failing tests of {quoted(told.base)} mended"
    first = f"**{which}.**" if len(fixed) == len(targets) else f"**A partial gain: {which}; the others still fail.**"
    sandbox = quoted(_mapping(told.result.get("sandbox")).get("kind", "unknown"))
    proof = f"Proven at {quoted(told.commit[:12])} by a cold run of the whole suite in a sandbox ({sandbox})."
    return "\n\n".join([f"{first} {proof} Read it before you merge it.", *told.remarks])


def _failed(told: Told) -> str:
    mended, how = set(_fixed(told)), _reasons(told.events)
    tests = _targets(told)
    shown = tests[:_MOST_ROWS]
    rows = [(quoted(t), quoted(how.get(t, "")), "mended" if t in mended else "still fails") for t in shown]
    return _section("What failed", _table(("Test", "How", "Now"), rows, of=len(tests)))


def _reasons(events: Iterable[Mapping[str, Any]]) -> dict[str, str]:
    failures = [f for event in events if event.get("event") == "triaged" for f in _list(event.get("real"))]
    known = [failure for failure in failures if isinstance(failure, Mapping)]
    return {
        str(f.get("test")): f"{f.get('exception', '')}: {str(f.get('message', '')).split(chr(10))[0]}" for f in known
    }


def _changed(told: Told) -> str:
    added, removed = told.patch.counts()
    files = ", ".join(quoted(path) for path in told.patch.paths[:_MOST_ROWS])
    lines = [f"{files}: {added} lines added, {removed} removed."]
    notes = [event for event in told.events if event.get("event") == "attempt" and event.get("fixed")]
    edits = _edits(told, [str(event.get("note", "")) for event in notes])
    if edits:
        return _section("What changed, and why that is the cause", "\n".join([*lines, *edits]))
    lines += [f"- {quoted(event.get('rung', ''))}: {quoted(event.get('note', ''), 400)}" for event in notes[-3:]]
    reason = _reason_of(told)
    if reason:
        lines.append(f"- Why there: {quoted(reason, 400)}")
    return _section("What changed, and why that is the cause", "\n".join(lines))


def _edits(told: Told, kept: Sequence[str]) -> list[str]:
    """Return a line for each edit that the attempts kept: what it changed, which tests it mends, why that place."""
    lines = dict[str, str]()
    for event in told.events:
        note, mends = str(event.get("note", "")), _list(event.get("fixed"))
        if event.get("event") == "candidate" and note and mends and any(note in one for one in kept):
            names = ", ".join(quoted(name) for name in mends[:_MOST_NAMED])
            more = f" and {len(mends) - _MOST_NAMED} more" if len(mends) > _MOST_NAMED else ""
            reason = quoted(_mapping(event.get("detail")).get("reason", ""), 400)
            lines[note] = f"- {quoted(note, 400)} mends {names}{more}" + (f". Why there: {reason}" if reason else "")
    return [*lines.values()][:_MOST_ROWS]


def _reason_of(told: Told) -> str:
    """Return why the repairer looked at that place, where the record says it for these very bytes."""
    for event in reversed(told.events):
        if event.get("event") == "candidate" and event.get("patch") == told.patch.digest:
            return str(_mapping(event.get("detail")).get("reason", ""))
    return ""


def _evidence(told: Told) -> str:
    checks = _mapping(told.result.get("checks"))
    rows = [
        (quoted(name), quoted(value), wording.CHECKS.get(str(name), ""))
        for name, value in [*checks.items()][:_MOST_ROWS]
    ]
    return _section("Evidence", _table(("Check", "Result", "What it shows"), rows))


def _chart(told: Told) -> str:
    """Draw score and spending by attempt, both as percentages: of the failing tests, and of the budget."""
    tries = [event for event in told.events if event.get("event") == "attempt"][:30]
    if len(tries) < 2:
        return ""
    cap = _number(_mapping(told.result.get("tokens")).get("cap")) or 1.0
    spent, spending, scores = 0.0, list[str](), list[str]()
    for event in tries:
        spent += _number(event.get("tokens"))
        spending.append(f"{min(100.0, 100 * spent / cap):.0f}")
        scores.append(f"{max(0.0, min(100.0, 100 * _number(event.get('score')))):.0f}")
    numbers = ", ".join(str(place) for place in range(1, len(tries) + 1))
    lines = ["xychart-beta", f"    x-axis [{numbers}]", '    y-axis "percent" 0 --> 100']
    lines += [f"    bar [{', '.join(spending)}]", f"    line [{', '.join(scores)}]"]
    text = "Line: share of the failing tests mended, by attempt. Bars: share of the token budget spent."
    return _section("Course", f"{text}\n\n" + fenced("\n".join(lines), "mermaid"))


def _cost(told: Told) -> str:
    tokens, money = _mapping(told.result.get("tokens")), told.result.get("cost_usd")
    spent = f"{_number(tokens.get('spent')):.0f} of {_number(tokens.get('cap')):.0f} tokens"
    dollars = f"${_number(money):.4f}" if isinstance(money, int | float) else "a cost that is not known"
    stop = f"{quoted(told.result.get('stop_reason', ''))}: {quoted(told.result.get('stop_sentence', ''))}"
    seconds = f"{_number(told.result.get('duration_s')):.0f} s"
    return _section("Why it stopped, and what it cost", f"{stop}\n\n{spent}, {dollars}, {seconds}.")


def _open_points(told: Told) -> str:
    tests = _mapping(told.result.get("tests"))
    unchecked = len(_list(tests.get("unchecked")))
    points = [f"{unchecked} tests passed outside the sandbox and were not run in it."] if unchecked else []
    points += [f"{quoted(test)} still fails." for test in _list(tests.get("still_failing"))[:_MOST_ROWS]]
    for kind in ("flaky", "environment", "contradicting", "held_out"):
        names = _list(tests.get(kind))
        if names:
            points.append(f"{kind.replace('_', ' ')}: {', '.join(quoted(name) for name in names[:10])}")
    for name, value in _mapping(told.result.get("checks")).items():
        if value == "impossible":
            points.append(f"The check {quoted(name)} was not possible here.")
    for skipped in _list(told.result.get("skipped_rungs"))[:10]:
        points.append(
            f"{quoted(_mapping(skipped).get('rung', ''))} was not used: {quoted(_mapping(skipped).get('why'))}"
        )
    points += [quoted(warning, 400) for warning in _list(told.result.get("warnings"))[:10]]
    points.append("No test outside this suite was run, and nobody has read the change yet.")
    return _section("What was not checked", "\n".join(f"- {point}" for point in points))


def _flags(told: Told) -> str:
    rows = [(quoted(f"{f.path}:{f.line}"), f.flag, quoted(f.why)) for f in told.flags[:_MOST_ROWS]]
    return _section("Lines to read twice", _table(("Where", "Flag", "Why"), rows, of=len(told.flags)))


def _ways(told: Told) -> str:
    text = (
        "Merge it, change it, or close it. A commit of yours on this branch is never overwritten; "
        "closed, this failure gets no other pull request."
    )
    link = f" [The run]({told.run_url}) has the record as an artifact." if told.run_url.startswith("http") else ""
    return f"---\n\n{text}{link}"


def _log(told: Told) -> str:
    known = [event for event in told.events if event.get("event") in ("attempt", "decision", "verdict")]
    if not known:
        return ""
    shown = "\n".join(_log_line(event) for event in known[:_MOST_LINES])
    shown += f"\n… {len(known) - _MOST_LINES} more" if len(known) > _MOST_LINES else ""
    return f"<details><summary>Decision log</summary>\n\n{fenced(shown, 'text')}\n\n</details>"


def _log_line(event: Mapping[str, Any]) -> str:
    kind, after = event.get("event"), f"{_number(event.get('t')):8.1f} s"
    if kind == "attempt":
        head = f"{event.get('iteration')} {event.get('rung')} score {_number(event.get('score')):.2f}"
        return f"{after}  attempt {_inert(head, longest=120)}"
    if kind == "decision":
        words = f"{event.get('action')} ({event.get('signal')}): {event.get('reason')}"
        return f"{after}  decision {_inert(words, longest=240)}".replace("\n", " ")
    return f"{after}  verdict {'holds' if event.get('holds') is True else 'does not hold'}"


def _fixed(told: Told) -> list[str]:
    targets = set(_targets(told))
    return [str(test) for test in _list(_mapping(told.result.get("tests")).get("fixed")) if str(test) in targets]


def _targets(told: Told) -> list[str]:
    return [str(test) for test in _list(_mapping(told.result.get("tests")).get("targets"))]


def _section(name: str, content: str) -> str:
    return f"## {name}\n\n{content}" if content else ""


def _table(head: Sequence[str], rows: Sequence[Sequence[str]], *, of: int = 0) -> str:
    lines = [f"| {' | '.join(row)} |" for row in (head, ["---"] * len(head), *rows)]
    more = f"\n\n… and {of - len(rows)} more." if of > len(rows) else ""
    return "\n".join(lines) + more if rows else ""


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _number(value: object) -> float:
    return float(value) if isinstance(value, int | float) and value == value else 0.0
