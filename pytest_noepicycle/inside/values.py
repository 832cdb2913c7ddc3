"""Local variables as short texts, without a call to anything that the project has written."""

from __future__ import annotations

import re
import types
from typing import Any, Dict, List

_NAMES, _LONGEST, _DEPTH, _ITEMS = 12, 120, 3, 6
_BITS = 256  # of a number that is written out; to write a very long one takes minutes
_SECRET = re.compile(r"secret|token|passw|credential|api_?key|private_?key|auth(?!or)", re.IGNORECASE)
_HIDDEN = "[redacted]"
_UNTOLD = (types.ModuleType, types.FunctionType, types.BuiltinFunctionType, types.MethodType, type)
_BRACKETS: Dict[Any, str] = {list: "[]", tuple: "()", set: "{}", frozenset: "{}"}


def values_of(variables: Dict[str, Any]) -> List[List[str]]:
    """Return name and short form of the variables that tell something, in their order, twelve at the most.

    No ``__repr__`` of the project is called: it may raise, hang, or change what the test goes on with. What is not
    built in is told by its type and its attributes.
    """
    told: List[List[str]] = []
    for name, value in list(variables.items()):
        if len(told) == _NAMES:
            break
        if isinstance(name, str) and not name.startswith(("__", "@")) and not issubclass(type(value), _UNTOLD):
            told.append([name[:_LONGEST], _HIDDEN if _SECRET.search(name) else _told(value)])
    return told


def _told(value: Any) -> str:
    try:
        return _cut(_form(value, _DEPTH))
    except Exception as error:  # noqa: BLE001 - a metaclass of the project can still get in the way
        return "<cannot be shown: %s>" % type(error).__name__


def _form(value: Any, depth: int) -> str:
    """Return a value's form; of exact built-in types only are the items looked at."""
    kind = type(value)
    if kind is int:
        return str(value) if value.bit_length() <= _BITS else "<int of %d bits>" % value.bit_length()
    if kind in (str, bytes):
        return repr(value[: _LONGEST + 1])
    if value is None or kind in (bool, float, complex):
        return repr(value)
    if depth == 0:
        return "…"
    if kind is dict:
        return _mapping(value, depth)
    if kind in _BRACKETS:
        return _collection(value, _BRACKETS[kind], depth)
    return _object(value, depth)


def _mapping(value: Dict[Any, Any], depth: int) -> str:
    items = []
    for key, one in list(value.items())[:_ITEMS]:
        hidden = type(key) is str and _SECRET.search(key)
        items.append("%s: %s" % (_form(key, depth - 1), _HIDDEN if hidden else _form(one, depth - 1)))
    return "{" + ", ".join(items) + _rest(len(value)) + "}"


def _collection(value: Any, brackets: str, depth: int) -> str:
    shown: List[str] = []
    for one in value:
        if len(shown) == _ITEMS:
            break
        shown.append(_form(one, depth - 1))
    alone = "," if brackets == "()" and len(value) == 1 else ""
    return brackets[0] + ", ".join(shown) + alone + _rest(len(value)) + brackets[1]


def _object(value: Any, depth: int) -> str:
    """Return the type, and the attributes that lie in the object itself."""
    try:
        held = object.__getattribute__(value, "__dict__")
    except AttributeError:
        held = {}
    name = type.__dict__["__name__"].__get__(type(value))
    if type(held) is not dict or not held:
        return "<%s>" % name
    parts = []
    for key, one in list(held.items())[:_ITEMS]:
        hidden = type(key) is str and _SECRET.search(key)
        parts.append("%s=%s" % (key if type(key) is str else "?", _HIDDEN if hidden else _form(one, depth - 1)))
    return "%s(%s%s)" % (name, ", ".join(parts), _rest(len(held)))


def _rest(count: int) -> str:
    return ", … %d in all" % count if count > _ITEMS else ""


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"
