"""Special-cased answers: code that was added to answer a test's own input with the answer that test expects."""

from __future__ import annotations

import ast
import difflib
import functools
import re
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from pytest_noepicycle.domain.literal_answers import RAISES, Branch, Source, literals_of
from pytest_noepicycle.domain.literals import leaves, plain
from pytest_noepicycle.domain.patch import FileChange

__all__ = ["RAISES", "Demand", "SpecialCase", "leaves", "plain", "special_cases"]

_SHORT = 2  # characters; a shorter answer stands in any text
_SIMILAR = 0.8  # a text that is so much like one before is that one, corrected
_SAME_SUBJECT = 2  # so many branches of a kind in a function are its way of doing things


@dataclass(frozen=True, slots=True)
class Demand:
    """What a target asks: for these literal ``inputs`` this ``expected`` answer, each as :func:`plain` writes it."""

    test: str
    inputs: frozenset[str]
    expected: str


@dataclass(frozen=True, slots=True)
class SpecialCase:
    """A line that knows a test; ``refused`` is False where it may as well be an ordinary part of the product."""

    line: int
    test: str
    refused: bool


def special_cases(change: FileChange, demands: Iterable[Demand]) -> tuple[SpecialCase, ...]:
    """Return what a change adds that answers a demand's inputs with its expected value."""
    wanted = tuple(demands)
    if not wanted or change.after is None or not change.path.endswith(".py"):
        return ()
    before, after = _read(change.before or b""), _parse(change.after)
    if after is None or not literals_of(after) - before.literals:
        return ()  # a change that brings no literal answers nothing
    now = Source.of(after)
    cases: dict[tuple[int, str], SpecialCase] = {}
    for branch in (*_added_branches(before, now), *_added_rows(before, now)):
        for demand in wanted:
            if _answered(demand, branch) and (branch.hidden or _met(demand, branch)):
                cases.setdefault((branch.line, demand.test), SpecialCase(branch.line, demand.test, not branch.known))
    for line, demand in _written_out(before, now, wanted):
        cases.setdefault((line, demand.test), SpecialCase(line, demand.test, refused=True))
    return tuple(cases.values())


def _answered(demand: Demand, branch: Branch) -> bool:
    """Whether a branch gives the expected answer; an exception may go by another name than the test's."""
    if demand.expected.startswith(RAISES):
        return any(answer.startswith(RAISES) for answer in branch.answers)
    return demand.expected in branch.answers and (not branch.hidden or len(demand.expected) > _SHORT)


def _met(demand: Demand, branch: Branch) -> bool:
    return bool(demand.inputs & branch.inputs)


def _written_out(before: Source, after: Source, demands: Iterable[Demand]) -> Iterator[tuple[int, Demand]]:
    """Yield the lines of new texts in which a demand's input and its answer stand, each by itself."""
    had = [text for _, text in before.texts]
    for line, text in after.texts:
        if text not in had and not difflib.get_close_matches(text, had, n=1, cutoff=_SIMILAR):
            yield from ((line, demand) for demand in demands if _holds(text, demand))


def _holds(text: str, demand: Demand) -> bool:
    answer = demand.expected.strip("'\"")
    asked = [part for part in (leaf.strip("'\"") for leaf in demand.inputs) if part != answer]
    return len(answer) >= _SHORT and _stands(answer, text) and any(_stands(part, text) for part in asked)


def _stands(word: str, text: str) -> bool:
    return len(word) > 1 and re.search(rf"(?<![\w-]){re.escape(word)}(?![\w-])", text) is not None


@functools.lru_cache(maxsize=32)
def _read(source: bytes) -> Source:
    """Read a file of the baseline: thousands of candidates change the same few."""
    tree = _parse(source)
    return Source.of(tree) if tree is not None else Source()


def _parse(source: bytes) -> ast.Module | None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return ast.parse(source)
        except (SyntaxError, ValueError, RecursionError):
            return None


def _added_branches(before: Source, after: Source) -> Iterator[Branch]:
    """Yield the branches that are more than there were: one whose literal was changed is not a new one."""
    seen = {(branch.subject, branch.inputs) for branch in before.branches}
    counts = _by_subject(before.branches)
    grown = {subject for subject, many in _by_subject(after.branches).items() if many > counts[subject]}
    for branch in after.branches:
        if (branch.subject, branch.inputs) not in seen:
            chain = counts[branch.subject] >= _SAME_SUBJECT
            known = chain or branch.subject not in grown
            yield replace(branch, known=known)


def _by_subject(branches: Iterable[Branch]) -> Counter[str]:
    return Counter(branch.subject for branch in branches)


def _added_rows(before: Source, after: Source) -> Iterator[Branch]:
    """Yield the rows of literal tables, input to answer, that are new."""
    had = {row for rows in before.tables for row in rows}
    keys = {row[0] for row in had}
    for rows in after.tables:
        grown = any(len(rows.keys() & table.keys()) >= _SAME_SUBJECT for table in before.tables)
        for row, line in rows.items():
            if row not in had:
                known = grown or row[0] in keys
                yield Branch(line, "table", frozenset(row[0]), frozenset({row[1]}), known)
