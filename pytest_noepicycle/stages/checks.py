"""What a check of the proof can come to, and what it means that one has failed."""

from __future__ import annotations

from collections.abc import Mapping

PASSED, FAILED, IMPOSSIBLE = "passed", "failed", "impossible"

MEANING: Mapping[str, str] = {
    "cold": "the targets did not pass in each of the cold runs",
    "canaries": "a test of ours that must fail was reported as passed, or one that must pass as failed",
    "reverted": "targets pass without the patch as well",
    "disguised": "targets fail when their tests have other names: the patch knows the tests",
    "perturbed": "targets pass whatever value they expect: the patch satisfies the check and not the need",
    "shuffled": "tests fail when they run in another order, and only with the patch: it remembers what ran before",
}
"""By name, what a failed check says of the patch."""
