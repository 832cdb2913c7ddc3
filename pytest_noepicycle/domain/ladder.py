"""The ladder: rungs and the edges that signals take between them, checked before a step is made."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from pytest_noepicycle.errors import LadderError

STOP = "stop"
EDGES = ("on_plateau", "on_regression", "on_fixation", "on_budget_low", "on_error")
PROVIDERS = ("anthropic", "bedrock", "vertex")
KINDS = ("search", "model", "agent")
_MODEL_KEYS = ("provider", "model", "base_url", "api_key_env", "price", "max_output", "temperature", "samples", "steps")
_RUNG_KEYS = frozenset(("kind", *_MODEL_KEYS, *EDGES))
_DEEPSEEK = (
    "noepicycle: the ladder {name!r} sends code to DeepSeek, which is subject to Chinese data jurisdiction. "
    "Do not use it with proprietary, sensitive or regulated code; the default ladder uses Claude models only."
)
_PRICE_KEYS = frozenset({"input", "output", "cache_read", "cache_write", "as_of"})


@dataclass(frozen=True, slots=True)
class Price:
    """US dollars per million tokens, and the day on which they were read."""

    input: float
    output: float
    cache_read: float = 0.0
    cache_write: float = 0.0
    as_of: str = ""


AS_OF = "2026-11-01"
PRICES: Mapping[str, Price] = {
    "claude-haiku-4-5": Price(1.00, 5.00, 0.10, 1.25, AS_OF),
    "claude-sonnet-4-6": Price(3.00, 15.00, 0.30, 3.75, AS_OF),
    "claude-opus-4-8": Price(5.00, 25.00, 0.50, 6.25, AS_OF),
    "claude-haiku-5-5": Price(0.10, 0.50, 0.01, 0.125, AS_OF),
    "claude-sonnet-5-5": Price(2.00, 10.00, 0.10, 2.50, AS_OF),
    "claude-opus-5-5": Price(4.00, 20.00, 0.20, 5.00, AS_OF),
}
"""What the models of the shipped ladders cost; a test holds them against the files."""


@dataclass(frozen=True, slots=True)
class Rung:
    """One way to propose: a name, a kind, for a model where it lives and what it costs, and its edges.

    ``samples`` answers are taken at once to each question, ``steps`` turns are the most that an agent takes.
    """

    name: str
    kind: str
    model: str = ""
    provider: str = "anthropic"
    base_url: str | None = None
    api_key_env: str = "ANTHROPIC_API_KEY"
    price: Price | None = None
    max_output: int = 4096
    temperature: float | None = None
    samples: int = 1
    steps: int = 8
    edges: Mapping[str, str] = field(default_factory=dict)

    @property
    def asks(self) -> bool:
        """Whether it asks a model, and so needs a key and may cost money."""
        return self.kind in ("model", "agent")

    def edge(self, name: str) -> str:
        """Return where a signal leads: a rung's name or ``stop``."""
        if name in self.edges:
            return self.edges[name]
        return STOP if name == "on_budget_low" else self.edges.get("on_plateau", STOP)


@dataclass(frozen=True, slots=True, init=False)
class Ladder:
    """A named graph of rungs; ``start`` is where a run begins."""

    name: str
    start: str
    rungs: Mapping[str, Rung]
    description: str = ""

    def __init__(
        self,
        rungs: Mapping[str, Any],
        *,
        name: str = "custom",
        start: str | None = None,
        description: str = "",
    ) -> None:
        """Make a ladder of rungs by name, each a :class:`Rung` or a dict of what a file would say; the first starts.

        :raises LadderError: with the path of the key that is wrong.
        """
        read = _rungs(rungs, "")
        _check(read, start or next(iter(read)), "")
        self._set(read, name, start or next(iter(read)), description)

    def _set(self, rungs: Mapping[str, Rung], name: str, start: str, description: str) -> None:
        for field_name, value in (("name", name), ("start", start), ("rungs", rungs), ("description", description)):
            object.__setattr__(self, field_name, value)

    @property
    def warning(self) -> str:
        """Return what must be said before it is used, or an empty text: where code goes, if that is no small matter."""
        abroad = any("deepseek.com" in (rung.base_url or "").lower() for rung in self.rungs.values())
        return _DEEPSEEK.format(name=self.name) if abroad else ""

    def entry(self, blocked: frozenset[str]) -> str | None:
        """Return the first rung that can be used, from the start along ``on_plateau``; None where there is none."""
        name, seen = self.start, set[str]()
        while name != STOP and name not in seen:
            if name not in blocked:
                return name
            seen.add(name)
            name = self.rungs[name].edge("on_plateau")
        return None

    @classmethod
    def from_mapping(cls, data: object, *, name: str = "custom", kinds: Collection[str] = KINDS) -> Ladder:
        """Read a ladder, in the file's form (``rungs:``) or as a plain dict of rungs of these ``kinds``.

        :raises LadderError: with the path of the key that is wrong, e.g. ``rungs.haiku.on_plateau``.
        """
        top = _mapping(data, "the ladder")
        rungs, prefix = top, ""
        if "rungs" in top:
            _known(top, {"name", "description", "start", "rungs"}, "")
            rungs, prefix = _mapping(top["rungs"], "rungs"), "rungs."
        else:
            top = {}
        read = _rungs(rungs, prefix, kinds)
        start = str(top.get("start", next(iter(read))))
        _check(read, start, prefix)
        ladder = cls.__new__(cls)
        ladder._set(read, str(top.get("name", name)), start, str(top.get("description", "")))
        return ladder

    def without(self, kind: str) -> Ladder | None:
        """Return the ladder without its rungs of one kind, edges led past them; None where nothing is left."""
        kept = {name: rung for name, rung in self.rungs.items() if rung.kind != kind}
        gone = frozenset(self.rungs) - kept.keys()
        start = self.entry(gone)
        if start is None:
            return None
        led = {name: replace(rung, edges=self._led_past(rung, gone)) for name, rung in kept.items()}
        reached = _reachable(led, start)
        rungs = {name: rung for name, rung in led.items() if name in reached}
        return Ladder(rungs, name=self.name, start=start, description=self.description)

    def _led_past(self, rung: Rung, gone: frozenset[str]) -> dict[str, str]:
        return {edge: self._past(target, gone) for edge, target in rung.edges.items()}

    def _past(self, name: str, gone: frozenset[str]) -> str:
        seen = set[str]()
        while name in gone and name not in seen:
            seen.add(name)
            name = self.rungs[name].edge("on_plateau")
        return STOP if name in gone else name


def _rungs(data: object, prefix: str, kinds: Collection[str] = KINDS) -> dict[str, Rung]:
    rungs = _mapping(data, prefix.rstrip(".") or "the ladder")
    if not rungs:
        raise LadderError(f"{prefix or 'the ladder'}: a ladder needs at least one rung")
    return {
        str(name): value if isinstance(value, Rung) else _rung(str(name), value, f"{prefix}{name}", kinds)
        for name, value in rungs.items()
    }


def _rung(name: str, data: object, where: str, kinds: Collection[str]) -> Rung:
    values = _mapping(data, where)
    _known(values, _RUNG_KEYS, where + ".")
    kind = str(values.get("kind", "model"))
    if kind not in kinds:
        raise LadderError(f"{where}.kind: {kind!r} is not one of {', '.join(kinds)}")
    edges = {edge: STOP if values[edge] is None else str(values[edge]) for edge in EDGES if edge in values}
    price = _price(values["price"], f"{where}.price") if values.get("price") is not None else _known_price(values, name)
    _typed(values, where)
    plain = {k: values[k] for k in ("provider", "base_url", "api_key_env", "temperature") if k in values}
    return Rung(
        name,
        kind,
        model=str(values.get("model", name)),
        price=price,
        edges=edges,
        max_output=_count(values, "max_output", 4096, where, "a number of tokens above zero"),
        samples=_count(values, "samples", 1, where, "a number of answers from 1 to 16", most=16),
        steps=_count(values, "steps", 8, where, "a number of turns from 1 to 64", most=64),
        **plain,
    )


def _count(values: Mapping[str, Any], key: str, default: int, where: str, what: str, most: int | None = None) -> int:
    value = values.get(key, default)
    if isinstance(value, bool) or not isinstance(value, int) or value < 1 or (most is not None and value > most):
        raise LadderError(f"{where}.{key}: {value!r} is not {what}")
    return value


def _typed(values: Mapping[str, Any], where: str) -> None:
    """See that what is passed on as it stands has the type that it must have."""
    if values.get("provider", "anthropic") not in PROVIDERS:
        raise LadderError(
            f"{where}.provider: {values['provider']!r} is none of {', '.join(PROVIDERS)}; 'anthropic' together with a "
            "base_url reaches every server that speaks the Messages API"
        )
    for key in ("base_url", "api_key_env"):
        if values.get(key) is not None and not isinstance(values[key], str):
            raise LadderError(f"{where}.{key}: {values[key]!r} is not a text")
    heat = values.get("temperature")
    if heat is not None and (isinstance(heat, bool) or not isinstance(heat, int | float) or not 0 <= heat <= 2):
        raise LadderError(f"{where}.temperature: {heat!r} is not a number from 0 to 2")


def _known_price(values: Mapping[str, Any], name: str) -> Price | None:
    """The price of a shipped model stands for it in any ladder, at its own provider's server only."""
    elsewhere = values.get("base_url") or values.get("provider", "anthropic") != "anthropic"
    return None if elsewhere else PRICES.get(str(values.get("model", name)))


def _price(data: object, where: str) -> Price:
    if data == 0:
        return Price(0.0, 0.0, as_of="local")
    values = _mapping(data, where)
    _known(values, _PRICE_KEYS, where + ".")
    for key in ("input", "output"):
        if key not in values:
            raise LadderError(f"{where}: {key} is missing (US dollars per million tokens)")
    numbers = {}
    for key in _PRICE_KEYS - {"as_of"}:
        value = values.get(key, 0.0)
        if not isinstance(value, int | float) or isinstance(value, bool) or value < 0:
            raise LadderError(f"{where}.{key}: {value!r} is not a price")
        numbers[key] = float(value)
    return Price(**numbers, as_of=str(values.get("as_of", "")))


def _check(rungs: Mapping[str, Rung], start: str, prefix: str) -> None:
    if start not in rungs:
        raise LadderError(f"start: there is no rung {start!r}; rungs are {', '.join(rungs)}")
    for rung in rungs.values():
        for edge, target in rung.edges.items():
            if target != STOP and target not in rungs:
                raise LadderError(f"{prefix}{rung.name}.{edge}: there is no rung {target!r}")
    reached = _reachable(rungs, start)
    for name in rungs:
        if name not in reached:
            raise LadderError(f"{prefix}{name}: no edge leads to this rung; remove it or name it in an edge")
    for name in rungs:
        if not _can_stop(rungs, name):
            raise LadderError(f"{prefix}{name}: every edge from here goes round in a circle; let one end at stop")


def _targets(rung: Rung) -> set[str]:
    return {rung.edge(edge) for edge in EDGES}


def _reachable(rungs: Mapping[str, Rung], start: str) -> set[str]:
    seen, waiting = set(), [start]
    while waiting:
        name = waiting.pop()
        if name not in seen:
            seen.add(name)
            waiting += [target for target in _targets(rungs[name]) if target != STOP]
    return seen


def _can_stop(rungs: Mapping[str, Rung], name: str) -> bool:
    seen, waiting = set(), [name]
    while waiting:
        here = waiting.pop()
        if here == STOP:
            return True
        if here not in seen:
            seen.add(here)
            waiting += _targets(rungs[here])
    return False


def _mapping(data: object, where: str) -> Mapping[str, Any]:
    if not isinstance(data, Mapping):
        raise LadderError(f"{where}: expected keys with values, found {type(data).__name__}")
    return data


def _known(values: Mapping[str, Any], known: frozenset[str] | set[str], prefix: str) -> None:
    for key in values:
        if key not in known:
            raise LadderError(f"{prefix}{key}: unknown key; known are {', '.join(sorted(known))}")
