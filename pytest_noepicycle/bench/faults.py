"""One-line faults for a known good source, made by the mutation operators of cosmic-ray."""

from __future__ import annotations

import difflib
import importlib
import random
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Site:
    """A place where an operator can act: its ``occurrence``-th chance in a module, counted from 0."""

    module: str
    operator: str
    occurrence: int

    @property
    def family(self) -> str:
        """Return the operator's kind: ``ReplaceComparisonOperator`` for each of its pairs."""
        return self.operator.rpartition("/")[2].split("_")[0]

    @property
    def key(self) -> str:
        """Return a name that is the same in every run over the same sources."""
        return f"{self.module}|{self.operator}|{self.occurrence}"


@dataclass(frozen=True, slots=True)
class Fault:
    """A planted fault: the line (from 1) as it was and as it is now, and the whole text that holds it."""

    site: Site
    line: int
    before: str
    after: str
    source: str


def operators() -> tuple[str, ...]:
    """Return the names of cosmic-ray's operators that need no arguments of their own."""
    plugins = importlib.import_module("cosmic_ray.plugins")
    return tuple(name for name in plugins.operator_names() if not plugins.get_operator(name).arguments())


def sites(module: str, source: str, names: Iterable[str]) -> list[Site]:
    """Return every place in a module where one of the named operators can act."""
    tree = importlib.import_module("cosmic_ray.ast")
    nodes = list(tree.ast_nodes(tree.get_ast(source)))
    return [Site(module, name, number) for name in names for number in range(_chances(name, nodes))]


def _chances(name: str, nodes: Sequence[Any]) -> int:
    operator = _operator(name)
    return sum(sum(1 for _ in operator.mutation_positions(node)) for node in nodes)


def _operator(name: str) -> Any:
    return importlib.import_module("cosmic_ray.plugins").get_operator(name)()


def spread(places: Iterable[Site], seed: int) -> list[Site]:
    """Return the sites in a fixed random order that goes round the modules and, within each, round the families."""
    chance = random.Random(seed)
    modules: dict[str, dict[str, list[Site]]] = {}
    for site in sorted(places, key=lambda one: one.key):
        modules.setdefault(site.module, {}).setdefault(site.family, []).append(site)
    return list(_round_robin([list(_round_robin(_shuffled(families, chance))) for families in modules.values()]))


def _shuffled(families: Mapping[str, list[Site]], chance: random.Random) -> list[list[Site]]:
    queues = [chance.sample(queue, len(queue)) for queue in families.values()]
    chance.shuffle(queues)
    return queues


def _round_robin(queues: Iterable[Sequence[Site]]) -> Iterator[Site]:
    waiting = [iter(queue) for queue in queues]
    while waiting:
        alive = []
        for queue in waiting:
            site = next(queue, None)
            if site is not None:
                alive.append(queue)
                yield site
        waiting = alive


def plant(site: Site, source: str) -> Fault | None:
    """Return the fault that a site makes of a source; None where it is no change of one line that compiles."""
    mutating = importlib.import_module("cosmic_ray.mutating")
    mutated = mutating.mutate_code(source, _operator(site.operator), site.occurrence)
    change = one_line_change(source, mutated) if mutated is not None else None
    if mutated is None or change is None or not compiles(mutated):
        return None
    return Fault(site, *change, mutated)


def one_line_change(before: str, after: str) -> tuple[int, str, str] | None:
    """Return the line's number and its two versions where two texts differ in at most one line of each."""
    old, new = before.splitlines(), after.splitlines()
    matcher = difflib.SequenceMatcher(None, old, new, autojunk=False)
    changes = [code for code in matcher.get_opcodes() if code[0] != "equal"]
    if len(changes) != 1:
        return None
    _, i1, i2, j1, j2 = changes[0]
    if i2 - i1 > 1 or j2 - j1 > 1:
        return None
    return i1 + 1, " ".join(old[i1:i2]).strip(), " ".join(new[j1:j2]).strip()


def compiles(source: str) -> bool:
    """Whether a text is Python."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what Python merely frowns at is a fine fault
        try:
            compile(source, "<fault>", "exec", dont_inherit=True)
        except (SyntaxError, ValueError):
            return False
    return True
