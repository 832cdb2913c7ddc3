"""Everything a user may set, parsed once into one value."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any


class Apply(StrEnum):
    """When the work tree is changed."""

    SOLVED = "solved"
    BEST = "best"
    NEVER = "never"


@dataclass(frozen=True, slots=True)
class Thresholds:
    """When the supervisor sees a plateau, a fixation, a budget that runs low; all in the score's units."""

    delta_threshold: float = 0.02
    plateau_window: int = 2
    fixation_threshold: int = 2
    grace_period: int = 2
    budget_low_pct: float = 0.25
    budget_stop_pct: float = 0.05
    success_threshold: float = 1.0


@dataclass(frozen=True, slots=True)
class Settings:
    """One run's settings: ``budget`` in tokens, ``budget_usd`` in dollars, times in seconds, memory in bytes."""

    ladder: str = "default"
    budget: int = 50_000
    budget_usd: float | None = None
    time_limit: float = 1200.0
    apply: Apply = Apply.SOLVED
    sandbox: str = "auto"
    holdout: float = 0.0
    workers: int = 0  # 0: as many as there are cores
    executor: str = "local"  # or dask://host:port
    dry_run: bool = False
    resume: str | None = None  # a run's name; empty is the newest
    record_content: bool = True
    dir: str = ".noepi"
    image: str | None = None
    memory: int = 2 * 1024**3
    processes: int = 128
    test_timeout: float | None = None
    reruns: int = 3
    keep_runs: int = 20
    context_transfer: str = "summary"  # summary, reset or full
    env: tuple[str, ...] = ()
    network: tuple[int, ...] = ()  # ports of this machine's loopback
    editable: tuple[str, ...] = ()
    protect: tuple[str, ...] = ()
    product: tuple[str, ...] = ()
    never_send: tuple[str, ...] = ()
    thresholds: Thresholds = field(default_factory=Thresholds)

    @classmethod
    def from_mapping(cls, values: Mapping[str, Any]) -> Settings:
        """Build settings from parsed options; names of thresholds are taken at the same level."""
        thresholds = {name: values[name] for name in Thresholds.__slots__ if name in values}
        own = {name: values[name] for name in cls.__slots__ if name in values and name != "thresholds"}
        own = {name: tuple(value) if isinstance(value, list) else value for name, value in own.items()}
        if "apply" in own:
            own["apply"] = Apply(own["apply"])
        return cls(**own, thresholds=Thresholds(**thresholds))
