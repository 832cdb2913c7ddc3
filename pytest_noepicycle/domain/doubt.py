"""A model's word that a test is wrong: told with its reason, decided by a person, never acted on."""

from __future__ import annotations

import re
from collections.abc import Sequence

from pytest_noepicycle.domain.run import Attempt, Finding

KIND = "test-suspect"


def doubts(attempts: Sequence[Attempt], failing: Sequence[str]) -> tuple[Finding, ...]:
    """Return a finding for each test that still fails and was called wrong; the newest word on it counts.

    A test is meant where the reason names its function; a reason that names none may mean each of ``failing``.
    """
    found: dict[str, Finding] = {}
    for attempt in attempts:
        if attempt.doubt:
            found.update((finding.test, finding) for finding in _meant(attempt, failing))
    return tuple(found[test] for test in failing if test in found)


def _meant(attempt: Attempt, failing: Sequence[str]) -> tuple[Finding, ...]:
    named = tuple(test for test in failing if re.search(rf"\b{re.escape(_function(test))}\b", attempt.doubt))
    if named or len(failing) == 1:
        hint = f"{attempt.rung} says that this test is wrong: {attempt.doubt}"
        return tuple(Finding(test, KIND, hint) for test in named or failing)
    hint = f"{attempt.rung} says that one of the tests is wrong: {attempt.doubt}"
    return tuple(Finding(test, KIND, hint, others=tuple(o for o in failing if o != test)) for test in failing)


def _function(test: str) -> str:
    """Return the name of a test's function, without its class and its parameters."""
    return test.partition("::")[2].partition("[")[0].rpartition("::")[2] or test
