"""The other format of an answer: whole functions, or whole small files, in the place of old text and new text."""

from __future__ import annotations

import ast
import functools
import textwrap
from collections.abc import Mapping
from typing import Any

from pytest_noepicycle.domain.context import Context
from pytest_noepicycle.domain.patch import Patch
from pytest_noepicycle.rungs import edits
from pytest_noepicycle.rungs.edits import Mismatch

LARGEST = 200
"""Lines of a file that may be handed in whole; of a longer one a model forgets parts."""
TOOL_NAME = "rewrite_functions"
TOOL_DESCRIPTION = "Hand in whole functions that take the place of those of the same names."
TOOL: Mapping[str, Any] = {
    "type": "object",
    "additionalProperties": False,
    "required": ["diagnosis", "rewrites"],
    "properties": {
        "diagnosis": {"type": "string", "description": "The cause, in one or two sentences."},
        "rewrites": {
            "type": "array",
            "items": {
                "type": "object",
                "additionalProperties": False,
                "required": ["path", "function", "source"],
                "properties": {
                    "path": {"type": "string", "description": "As shown, relative to the project."},
                    "function": {
                        "type": "string",
                        "description": "The function's name, a method's as Class.method; empty for the whole file, "
                        f"which may have {LARGEST} lines at the most.",
                    },
                    "source": {"type": "string", "description": "All of it, decorators and signature included."},
                },
            },
        },
    },
}
_DEFINITION = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


def apply(data: Mapping[str, Any], context: Context) -> Patch:
    """Return the best patch so far with the rewrites on top.

    :raises Mismatch: at the first that cannot be made; then none of them is.
    """
    wanted = data.get("rewrites")
    if not isinstance(wanted, list) or not wanted:
        raise Mismatch("`rewrites` is not a list that holds something")
    patch = context.best
    for item in wanted:
        path, name, source = _parts(item)
        content = edits.shown(path, context, patch)
        if content is None:
            raise Mismatch(f"{path}: there is no such file")
        body = edits.spliced(path, content, source, functools.partial(_place, path, name), _fitted)
        patch = patch.with_file(path, body, context.read_baseline)
    return patch


def _parts(item: object) -> tuple[str, str, str]:
    keys = ("path", "function", "source")
    parts = [item.get(key) for key in keys] if isinstance(item, Mapping) else []
    if len(parts) != len(keys) or not all(isinstance(part, str) for part in parts) or not parts[0] or not parts[2]:
        raise Mismatch("a rewrite lacks path, function or source as text")
    return parts[0], parts[1], parts[2]  # type: ignore[return-value]


def _place(path: str, name: str, text: str) -> tuple[int, int]:
    """Return where a definition stands in a text, from the start of its first line to the end of its last."""
    lines = text.split("\n")
    if not name:
        if len(lines) > LARGEST + 1:
            raise Mismatch(f"{path}: the file has more than {LARGEST} lines; name the function")
        return 0, len(text)
    first, last = _span(path, name, text)
    start = sum(len(line) + 1 for line in lines[: first - 1])
    return start, start + sum(len(line) + 1 for line in lines[first - 1 : last]) - 1


def _span(path: str, name: str, text: str) -> tuple[int, int]:
    try:
        body: list[ast.stmt] = ast.parse(text).body
    except (SyntaxError, ValueError, RecursionError) as error:
        raise Mismatch(f"{path}: the file does not parse, so its functions cannot be told: {error}") from error
    found: ast.stmt | None = None
    for part in name.split("."):
        named = [node for node in body if isinstance(node, _DEFINITION) and node.name == part]
        if len(named) != 1:
            raise Mismatch(f"{path}: {name!r} is defined {len(named)} times at that place")
        found, body = named[0], named[0].body
    decorators: list[ast.expr] = getattr(found, "decorator_list", [])
    lines = [found.lineno, *(decorator.lineno for decorator in decorators)] if found else [1]
    return min(lines), (found.end_lineno if found else None) or lines[0]


def _fitted(new: str, old: str) -> str:
    """Give a new source the indentation of the old one, and its end."""
    margin = old[: len(old) - len(old.lstrip(" \t"))] if old.strip() else ""
    text = textwrap.indent(textwrap.dedent(new.strip("\n")), margin)
    return text + "\n" if old.endswith("\n") else text
