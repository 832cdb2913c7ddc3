"""One attempt of a rung: its proposals tried, and what that came to."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any

from pytest_noepicycle.domain.run import Attempt
from pytest_noepicycle.errors import ProviderError
from pytest_noepicycle.stages.trial import Judged, Lab, Screening, Standing, screen
from pytest_noepicycle.supervisor.purse import BudgetExhausted, BudgetOverrun
from pytest_noepicycle.supervisor.state import State
from pytest_noepicycle.supervisor.survey import context, suite_seconds
from pytest_noepicycle.supervisor.work import Work


@dataclass(frozen=True, slots=True)
class Tried:
    """What happened: the screening, what the rung said of itself, and what the attempt took."""

    screening: Screening
    said: str
    refused: int
    tokens: int
    seconds: float
    error: str | None = None
    unaffordable: bool = False
    grade: float | None = None
    doubt: str = ""


def try_rung(state: State, work: Work) -> Tried:
    """Let the present rung propose and try what comes; a provider's failure is an outcome, not an exception."""
    began, spent, refused = work.clock(), work.purse.ledger.spent, len(work.gate.refused)
    screening = Screening(Standing(state.best, frozenset(state.fixed)), 0)
    error, unaffordable = None, False
    if state.rung in work.blocked:
        return Tried(screening, "", 0, 0, 0.0, error=f"{state.rung} cannot be used here")
    try:
        screening = _screen(state, work, screening.standing)
    except (BudgetExhausted, BudgetOverrun) as problem:
        unaffordable = True
        work.journal.write("unaffordable", why=str(problem))
    except ProviderError as problem:
        error = str(problem)
    return Tried(
        screening,
        said=str(getattr(work.proposers[state.rung], "last_note", "")),
        refused=len(work.gate.refused) - refused,
        tokens=work.purse.ledger.spent - spent,
        seconds=work.clock() - began,
        error=error,
        unaffordable=unaffordable,
        grade=_graded(screening, state, work),
        doubt=str(getattr(work.proposers[state.rung], "last_doubt", "")),
    )


def _graded(screening: Screening, state: State, work: Work) -> float | None:
    """Return the finer score of the last candidate, where somebody gives one; below 1, for it cannot say solved.

    One that fails, or is no score, is said and left: the attempt keeps its own, and no other rung is paid for it.
    """
    if screening.last is None or len(screening.standing.fixed) == len(state.baseline.targets):
        return None
    try:
        given = work.grade(screening.last, state.baseline)
    except Exception as error:  # noqa: BLE001 - a hook of the project may raise anything; it is said, not hidden
        _not_a_score(f"pytest_noepi_score raised {type(error).__name__}: {error}", work)
        return None
    if given is None:
        return None
    if isinstance(given, bool) or not isinstance(given, int | float) or not 0 <= given <= 1:
        _not_a_score(f"pytest_noepi_score returned {given!r}, which is no number from 0 to 1", work)
        return None
    return min(float(given), _BELOW_SOLVED)


def _not_a_score(why: str, work: Work) -> None:
    work.journal.write("score_hook_failed", why=why)
    work.watcher.stage(f"{why}: the attempt keeps the score of its tests")


_BELOW_SOLVED = 0.999


def account(tried: Tried, state: State, *, searching: bool) -> Attempt:
    """Return the attempt as the decision sees it."""
    screening = tried.screening
    score, last, before = _score(screening, state), screening.last, state.value
    if tried.grade is not None:
        score, before = tried.grade, max((attempt.score for attempt in state.attempts), default=0.0)
    stopped = screening.halted or screening.interrupted or tried.error or tried.unaffordable
    return Attempt(
        iteration=len(state.attempts) + 1,
        rung=state.rung,
        score=score,
        delta=score - before,
        effect=_effect(screening),
        patch=last.proposal.patch.digest if last else None,
        candidates=screening.tried,
        refused=tried.refused,
        tokens=tried.tokens,
        # A search is the same each time: where it gained nothing, it has nothing else to offer.
        exhausted=searching and not screening.gains and not stopped,
        unaffordable=tried.unaffordable,
        error=tried.error,
        note=_note(tried, searching),
        fixed=tuple(sorted(screening.standing.fixed - set(state.fixed))),
        broken=tuple(sorted(last.score.lost)) if last and not screening.gains else (),
        seconds=tried.seconds,
        doubt=tried.doubt,
    )


def told(tried: Tried, made: Attempt, work: Work) -> dict[str, Any]:
    """Return what a reader of the journal wants to know beside the attempt itself.

    ``effect_digest`` stays exact where the journal has to cut a long effect short, or to hide a secret in it.
    """
    refused = work.gate.refused[len(work.gate.refused) - tried.refused :][:_MOST_REFUSALS]
    return {
        "halted": tried.screening.halted,
        "interrupted": tried.screening.interrupted,
        "effect_digest": hashlib.sha256(made.effect.encode("utf-8", "backslashreplace")).hexdigest()[:20],
        "refusals": [
            {"note": proposal.note, "path": why.path, "rule": why.rule, "why": why.why}
            for proposal, reasons in refused
            for why in reasons
        ],
    }


_MOST_REFUSALS = 20  # a search may be refused hundreds of times for the same reason


def _screen(state: State, work: Work, standing: Standing) -> Screening:
    known = context(state, work)
    searching = work.ladder.rungs[state.rung].kind == "search"
    lab = Lab(
        run=work.run,
        executor=work.executor,
        width=work.width if searching else min(work.width, work.ladder.rungs[state.rung].samples),
        baseline=state.baseline,
        clocks=work.memory.clocks(work.settings, floor=2.0),
        out_of_time=lambda: work.remaining <= work.memory.proof_seconds,
        seconds=max(30.0, 2 * suite_seconds(work) + 10),
        thorough=not searching,
        refuted=frozenset(state.refuted),
    )
    work.gate.territory = known.territory
    proposals = work.proposers[state.rung].propose(known)
    return screen(work.gate.admit(proposals), known, standing, lab, _Teller(state, work, lab.thorough))


@dataclass(slots=True)
class _Teller:
    """Tells the watcher of every candidate, and the journal of those that matter."""

    state: State
    work: Work
    thorough: bool
    tried: int = 0

    def __call__(self, judged: Judged, now: Standing) -> None:
        self.tried += 1
        self.work.memory.standing = now
        self.work.gate.seen.add(judged.proposal.patch.digest)
        if judged.score.fixed or self.thorough:
            self._record(judged)
        value = now.value(self.state.baseline)
        self.work.watcher.progress(self.state.rung, self.tried, value, self.work.purse.ledger.spent)

    def _record(self, judged: Judged) -> None:
        self.work.journal.write(
            "candidate",
            rung=self.state.rung,
            patch=judged.proposal.patch.digest,
            note=judged.proposal.note,
            detail=dict(judged.proposal.detail),
            diff=judged.proposal.patch.diff().decode("utf-8", "replace"),
            score=judged.score.value,
            fixed=sorted(judged.score.fixed),
            lost=sorted(judged.score.lost),
            failing=[failure.signature for failure in judged.failures],
        )


def _score(screening: Screening, state: State) -> float:
    """Return the attempt's own score: the gain that was kept, or what its one candidate did."""
    targets = len(state.baseline.targets)
    if screening.gains or screening.last is None or not screening.last.score.lost:
        return len(screening.standing.fixed) / targets
    last = screening.last.score
    return max(0, len(set(state.fixed) | last.fixed) - len(last.lost)) / targets


def _effect(screening: Screening) -> str:
    """Name what the attempt did, so that the same effect is seen whatever the text was."""
    if screening.last is None:
        return "nothing"
    failing = sorted(failure.signature for failure in screening.last.failures)
    return "|".join([*sorted(screening.standing.fixed), *sorted(screening.last.score.lost), *failing])


def _note(tried: Tried, searching: bool) -> str:
    if tried.screening.gains:
        return "; ".join(judged.proposal.note for judged in tried.screening.gains)
    if searching:
        return f"searched {tried.screening.tried} edits; nothing more helped"
    last = tried.screening.last
    return tried.said or (last.proposal.note if last else "")
