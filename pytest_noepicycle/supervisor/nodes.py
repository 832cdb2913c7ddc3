"""The steps of the loop. Each takes the state and returns the next; what it measured is in the journal."""

from __future__ import annotations

from dataclasses import replace

from pytest_noepicycle.codec import encode
from pytest_noepicycle.domain.decision import Action, Decision, Signal, Situation
from pytest_noepicycle.domain.decision import decide as decided
from pytest_noepicycle.domain.patch import Patch
from pytest_noepicycle.domain.run import StopReason
from pytest_noepicycle.domain.score import Baseline
from pytest_noepicycle.errors import SandboxError
from pytest_noepicycle.stages import baseline as ground
from pytest_noepicycle.stages.contradicting import paired
from pytest_noepicycle.stages.demands import demands
from pytest_noepicycle.stages.ending import ending
from pytest_noepicycle.stages.holdout import hold_out
from pytest_noepicycle.stages.names import by_file
from pytest_noepicycle.stages.neighbours import Company, Orders, by_neighbours
from pytest_noepicycle.stages.running import Clocks, bounded
from pytest_noepicycle.stages.scene import Surroundings
from pytest_noepicycle.stages.triage import Triage, collection_notes, triage
from pytest_noepicycle.supervisor.alternatives import choice
from pytest_noepicycle.supervisor.attempts import account, told, try_rung
from pytest_noepicycle.supervisor.climbing import entered
from pytest_noepicycle.supervisor.proof import proof_seconds, prove, smallest
from pytest_noepicycle.supervisor.state import Floor, State
from pytest_noepicycle.supervisor.survey import context, installed, own_modules, whole_suite
from pytest_noepicycle.supervisor.work import Work


def baseline(state: State, work: Work) -> State:
    """Sort the failures, freeze what is to be mended and what is to be kept."""
    around = Surroundings(work.territory.taken | own_modules(work), work.snapshot.files, work.snapshot.read)
    sorted_out = _triaged(work, around)
    work.watcher.stage("baseline: running the suite in the sandbox")
    first = whole_suite(work)
    sorted_out = _with_neighbours(sorted_out, first, work, around)
    for note in collection_notes(sorted_out.real, around):
        work.watcher.stage(note)
    frozen = ground.freeze(sorted_out.real, first, work.session.passed)
    clashes = paired(ground.contradictions(frozen.targets, frozen.guards, work.snapshot.read))
    clashes = (*clashes, *installed(frozen.targets, work))
    clashing = {finding.test for finding in clashes}
    real = tuple(failure for failure in sorted_out.real if failure.test not in clashing)
    frozen = ground.freeze(real, first, work.session.passed)
    frozen = replace(frozen, held=hold_out(frozen.targets, work.settings.holdout).held)
    _remember(frozen, first, work)
    state = replace(state, baseline=frozen, failures=real, findings=(*sorted_out.findings, *clashes))
    work.journal.write("baseline", **encode(frozen), findings=encode(state.findings), seconds=first.seconds)
    return _nothing_to_mend(state) if not real else _looked_only(state, work)


def measure_again(state: State, work: Work) -> None:
    """Measure what a run that was broken off knew beside its state: it goes on from there."""
    work.watcher.stage("baseline: running the suite in the sandbox")
    _remember(state.baseline, whole_suite(work), work)


def _remember(frozen: Baseline, first: ground.Ground, work: Work) -> None:
    work.memory.territory = replace(
        work.territory,
        tests_in=by_file((*first.collected, *frozen.targets)),
        demands=demands(frozen.targets, work.snapshot.read),
    )
    work.memory.proof_seconds = proof_seconds(work)


def _triaged(work: Work, around: Surroundings) -> Triage:
    work.watcher.stage("triage: running what failed again")
    sorted_out = triage(
        work.session.failed,
        bounded(work.run, work.clock, work.clock() + work.remaining / 4),
        fresh=bounded(work.run_fresh, work.clock, work.clock() + work.remaining / 4),
        executor=work.executor,
        reruns=work.settings.reruns,
        clocks=Clocks(work.session.durations, work.settings.test_timeout),
        seconds=work.remaining / 4,
        known=around.modules,
        around=around,
    )
    work.journal.write("triaged", **encode(sorted_out))
    return sorted_out


def _with_neighbours(sorted_out: Triage, first: ground.Ground, work: Work, around: Surroundings) -> Triage:
    """Look for the tests behind what fails only in company; an eighth of the time that is left is the most it takes."""
    if sorted_out.absent or sorted_out.swayed:
        work.watcher.stage("triage: looking for the tests that others fail together with")
    until = work.clock() + work.remaining / 8
    company = Company(
        bounded(work.run, work.clock, until),
        Clocks({**work.session.durations, **first.durations}, work.settings.test_timeout),
        seconds=work.remaining / 8,
        out_of_time=lambda: work.clock() >= until,
    )
    orders = Orders(tuple(work.session.durations), first.collected, first.outcomes)
    return by_neighbours(sorted_out, orders, company, around)


def _looked_only(state: State, work: Work) -> State:
    if not work.settings.dry_run:
        return state
    known = context(state, work)
    estimate = work.preview(known)
    work.journal.write("suspects", suspects=encode(known.suspects[:20]), estimate=encode(estimate))
    shown = tuple(f"{one.path}:{one.line}  {one.reason}" for one in known.suspects[:10])
    return replace(state, stop=StopReason.DRY_RUN, suspects=shown, estimate=estimate)


def _nothing_to_mend(state: State) -> State:
    """End where nothing is left that a patch could mend."""
    stop, why = ending(state.findings)
    return replace(state, stop=stop, why=why)


def attempt(state: State, work: Work) -> State:
    """Let the rung propose, try what the guard lets through, keep what gains."""
    work.watcher.stage(f"{state.rung}: proposing")
    tried = try_rung(state, work)
    searching = work.ladder.rungs[state.rung].kind == "search"
    made = account(tried, state, searching=searching)
    screening = tried.screening
    work.journal.write("attempt", **encode(made), **told(tried, made, work))
    floors = state.floors
    if state.best not in (Patch(), screening.standing.patch):
        floors = (*floors, Floor(state.best, state.fixed, state.gains))
    return replace(
        state,
        floors=floors,
        attempts=(*state.attempts, made),
        since_switch=state.since_switch + 1,
        best=screening.standing.patch,
        fixed=tuple(t for t in state.baseline.targets if t in screening.standing.fixed),
        gains=(*state.gains, *(judged.proposal.patch.digest for judged in screening.gains)),
        stop=StopReason.INTERRUPTED if screening.interrupted else None,
    )


def decide(state: State, work: Work) -> State:
    """Take the decision: pure, from the situation alone."""
    situation = Situation(
        ladder=work.ladder,
        rung=state.rung,
        attempts=state.attempts,
        thresholds=work.settings.thresholds,
        budget_left=_budget_left(work),
        since_switch=state.since_switch,
        left_behind=frozenset(state.left_behind),
        low_used=frozenset(state.low_used),
        blocked=work.blocked,
        halt=_halt(state, work),
    )
    decision = decided(situation)
    inputs = {k: v for k, v in encode(situation).items() if k not in ("ladder", "attempts")}
    work.journal.write("decision", **encode(decision), situation=inputs)
    work.told(situation, decision)
    return replace(state, decision=decision)


def _budget_left(work: Work) -> float:
    """A server that took more than was set aside for it leaves nothing to trust the rest to."""
    ledger = work.purse.ledger
    return 0.0 if ledger.overrun else ledger.left_share


def _halt(state: State, work: Work) -> Signal | None:
    if state.stop is StopReason.INTERRUPTED:
        return Signal.INTERRUPTED
    return Signal.OUT_OF_TIME if work.remaining - work.memory.proof_seconds < _NO_TIME else None


_NO_TIME = 0.01  # seconds in which nothing can be asked: a call that used all it was given has ended the run's time


def climb(state: State, work: Work) -> State:
    """Enter the rung that the decision names, with a clean mind."""
    decision = _decision(state)
    work.watcher.stage(f"{state.rung} → {decision.rung}: {decision.reason}")
    return entered(state, decision)


def verify(state: State, work: Work) -> State:
    """Prove the best in a fresh, cold run; a patch that fails it is never looked at again."""
    state = smallest(state, work)
    verdict = prove(state, work)
    if verdict.holds and set(state.baseline.targets) <= {*verdict.fixed, *verdict.unsteady}:
        return replace(
            state, stop=StopReason.SOLVED, verified=True, checks=dict(verdict.checks), why=_because(state), broken=()
        )
    work.memory.standing = None
    after = replace(state, refuted=(*state.refuted, state.best.digest), checks=dict(verdict.checks))
    # A part of it may have held: that is kept, unless what had been gained before it mends as much.
    fallen = after.fallen()
    part = verdict.holds and not set(verdict.fixed) <= set(fallen.fixed)
    after = replace(after, fixed=verdict.fixed) if part else fallen
    newest = [gain for gain in state.gains if gain not in after.gains]
    if len(newest) > 1:  # one of several was wrong: each may be offered again, but not all of them together
        work.gate.seen.difference_update(newest)
    amended = replace(
        state.attempts[-1],
        score=after.value,
        delta=0.0,
        effect=f"refuted:{state.best.digest}",
        note=verdict.why,
    )
    work.journal.write("refuted", patch=state.best.digest, attempt=encode(amended))
    return replace(after, attempts=(*state.attempts[:-1], amended))


def compare(state: State, work: Work) -> State:
    """See whether the tests pin the solution down. It is proven already: nothing that happens here can change that."""
    try:
        return replace(state, choice=choice(state, work))
    except KeyboardInterrupt:
        work.journal.write("choice_lost", why="interrupted")
    except Exception as error:  # noqa: BLE001 - named in the journal; a proven result is not given up for a comparison
        work.journal.write("choice_lost", why=f"{type(error).__name__}: {error}")
    return state


def close(state: State, work: Work) -> State:
    """End the run; a gain short of everything is proved too, or dropped."""
    decision = _decision(state)
    state = replace(state, stop=_final(state, work, decision), why=decision.reason)
    return _doubted(_proven_gain(smallest(state, work) if state.best != Patch() else state, work), work)


def _doubted(state: State, work: Work) -> State:
    """Record what rungs said against tests; where that is all that is left, it is why the run ends."""
    for finding in state.doubts:
        work.journal.write("finding", **encode(finding))
    left = set(state.baseline.targets) - set(state.fixed if state.verified else ())
    if state.stop not in _NOTHING_HELPED or not left or not left <= {finding.test for finding in state.doubts}:
        return state
    return replace(state, stop=StopReason.TEST_SUSPECT, why=f"{state.doubts[0].hint} ({state.why})")


_NOTHING_HELPED = (StopReason.EXHAUSTED, StopReason.PLATEAU)


def _proven_gain(state: State, work: Work) -> State:
    """Prove the best; where that does not hold, what it grew from, down to nothing."""
    why = state.why
    while state.best != Patch():
        verdict = prove(state, work)
        if verdict.holds:
            return replace(state, verified=True, fixed=verdict.fixed, checks=dict(verdict.checks))
        state = replace(
            state,
            refuted=(*state.refuted, state.best.digest),
            checks=dict(verdict.checks),
            why=f"{why}; the gain so far: {verdict.why}",
        ).fallen()
    return state


def _final(state: State, work: Work, decision: Decision) -> StopReason:
    """Say refused where nothing was ever let through to the sandbox."""
    tried = sum(attempt.candidates for attempt in state.attempts)
    if not tried and any(a.refused for a in state.attempts) and decision.action is Action.STOP:
        return StopReason.REFUSED
    return decision.stop or StopReason.EXHAUSTED


def lost(state: State, work: Work, error: SandboxError) -> State:
    """End without a sandbox: what was found out stays, what was gained cannot be proven any more."""
    work.journal.write("sandbox_lost", why=str(error))
    if state.stop is StopReason.SOLVED:
        return state
    return replace(state, stop=StopReason.SANDBOX_LOST, why=error.sentence(), verified=False)


def interrupted(state: State, work: Work) -> State:
    """End after Ctrl-C, wherever it struck: the best so far is proved, or, at a second Ctrl-C, dropped."""
    work.journal.write("interrupted")
    if state.stop is StopReason.SOLVED:
        return state  # struck after the proof
    state = replace(state, stop=StopReason.INTERRUPTED, why="interrupted from the keyboard", verified=False)
    now = work.memory.standing
    if now is not None and len(now.fixed) > len(state.fixed) and now.patch.digest not in state.refuted:
        floors = (*state.floors, Floor(state.best, state.fixed, state.gains)) if state.best != Patch() else ()
        mended = tuple(t for t in state.baseline.targets if t in now.fixed)
        state = replace(state, best=now.patch, fixed=mended, floors=floors)
    try:
        return _proven_gain(state, work)
    except KeyboardInterrupt:
        return replace(state, best=Patch(), fixed=(), why="interrupted twice: what was gained is not proven")


def _because(state: State) -> str:
    return next((a.note for a in reversed(state.attempts) if a.delta > 0), "")


def _decision(state: State) -> Decision:
    if state.decision is None:
        raise ValueError("no decision was taken before this step")
    return state.decision
