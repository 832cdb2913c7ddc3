"""What makes an edit worth trying: it compiles, changes what the code means, and was not offered before."""

from __future__ import annotations

import ast
import hashlib
import warnings
from bisect import bisect_right

from pytest_noepicycle.rungs.search.edits import Edit
from pytest_noepicycle.rungs.search.scope import Scope

Form = tuple[str, int, str]
"""Path, where the compiled part begins, and what it says."""

_TOO_DEEP = (SyntaxError, ValueError, RecursionError, MemoryError)


def normal_form(text: str) -> str | None:
    """Return a name for what a source says, whatever its spelling; None where it does not compile."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            tree = ast.parse(text)
            compile(tree, "<candidate>", "exec", dont_inherit=True)
            return hashlib.sha256(ast.dump(tree).encode("utf-8", "surrogatepass")).hexdigest()
        except _TOO_DEEP:
            return None


def edited_form(scope: Scope, edit: Edit, after: str) -> Form | None:
    """Return a name for what an edit makes of the code around it; None where that does not compile.

    ``after`` is the whole text with the edit in place. Only the outermost function that holds the edit is
    compiled, or the statement outside of functions, where there is one.
    """
    start, end = _unit(scope, edit)
    form = normal_form(_framed(after[start : end + len(after) - len(scope.source.text)]))
    return None if form is None else (scope.path, start, form)


def original_form(scope: Scope, edit: Edit) -> Form | None:
    """Return the name of the same code without the edit."""
    return edited_form(scope, Edit(edit.start, edit.end, "", ""), scope.source.text)


def _unit(scope: Scope, edit: Edit) -> tuple[int, int]:
    """Return the span of the outermost function, or of the statement at the top, that holds an edit; else all."""
    units = scope.units
    place = bisect_right(units, (edit.start, len(scope.source.text))) - 1
    near = [units[n] for n in (place, place - 1) if n >= 0]
    if edit.text[:1] in (" ", "\t"):
        near.reverse()  # an indented line between two functions belongs to the first of them
    for start, end in near:
        if start <= edit.start and edit.end <= end:
            return start, end
    return 0, len(scope.source.text)


def _framed(text: str) -> str:
    """Give an indented function something to be indented under."""
    return f"if 1:\n{text}" if text[:1] in (" ", "\t") else text
