"""Takes every decision of a recorded run again, from its journal alone: as it was, or as other thresholds say."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from pytest_noepicycle.codec import decode
from pytest_noepicycle.domain.decision import Action, Decision, Signal, Situation, decide
from pytest_noepicycle.domain.ladder import Ladder
from pytest_noepicycle.domain.redaction import HIDDEN
from pytest_noepicycle.domain.run import Attempt
from pytest_noepicycle.domain.settings import Thresholds
from pytest_noepicycle.domain.signal_quality import is_binary, widened
from pytest_noepicycle.errors import RecordError, UsageError
from pytest_noepicycle.supervisor.climbing import entered

Event = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Position:
    """Where a run stands on its ladder, rebuilt from what the journal says of attempts and decisions."""

    rung: str = ""
    since_switch: int = 0
    left_behind: tuple[str, ...] = ()
    low_used: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Totals:
    """What a run had taken and reached at some point; ``usd`` is None where a price is not known."""

    tokens: int = 0
    usd: float | None = 0.0
    seconds: float = 0.0
    attempts: int = 0
    best: float = 0.0

    def since(self, before: Totals) -> Totals:
        """Return what was taken and gained after an earlier point."""
        usd = None if self.usd is None or before.usd is None else self.usd - before.usd
        seconds, gain = self.seconds - before.seconds, self.best - before.best
        return Totals(self.tokens - before.tokens, usd, seconds, self.attempts - before.attempts, gain)


@dataclass(frozen=True, slots=True)
class Retaken:
    """One decision: as it was ``recorded``, and as it comes out ``again``; ``unlike`` names what differs."""

    number: int
    recorded: Decision
    again: Decision
    then: Totals
    rung: str
    unlike: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Replay:
    """All decisions taken again. With other thresholds it ends at the first that ``differs``: what would have come
    of another path, no journal can know.

    ``rest`` is what the run took from there to its end, ``stint`` what it took until it left the rung it was on.
    ``idle`` names the changed thresholds that decide nothing in a run of this kind.
    """

    decisions: tuple[Retaken, ...]
    changed: Mapping[str, float]
    recorded: int
    rest: Totals = field(default_factory=Totals)
    stint: Totals = field(default_factory=Totals)
    idle: tuple[str, ...] = ()

    @property
    def differing(self) -> tuple[Retaken, ...]:
        """Return the decisions that do not come out as they are recorded."""
        return tuple(one for one in self.decisions if one.unlike)


def replay(events: Iterable[Event], changed: Mapping[str, float] | None = None) -> Replay:
    """Take the decisions of a journal again, with some thresholds ``changed``.

    :raises RecordError: where the journal does not hold what a decision was taken from.
    """
    walk = _Walk(changed or {})
    try:
        for event in events:
            walk.take(event)
    except (KeyError, TypeError, ValueError) as error:
        raise RecordError(f"the journal lacks what a decision needs: {type(error).__name__}: {error}") from error
    return walk.result()


def thresholds(words: Iterable[str]) -> dict[str, float]:
    """Read ``name=value`` as changes of thresholds.

    :raises UsageError: where a name is none of them, or a value is no number of its kind.
    """
    changed: dict[str, float] = {}
    for word in words:
        name, _, text = word.partition("=")
        if name not in Thresholds.__slots__:
            raise UsageError(
                f"--set {word}: {name!r} is no threshold", hint=f"Known: {', '.join(Thresholds.__slots__)}"
            )
        try:
            changed[name] = int(text) if isinstance(getattr(Thresholds(), name), int) else float(text)
        except ValueError:
            raise UsageError(f"--set {word}: {text!r} is not a value of {name}") from None
        if changed[name] < 0 or changed[name] != changed[name]:
            raise UsageError(f"--set {word}: a threshold is not below zero")
    return changed


@dataclass(slots=True)
class _Walk:
    """Folds the journal's events, and stands after each where the run stood."""

    changed: Mapping[str, float]
    ladder: Ladder | None = None
    texts: bool = False  # a scorer judges, so that the thresholds say what is solved
    position: Position = field(default_factory=Position)
    before: list[Position] = field(default_factory=list)  # where each attempt began
    attempts: list[Attempt] = field(default_factory=list)
    firsts: dict[str, Attempt] = field(default_factory=dict)  # of each rung
    pending: Decision | None = None
    taken: list[Retaken] = field(default_factory=list)
    recorded: int = 0
    calls: dict[str, tuple[int, float | None]] = field(default_factory=dict)
    tokens: int = 0
    usd: float | None = 0.0
    seconds: float = 0.0
    best: float = 0.0
    parted: Totals | None = None  # where the first decision differed
    here: Totals | None = None  # the last that was still on that decision's rung
    left: bool = False

    def take(self, event: Event) -> None:
        """Take the next event."""
        self.seconds = max(self.seconds, float(event.get("t", 0.0)))
        match event["event"]:
            case "run_started" | "resumed":
                self.ladder = decode(Ladder, event["ladder"])
            case "task":
                self.texts = True
            case "call_reserved":
                self._booked(event["call"], event["tokens"], event["usd"])
            case "call_settled":
                self._booked(event["call"], sum(event["usage"].values()), event["usd"])
            case "attempt":
                self._attempt(event)
            case "refuted":
                self._refuted(decode(Attempt, event["attempt"]))
            case "decision":
                self._decision(event)

    def result(self) -> Replay:
        """Return what all events came to."""
        idle = () if self.texts else tuple({"success_threshold"} & self.changed.keys())
        done = Replay(tuple(self.taken), dict(self.changed), self.recorded, idle=idle)
        if self.parted is None:
            return done
        rest, stint = self._now().since(self.parted), (self.here or self.parted).since(self.parted)
        return replace(done, rest=rest, stint=stint)

    def _now(self) -> Totals:
        return Totals(self.tokens, self.usd, self.seconds, len(self.attempts), self.best)

    def _booked(self, call: str, tokens: int, usd: float | None) -> None:
        """Book a call, in the place of what was reserved for it."""
        old, dollars = self.calls.get(call, (0, 0.0))
        self.calls[call] = tokens, usd
        self.tokens += tokens - old
        self.usd = None if self.usd is None or usd is None or dollars is None else self.usd + usd - dollars

    def _attempt(self, event: Event) -> None:
        """Add an attempt; one with a number that was there already is the one that counts (the run was resumed)."""
        made = decode(Attempt, event)
        made = replace(made, effect=event.get("effect_digest", made.effect))
        earlier = made.iteration - 1
        if earlier < len(self.attempts):
            self.position = self.before[earlier]
            del self.attempts[earlier:], self.before[earlier:]
            self.firsts = {rung: one for rung, one in self.firsts.items() if one.iteration <= earlier}
        elif self.pending is not None and self.pending.action is Action.SWITCH:
            self.position = entered(self.position, self.pending)
        if not self.position.rung:
            self.position = Position(made.rung)
        self.pending = None
        self.before.append(self.position)
        self.attempts.append(made)
        self.firsts.setdefault(made.rung, made)
        self.position = replace(self.position, since_switch=self.position.since_switch + 1)
        self._count(made)

    def _refuted(self, amended: Attempt) -> None:
        """A proof did not hold: everything gained so far is given up."""
        self.attempts[-1] = amended
        self.best = 0.0

    def _count(self, made: Attempt) -> None:
        if self.texts or made.fixed:
            self.best = max(self.best, made.score)
        if self.parted is not None and not self.left:
            self.left = made.rung != self.taken[-1].rung
            self.here = self.here if self.left else self._now()

    def _decision(self, event: Event) -> None:
        self.recorded += 1
        self.pending = decode(Decision, event)
        if self.parted is not None:
            return
        situation = self._situation(event["situation"])
        again = decide(situation)
        unlike = _unlike(self.pending, again, {} if self.changed else event["situation"], situation)
        self.taken.append(Retaken(self.recorded, self.pending, again, self._now(), situation.rung, unlike))
        if self.changed and unlike:
            self.parted = self._now()

    def _situation(self, told: Mapping[str, Any]) -> Situation:
        """Rebuild what the decision looked at: the path from the events, the rest as it was written down."""
        if self.ladder is None:
            raise KeyError("the event that began the run")
        limits = self._limits(decode(Thresholds, told["thresholds"]))
        return Situation(
            ladder=self.ladder,
            rung=self.position.rung,
            attempts=self._recent(limits),
            thresholds=limits,
            budget_left=told["budget_left"],
            since_switch=self.position.since_switch,
            left_behind=frozenset(self.position.left_behind),
            low_used=frozenset(self.position.low_used),
            blocked=frozenset(told["blocked"]),
            halt=Signal(told["halt"]) if told["halt"] else None,
            solved_at=limits.success_threshold if self.texts else told["solved_at"],
            proven=not self.texts,
        )

    def _recent(self, limits: Thresholds) -> tuple[Attempt, ...]:
        """Return as many of the last attempts as a decision looks at, so that a long run costs no square of its length.

        One more than the longest patience tells whether a rung was entered by a switch, and one of each rung which
        of them were tried.
        """
        if limits.plateau_window < 1:  # then a decision looks at all of them
            return tuple(self.attempts)
        most = max(2, limits.plateau_window, limits.fixation_threshold, limits.grace_period) + 1
        last = self.attempts[-most:]
        known = {one.rung for one in last}
        return (*(one for rung, one in self.firsts.items() if rung not in known), *last)

    def _limits(self, limits: Thresholds) -> Thresholds:
        """Return the thresholds as they were, but for those that are changed; patience with two scores stays."""
        if not self.changed:
            return limits
        other = replace(limits, **self.changed)  # type: ignore[arg-type]
        if not self.texts or "plateau_window" not in self.changed:
            return other
        return widened(other) if is_binary([one.score for one in self.attempts if one.candidates]) else other


def _unlike(recorded: Decision, again: Decision, told: Mapping[str, Any], situation: Situation) -> tuple[str, ...]:
    """Name what differs. The reason is compared too, but where thresholds are named in it or a secret was in it."""
    unlike = [name for name in ("action", "rung", "stop") if getattr(recorded, name) != getattr(again, name)]
    if not told:
        return tuple(unlike)
    if recorded.signal != again.signal:
        unlike.append("signal")
    if recorded.reason != again.reason and HIDDEN not in recorded.reason:
        unlike.append("reason")
    path = {"rung": situation.rung, "since_switch": situation.since_switch}
    unlike += [f"situation.{name}" for name, value in path.items() if told[name] != value]
    sets = {"left_behind": situation.left_behind, "low_used": situation.low_used}
    return (*unlike, *(f"situation.{name}" for name, value in sets.items() if frozenset(told[name]) != value))
