"""The table of operators: every kind of slip that the search knows how to undo."""

from __future__ import annotations

import ast
from collections.abc import Mapping

from pytest_noepicycle.rungs.search.edits import Operator
from pytest_noepicycle.rungs.search.operators import (
    arguments,
    arithmetic,
    attributes,
    comparisons,
    constants,
    dataflow,
    flow,
    guards,
    idioms,
    logic,
    missing,
    names,
    operands,
    twins,
    values,
)

_MODULES = (
    comparisons, arithmetic, logic, constants, names, attributes, arguments, flow, guards, values,
    missing, operands, idioms, dataflow, twins,
)  # fmt: skip

OPERATORS: Mapping[str, Operator] = {operator.name: operator for module in _MODULES for operator in module.OPERATORS}


def fitting(node: ast.AST) -> list[Operator]:
    """Return the operators that look at such a node."""
    return [operator for operator in OPERATORS.values() if isinstance(node, operator.kinds)]
