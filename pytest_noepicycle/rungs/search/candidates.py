"""Which edits there are at a suspect, and in which order all of them come."""

from __future__ import annotations

import ast
import heapq
import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from pytest_noepicycle.domain.context import Suspect
from pytest_noepicycle.rungs.search.edits import Edit
from pytest_noepicycle.rungs.search.hints import Hints
from pytest_noepicycle.rungs.search.operators import fitting
from pytest_noepicycle.rungs.search.plausibility import plausibility
from pytest_noepicycle.rungs.search.repeated import spread
from pytest_noepicycle.rungs.search.scope import Scope
from pytest_noepicycle.rungs.search.source import Source
from pytest_noepicycle.rungs.search.textual import error_line, repairs
from pytest_noepicycle.rungs.search.weights import LIKELIHOOD

_REPEAT = 0.93  # each further edit of one kind at one statement counts a little less than the one before
_UNIMPORTANT = 0.05
_SPREAD = 0.45  # a slip that was made everywhere in the function, compared with the same slip made once


@dataclass(frozen=True, slots=True)
class Candidate:
    """An edit at a suspect: ``priority`` in [0, 1] says how soon it is tried."""

    priority: float
    path: str
    line: int
    kind: str
    edit: Edit
    reason: str


def parse(path: str, raw: bytes, hints: Hints) -> Scope | Source | None:
    """Return the file ready for operators; its bare source where it does not parse; None where it cannot be edited."""
    source = Source.decode(raw)
    if source is None:
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return Scope(path, source, ast.parse(source.text), hints)
        except SyntaxError:
            return source
        except (ValueError, RecursionError, MemoryError):
            return None


def at_suspect(suspect: Suspect, scope: Scope, done: set[ast.AST]) -> Iterator[Candidate]:
    """Yield the edits of the statements that a suspect names, each statement once; ``done`` remembers them."""
    for statement in scope.at(suspect.line):
        if statement not in done:
            done.add(statement)
            yield from _at_statement(statement, suspect, scope)


def _at_statement(statement: ast.AST, suspect: Suspect, scope: Scope) -> Iterator[Candidate]:
    seen: dict[str, int] = {}
    for node in scope.own_nodes(statement):
        for operator in fitting(node):
            for found in operator.find(node, scope):
                repeat = seen.get(operator.name, 0)
                seen[operator.name] = repeat + 1
                worth = LIKELIHOOD.get(operator.name, _UNIMPORTANT) * found.likelihood * _REPEAT**repeat
                worth *= plausibility(found, node, operator.name, scope)
                if not worth:
                    continue
                for edit, share in ((found, 1.0), *((e, _SPREAD) for e in spread(found, node, operator.name, scope))):
                    line = min(scope.source.line_at(found.start), getattr(statement, "end_lineno", found.start))
                    priority = suspect.weight * min(1.0, worth * share)
                    yield Candidate(priority, suspect.path, line, operator.name, edit, suspect.reason)


def in_broken_file(suspect: Suspect, source: Source) -> Iterator[Candidate]:
    """Yield textual edits where the parser gives up, on the line before, and at the suspect."""
    place = error_line(source) or suspect.line
    places = {place: 1.0, place - 1: 0.9, suspect.line: 0.8, place - 2: 0.5, place + 1: 0.5}
    rank = 0
    for line, weight in places.items():
        for kind, edit in repairs(source, line):
            rank += 1
            priority = max(suspect.weight, 0.5) * weight * edit.likelihood * 0.999**rank
            yield Candidate(priority, suspect.path, line, kind, edit, f"the file does not parse at line {place}")


def in_order(suspects: Iterable[Suspect], expand: Callable[[Suspect], Iterable[Candidate]]) -> Iterator[Candidate]:
    """Merge the edits of all suspects, the likeliest first, and look at a suspect no sooner than it can matter."""
    heap: list[tuple[float, int, Candidate]] = []
    count = 0
    for suspect in sorted(suspects, key=lambda s: -s.weight):
        while heap and -heap[0][0] >= suspect.weight:
            yield heapq.heappop(heap)[2]
        for candidate in expand(suspect):
            count += 1
            heapq.heappush(heap, (-candidate.priority, count, candidate))
    while heap:
        yield heapq.heappop(heap)[2]
