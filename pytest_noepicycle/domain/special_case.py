"""Special-cased answers: code that was added to answer a test's own input with the answer that test expects."""

from __future__ import annotations

import ast
import functools
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from pytest_noepicycle.domain.literal_answers import RAISES, Branch, Source, literals_of
from pytest_noepicycle.domain.literals import leaves, plain
from pytest_noepicycle.domain.patch import FileChange

__all__ = ["RAISES", "Demand", "SpecialCase", "leaves", "plain", "special_cases"]

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
            if demand.expected in branch.answers and demand.inputs & branch.inputs:
                cases.setdefault((branch.line, demand.test), SpecialCase(branch.line, demand.test, not branch.known))
    return tuple(cases.values())


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
            yield Branch(branch.line, branch.subject, branch.inputs, branch.answers, known)


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
