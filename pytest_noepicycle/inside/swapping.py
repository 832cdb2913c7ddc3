"""Changed function bodies put into modules that are loaded already, where that is the same as to import them anew."""

from __future__ import annotations

import ast
import gc
import inspect
import os
import sys
from importlib.machinery import SourceFileLoader
from types import CodeType, FrameType, FunctionType
from typing import Any, Dict, Iterable, List, NamedTuple, Optional, Set, Tuple

Place = Tuple[str, str, int]
_MOST_SOURCE = 4 * 1024 * 1024
_HARMLESS = frozenset({"property", "staticmethod", "classmethod", "abstractmethod", "setter", "deleter", "getter"})


class Loaded(NamedTuple):
    """A module as it was imported: its code, and the functions whose decorators may have looked into them."""

    file: str
    code: CodeType
    decorated: Set[int]


class Calls:
    """Which functions have run: what they did then cannot be taken back."""

    def __init__(self) -> None:
        self.places: Set[Place] = set()

    def __call__(self, frame: FrameType, event: str, argument: Any) -> None:
        """Note a call; ``sys.setprofile`` wants this signature."""
        if event == "call":
            self.places.add(_place(frame.f_code))

    def start(self) -> None:
        """Begin to watch this thread."""
        sys.setprofile(self)

    def stop(self) -> bool:
        """End it; False where another has watched in between, so that calls may have been missed."""
        alone = sys.getprofile() is self
        sys.setprofile(None)
        return alone


class Bodies:
    """What is loaded of a tree, ready for bodies to be swapped: made once, before anything is tried."""

    def __init__(self, root: str, opened: Dict[str, int], calls: Calls) -> None:
        self._called = calls.places
        self._modules = {path: module for path, module in _loaded(root) if opened.get(path) == 1}
        files = {module.file for module in self._modules.values()}
        self._live: Dict[Place, List[FunctionType]] = {}
        for thing in gc.get_objects():
            if type(thing) is FunctionType and thing.__code__.co_filename in files:
                self._live.setdefault(_place(thing.__code__), []).append(thing)

    @property
    def paths(self) -> Iterable[str]:
        """Return the files whose functions can be swapped, relative to the root."""
        return self._modules

    def swap(self, path: str, source: bytes) -> bool:
        """Give the functions of a module the bodies that a new source has for them.

        False, with nothing done, where the source differs in anything else, or in a function that has run already.
        """
        module = self._modules.get(path)
        new = module and _compiled(source, module.file)
        if module is None or new is None:
            return False
        pairs: List[Tuple[CodeType, CodeType]] = []
        if not _same_but_bodies(module.code, new, pairs):
            return False
        if not all(self._may_change(old, module) for old, other in pairs if not _alike(old, other)):
            return False
        for old, other in pairs:
            for function in self._live.get(_place(old, module.file), ()):
                function.__code__ = other
        return True

    def _may_change(self, old: CodeType, module: Loaded) -> bool:
        place = _place(old, module.file)
        live = self._live.get(place, ())
        known = bool(live) and all(function.__code__ == old for function in live)
        return known and place not in self._called and old.co_firstlineno not in module.decorated


def _loaded(root: str) -> Iterable[Tuple[str, Loaded]]:
    """Yield the modules below the root that an ordinary import has loaded, by their paths in it."""
    size = 0
    for module in list(sys.modules.values()):
        loader, file = getattr(module, "__loader__", None), getattr(module, "__file__", None)
        if type(loader) is not SourceFileLoader or not isinstance(file, str):
            continue
        real = os.path.realpath(file)
        if not real.startswith(root + os.sep):
            continue
        with open(real, "rb") as stream:
            source = stream.read()
        size += len(source)
        code = _compiled(source, file) if size <= _MOST_SOURCE else None
        if code is not None:
            yield real[len(root) + 1 :].replace(os.sep, "/"), Loaded(file, code, _decorated(source))


def _compiled(source: bytes, file: str) -> Optional[CodeType]:
    try:
        code = compile(source, file, "exec", dont_inherit=True)
    except (SyntaxError, ValueError, RecursionError, MemoryError, OverflowError):
        return None  # to import it says so properly
    return code


def _decorated(source: bytes) -> Set[int]:
    """Return the lines at which functions begin whose decorators are not known to leave the body alone."""
    lines = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            names = [getattr(one, "attr", getattr(one, "id", "")) for one in node.decorator_list]
            if not _HARMLESS.issuperset(names):
                lines.add(min(one.lineno for one in node.decorator_list))
    return lines


def _place(code: CodeType, file: str = "") -> Place:
    return file or code.co_filename, code.co_name, code.co_firstlineno


def _same_but_bodies(old: CodeType, new: CodeType, pairs: List[Tuple[CodeType, CodeType]]) -> bool:
    """Whether a module or class does the same when it runs; ``pairs`` gets the functions that it defines."""
    if not _same_frame(old, new) or len(old.co_consts) != len(new.co_consts):
        return False
    for before, after in zip(old.co_consts, new.co_consts):
        if not isinstance(before, CodeType) or not isinstance(after, CodeType):
            if not _same_value(before, after):
                return False
        elif before.co_flags & inspect.CO_OPTIMIZED:
            if not _same_signature(before, after):
                return False
            pairs.append((before, after))
        elif not _same_but_bodies(before, after, pairs):
            return False
    return True


def _alike(old: CodeType, new: CodeType) -> bool:
    """Whether two functions do the same, wherever they stand."""
    if not (_same_signature(old, new) and _same_frame(old, new)) or len(old.co_consts) != len(new.co_consts):
        return False
    pairs = list(zip(old.co_consts, new.co_consts))
    nested = [(a, b) for a, b in pairs if isinstance(a, CodeType) and isinstance(b, CodeType)]
    rest = [(a, b) for a, b in pairs if not (isinstance(a, CodeType) and isinstance(b, CodeType))]
    return all(_alike(a, b) for a, b in nested) and all(_same_value(a, b) for a, b in rest)


_SIGNATURE = ("co_name", "co_argcount", "co_posonlyargcount", "co_kwonlyargcount", "co_flags", "co_freevars")
_FRAME = ("co_flags", "co_code", "co_names", "co_varnames", "co_freevars", "co_cellvars", "co_exceptiontable")


def _same_frame(old: CodeType, new: CodeType) -> bool:
    return all(getattr(old, name, None) == getattr(new, name, None) for name in _FRAME)


def _same_signature(old: CodeType, new: CodeType) -> bool:
    """Whether the two look the same from outside: names of arguments, what is captured, documentation."""
    count = old.co_argcount + old.co_kwonlyargcount + sum(bool(old.co_flags & flag) for flag in (4, 8))
    same = all(getattr(old, name) == getattr(new, name) for name in _SIGNATURE)
    return same and old.co_varnames[:count] == new.co_varnames[:count] and _document(old) == _document(new)


def _document(code: CodeType) -> Optional[str]:
    """Return what ``__doc__`` became when the function was made: its first constant, where that is a text."""
    first = code.co_consts[0] if code.co_consts else None
    return first if isinstance(first, str) else None


def _same_value(old: Any, new: Any) -> bool:
    return type(old) is type(new) and repr(old) == repr(new)  # repr tells 0.0 from -0.0 and (1,) from (True,)
