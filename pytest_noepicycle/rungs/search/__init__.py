"""The free local search: likely small edits at suspect places, no token spent."""

from pytest_noepicycle.rungs.search.engine import LocalSearch

__all__ = ["LocalSearch"]
