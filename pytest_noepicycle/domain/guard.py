"""The guard: which edits a patch may make, judged on the tree's own facts before anything runs."""

from __future__ import annotations

from collections.abc import Mapping

from pytest_noepicycle.domain.guard_content import CONTENT_RULES
from pytest_noepicycle.domain.guard_paths import PATH_RULES
from pytest_noepicycle.domain.patch import FileChange, Patch
from pytest_noepicycle.domain.territory import Refusal, Rule, Territory

RULES: Mapping[str, Rule] = {**PATH_RULES, **CONTENT_RULES}

__all__ = ["RULES", "Refusal", "Territory", "judge", "may_edit"]


def judge(patch: Patch, territory: Territory) -> tuple[Refusal, ...]:
    """Return every reason against the patch, one for each file; an empty answer means that it may be tried."""
    found = (_judge_one(change, territory) for change in patch.changes)
    return tuple(refusal for refusal in found if refusal is not None)


def may_edit(path: str, territory: Territory) -> bool:
    """Whether an ordinary edit of that file would be let through: what rungs ask before they propose."""
    if path not in territory.files:
        return False
    probe = FileChange(path, b"x = 1\n", b"x = 2\n")
    return not any(rule(probe, territory) for rule in PATH_RULES.values())


def _judge_one(change: FileChange, territory: Territory) -> Refusal | None:
    for name, rule in RULES.items():
        why = rule(change, territory)
        if why:
            return Refusal(change.path, name, why)
    return None
