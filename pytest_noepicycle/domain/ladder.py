"""The ladder: rungs and the edges that signals take between them, checked before a step is made."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pytest_noepicycle.errors import LadderError

STOP = "stop"
EDGES = ("on_plateau", "on_regression", "on_fixation", "on_budget_low", "on_error")
KINDS = ("search", "model")
_RUNG_KEYS = frozenset(
    ("kind", "provider", "model", "base_url", "api_key_env", "price", "max_output", "temperature", *EDGES)
)
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
    """One way to propose: a name, a kind, for a model where it lives and what it costs, and its edges."""

    name: str
    kind: str
    model: str = ""
    provider: str = "anthropic"
    base_url: str | None = None
    api_key_env: str = "ANTHROPIC_API_KEY"
    price: Price | None = None
    max_output: int = 4096
    temperature: float | None = None
    edges: Mapping[str, str] = field(default_factory=dict)

    def edge(self, name: str) -> str:
        """Return where a signal leads: a rung's name or ``stop``."""
        if name in self.edges:
            return self.edges[name]
        return STOP if name == "on_budget_low" else self.edges.get("on_plateau", STOP)


@dataclass(frozen=True, slots=True)
class Ladder:
    """A named graph of rungs; ``start`` is where a run begins."""

    name: str
    start: str
    rungs: Mapping[str, Rung]
    description: str = ""

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
    def from_mapping(cls, data: object, *, name: str = "custom") -> Ladder:
        """Read a ladder, in the file's form (``rungs:``) or as a plain dict of rungs.

        :raises LadderError: with the path of the key that is wrong, e.g. ``rungs.haiku.on_plateau``.
        """
        top = _mapping(data, "the ladder")
        if "rungs" in top:
            _known(top, {"name", "description", "start", "rungs"}, "")
            rungs, prefix = _mapping(top["rungs"], "rungs"), "rungs."
        else:
            rungs, prefix = top, ""
            top = {}
        if not rungs:
            raise LadderError(f"{prefix or 'the ladder'}: a ladder needs at least one rung")
        read = {str(key): _rung(str(key), value, f"{prefix}{key}") for key, value in rungs.items()}
        start = str(top.get("start", next(iter(read))))
        ladder = cls(str(top.get("name", name)), start, read, str(top.get("description", "")))
        _check(ladder, prefix)
        return ladder


def _rung(name: str, data: object, where: str) -> Rung:
    values = _mapping(data, where)
    _known(values, _RUNG_KEYS, where + ".")
    kind = str(values.get("kind", "model"))
    if kind not in KINDS:
        raise LadderError(f"{where}.kind: {kind!r} is not one of {', '.join(KINDS)}")
    edges = {edge: STOP if values[edge] is None else str(values[edge]) for edge in EDGES if edge in values}
    price = _price(values["price"], f"{where}.price") if values.get("price") is not None else _known_price(values, name)
    _typed(values, where)
    plain = {k: values[k] for k in ("provider", "base_url", "api_key_env", "temperature") if k in values}
    max_output = values.get("max_output", 4096)
    if not isinstance(max_output, int) or max_output < 1:
        raise LadderError(f"{where}.max_output: {max_output!r} is not a number of tokens above zero")
    return Rung(
        name,
        kind,
        model=str(values.get("model", name)),
        price=price,
        edges=edges,
        max_output=max_output,
        **plain,
    )


def _typed(values: Mapping[str, Any], where: str) -> None:
    """See that what is passed on as it stands has the type that it must have."""
    if values.get("provider", "anthropic") != "anthropic":
        raise LadderError(
            f"{where}.provider: {values['provider']!r} is not known; 'anthropic' together with a base_url reaches "
            "every server that speaks the Messages API"
        )
    for key in ("base_url", "api_key_env"):
        if values.get(key) is not None and not isinstance(values[key], str):
            raise LadderError(f"{where}.{key}: {values[key]!r} is not a text")
    heat = values.get("temperature")
    if heat is not None and (isinstance(heat, bool) or not isinstance(heat, int | float) or not 0 <= heat <= 2):
        raise LadderError(f"{where}.temperature: {heat!r} is not a number from 0 to 2")


def _known_price(values: Mapping[str, Any], name: str) -> Price | None:
    """The price of a shipped model stands for it in any ladder, at its own provider's server only."""
    return None if values.get("base_url") else PRICES.get(str(values.get("model", name)))


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


def _check(ladder: Ladder, prefix: str) -> None:
    if ladder.start not in ladder.rungs:
        raise LadderError(f"start: there is no rung {ladder.start!r}; rungs are {', '.join(ladder.rungs)}")
    for rung in ladder.rungs.values():
        for edge, target in rung.edges.items():
            if target != STOP and target not in ladder.rungs:
                raise LadderError(f"{prefix}{rung.name}.{edge}: there is no rung {target!r}")
    reached = _reachable(ladder)
    for name in ladder.rungs:
        if name not in reached:
            raise LadderError(f"{prefix}{name}: no edge leads to this rung; remove it or name it in an edge")
    for name in ladder.rungs:
        if not _can_stop(ladder, name):
            raise LadderError(f"{prefix}{name}: every edge from here goes round in a circle; let one end at stop")


def _targets(rung: Rung) -> set[str]:
    return {rung.edge(edge) for edge in EDGES}


def _reachable(ladder: Ladder) -> set[str]:
    seen, waiting = set(), [ladder.start]
    while waiting:
        name = waiting.pop()
        if name not in seen:
            seen.add(name)
            waiting += [target for target in _targets(ladder.rungs[name]) if target != STOP]
    return seen


def _can_stop(ladder: Ladder, name: str) -> bool:
    seen, waiting = set(), [name]
    while waiting:
        here = waiting.pop()
        if here == STOP:
            return True
        if here not in seen:
            seen.add(here)
            waiting += _targets(ladder.rungs[here])
    return False


def _mapping(data: object, where: str) -> Mapping[str, Any]:
    if not isinstance(data, Mapping):
        raise LadderError(f"{where}: expected keys with values, found {type(data).__name__}")
    return data


def _known(values: Mapping[str, Any], known: frozenset[str] | set[str], prefix: str) -> None:
    for key in values:
        if key not in known:
            raise LadderError(f"{prefix}{key}: unknown key; known are {', '.join(sorted(known))}")
