"""A conftest.py that cannot be imported, put off until the tests are collected. PYTEST_DONT_REWRITE"""

from __future__ import annotations

from typing import Any, Generator, List

import pytest
from _pytest.config import ConftestImportFailure

PUT_OFF = pytest.StashKey[bool]()


def put_off_conftest(early_config: pytest.Config, parser: pytest.Parser, args: List[str]) -> Generator[None, Any, Any]:
    """Wrap ``pytest_load_initial_conftests``: pytest goes on, and meets the same failure where it collects the folder.

    There it is a report like others, with a node id, and can be repaired. Where the command line holds options
    that the conftest was to bring, nothing is put off: they would be refused, and that would hide the cause.
    """
    try:
        return (yield)
    except ConftestImportFailure:
        _, unknown = parser.parse_known_and_unknown_args(args)
        if unknown:
            raise
        early_config.stash[PUT_OFF] = True
    return None
