"""Which of several: other edits at the same place that pass the same tests, so that a reader can choose."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import islice

from pytest_noepicycle.codec import encode
from pytest_noepicycle.domain.context import Context, Suspect
from pytest_noepicycle.domain.patch import Patch, Proposal
from pytest_noepicycle.domain.run import Alternative, Choice
from pytest_noepicycle.stages.trial import Judged, Lab, try_alone
from pytest_noepicycle.supervisor.state import State
from pytest_noepicycle.supervisor.survey import context
from pytest_noepicycle.supervisor.work import Work

_MOST_TRIED, _MOST_SHOWN = 25, 3
_SECONDS = 8.0


def choice(state: State, work: Work) -> Choice | None:
    """Try what else the search would have tried at the place of a solution that it found; None where it cannot tell.

    Only a solution of one hunk is looked at. What was tried before it had failed, so that only later edits can pass
    as well; they are tried warm and proved by nothing.
    """
    place = _place(state, work)
    if place is None:
        return None
    path, lines = place
    work.watcher.stage("alternatives: do other edits at this place pass the same tests?")
    known = context(replace(state, best=Patch(), fixed=()), work)
    known = replace(known, suspects=_at(path, lines, known.suspects))
    work.gate.territory = known.territory
    made = _compared(known, state, work)
    if not made.tried:
        return None
    work.journal.write("choice", **encode(made), word=made.word)
    return made


def _compared(known: Context, state: State, work: Work) -> Choice:
    until = work.clock() + min(_SECONDS, work.remaining / 4)
    tried, found = 0, []
    for judged in _judged(_offered(known, state, work), known, state, work):
        tried += 1
        if len(judged.score.fixed) == len(state.baseline.targets) and not judged.score.lost:
            found.append(Alternative(judged.proposal.note, judged.proposal.patch.diff().decode("utf-8", "replace")))
        if len(found) == _MOST_SHOWN or work.clock() > until:
            break
    return Choice(tried, tuple(found))


def _place(state: State, work: Work) -> tuple[str, frozenset[int]] | None:
    """Return the file and the lines of the one hunk that a search has changed, if that is what the solution is."""
    last = next((attempt for attempt in reversed(state.attempts) if attempt.delta > 0), None)
    searched = last is not None and work.ladder.rungs[last.rung].kind == "search"
    if not searched or len(state.best.changes) != 1 or work.remaining < 2 * _SECONDS:
        return None
    change = state.best.changes[0]
    whole = change.before is not None and change.after is not None
    return (change.path, change.touched_lines()) if whole and len(change.hunks()) == 1 else None


def _at(path: str, lines: frozenset[int], suspects: tuple[Suspect, ...]) -> tuple[Suspect, ...]:
    """Return the suspects at these lines; the statement that they stand in may begin above them."""
    above = max((one.line for one in suspects if one.path == path and one.line <= min(lines)), default=0)
    return tuple(one for one in suspects if one.path == path and (one.line in lines or one.line == above))


def _offered(known: Context, state: State, work: Work) -> Iterator[Proposal]:
    """Yield what the search has not tried yet and the guard lets through, at this place alone."""
    rung = next(attempt.rung for attempt in reversed(state.attempts) if attempt.delta > 0)
    own = {state.best.digest}
    admitted = work.gate.admit(work.proposers[rung].propose(known))
    yield from islice((one for one in admitted if one.patch.digest not in own), _MOST_TRIED)


def _judged(proposals: Iterator[Proposal], known: Context, state: State, work: Work) -> Iterator[Judged]:
    lab = Lab(
        run=work.run,
        executor=work.executor,
        width=work.width,
        baseline=state.baseline,
        clocks=work.memory.clocks(work.settings, floor=2.0),
        out_of_time=lambda: False,
        seconds=max(1.0, min(_SECONDS, work.remaining)),
    )
    while batch := list(islice(proposals, work.width)):
        yield from work.executor.map(lambda one: try_alone(one, known, lab), batch)
