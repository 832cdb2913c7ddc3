"""Stubs of the names that tests import from a module that is still to be written: each test can run, and fail."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Iterator

_NOTHING = "# The solution goes here.\n"
_ERRORS = ("Error", "Exception", "Warning")


def stubs(test_code: str, module: str) -> str:
    """Return the source of ``module`` with a stub for each name that the tests take from it; it is never empty."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tree = ast.parse(test_code)
    names = dict.fromkeys(_names(tree, module))
    return "\n\n".join(_stub(name) for name in names) or _NOTHING


def _names(tree: ast.Module, module: str) -> Iterator[str]:
    aliases = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module == module and not node.level:
            yield from (alias.name for alias in node.names if alias.name != "*")
        elif isinstance(node, ast.Import):
            aliases |= {alias.asname or alias.name for alias in node.names if alias.name == module}
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in aliases:
            yield node.attr


def _stub(name: str) -> str:
    if name.endswith(_ERRORS):
        return f"class {name}(Exception):\n    pass\n"
    if name.isupper():
        return f"{name} = None\n"
    if name[:1].isupper():
        return f"class {name}:\n    def __init__(self, *args, **kwargs):\n        raise NotImplementedError\n"
    return f"def {name}(*args, **kwargs):\n    raise NotImplementedError\n"
