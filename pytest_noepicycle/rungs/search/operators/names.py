"""Slips in names: another variable was meant, or the name does not exist at all."""

from __future__ import annotations

import ast
import builtins
import difflib
import sys
from collections.abc import Iterable, Iterator
from functools import lru_cache

from pytest_noepicycle.rungs.search.edits import Edit, Operator
from pytest_noepicycle.rungs.search.facts import COMPREHENSIONS
from pytest_noepicycle.rungs.search.scope import Scope

BUILTINS = frozenset(name for name in dir(builtins) if name[0].islower())
_PAIRS: dict[str, tuple[str, ...]] = {
    "min": ("max", "sum"), "max": ("min", "sum", "len"), "any": ("all",), "all": ("any",), "sum": ("max", "len"),
    "int": ("float", "round", "str"), "float": ("int",), "str": ("repr", "int"), "repr": ("str",), "list": ("tuple",
    "set", "sorted"), "tuple": ("list",), "set": ("list", "sorted", "frozenset"), "sorted": ("list", "reversed"),
    "reversed": ("sorted", "list"), "round": ("int",), "zip": ("enumerate",), "isinstance": ("issubclass",),
    "floor": ("ceil",), "ceil": ("floor",), "len": ("max",), "abs": ("int",), "dict": ("list",),
    "type": ("repr",), "getattr": ("hasattr",), "iter": ("list",), "filter": ("map",), "map": ("filter",),
}  # fmt: skip
_MISTAKEN = {("len", "max"): 0.2, ("max", "len"): 0.3, ("max", "sum"): 0.4, ("min", "sum"): 0.4, ("sum", "max"): 0.4,
             ("abs", "int"): 0.3, ("type", "repr"): 0.3}  # fmt: skip
_POLES = ("left right", "first last", "first second", "start end", "start stop", "begin end", "low high", "lower upper",
          "min max", "x y", "i j", "row column", "row col", "rows columns", "rows cols", "width height", "before after",
          "old new", "source target", "src dst", "previous next", "prev next", "previous current", "head tail",
          "key value", "k v", "a b", "left_index right_index", "debit credit", "debits credits", "parent child",
          "minimum maximum", "smallest largest", "up down", "top bottom", "input output")  # fmt: skip
OPPOSITES = {
    name: tuple(o for p in _POLES for o in p.split() if name in p.split() and o != name)
    for pair in _POLES
    for name in pair.split()
}
_HOMES = {
    "defaultdict": "collections", "Counter": "collections", "deque": "collections", "OrderedDict": "collections",
    "namedtuple": "collections", "Path": "pathlib", "partial": "functools", "reduce": "functools",
    "wraps": "functools", "lru_cache": "functools", "chain": "itertools", "islice": "itertools", "dataclass":
    "dataclasses", "field": "dataclasses", "datetime": "datetime", "timedelta": "datetime", "date": "datetime",
    "Decimal": "decimal", "Enum": "enum", "Iterable": "collections.abc", "Mapping": "collections.abc",
    "Sequence": "collections.abc", "Any": "typing", "Optional": "typing", "contextmanager": "contextlib",
}  # fmt: skip


@lru_cache(maxsize=65536)
def similarity(a: str, b: str) -> float:
    """Return how alike two names are, in [0, 1]."""
    return difflib.SequenceMatcher(None, a.lower(), b.lower(), autojunk=False).ratio()


def affinity(a: str, b: str) -> float:
    """Return how easily one variable is taken for another: alike, opposites, or both of a letter or two."""
    if b in OPPOSITES.get(a, ()):
        return 1.0
    return min(1.0, similarity(a, b) + (0.4 if max(len(a), len(b)) <= 2 else 0.0))


def wrong_variable(node: ast.Name, scope: Scope) -> Iterator[Edit]:
    """Use another variable that is in scope."""
    if not isinstance(node.ctx, ast.Load) or node.id in scope.hints.missing or _called(node, scope):
        return
    if node.id == "self" and isinstance(scope.parents.get(node), ast.Attribute):
        others = [p for p in scope.parameters(scope.function(node)) if p != "self"]
        yield from (
            scope.swap(node, name, 0.6 if name in unused_parameters(node, scope) else 0.3) for name in others[:2]
        )
    if node.id in ("self", "cls", "super") or _is_builtin(node, scope) or _annotates(node, scope):
        return
    inside = [n for n in scope.local_names(node) if n not in ("self", "cls", "_", node.id)]
    outside = [n for n in scope.module_values if n not in inside and n != node.id and not n.startswith("__")]
    unused = unused_parameters(node, scope)
    ranked = [(0.5 + 0.4 * affinity(node.id, n) + (0.3 if n in unused else 0.0), n) for n in inside]
    ranked += [(0.2 + 0.5 * similarity(node.id, n), n) for n in outside]
    share = 0.4 if _is_yield_of_loop(node, scope) else 1.0
    for weight, name in sorted(ranked, key=lambda pair: -pair[0])[:6]:
        yield scope.swap(node, name, share * min(1.0, weight))


def _is_yield_of_loop(node: ast.Name, scope: Scope) -> bool:
    """Whether the name is what a comprehension goes through and collects: another one would be collected each time."""
    parent = scope.parents.get(node)
    if not isinstance(parent, ast.ListComp | ast.SetComp | ast.GeneratorExp) or parent.elt is not node:
        return False
    return any(node.id in scope.names_in(g.target) for g in parent.generators)


def _names_called(node: ast.Name, scope: Scope) -> frozenset[str]:
    """Return the functions that the function around a node calls by their names, other calls than this one."""
    around = scope.function(node) or scope.tree
    calls = [n.func for n in ast.walk(around) if isinstance(n, ast.Call) and n.func is not node]
    return frozenset(n.id for n in calls if isinstance(n, ast.Name))


def _called(node: ast.Name, scope: Scope) -> bool:
    parent = scope.parents.get(node)
    return isinstance(parent, ast.Call) and parent.func is node


def _annotates(node: ast.AST, scope: Scope) -> bool:
    for around in (node, *scope.ancestors(node)):
        parent = scope.parents.get(around)
        if around in (getattr(parent, "annotation", None), getattr(parent, "returns", None)):
            return True
        if isinstance(around, ast.stmt):
            return False
    return False


def unused_parameters(node: ast.AST, scope: Scope) -> frozenset[str]:
    """Return parameters that their function never reads: such a one is likely to be the one that is missing."""
    function = scope.function(node)
    if function is None:
        return frozenset()
    return frozenset(scope.parameters(function)) - scope.names_read(function)


def swapped_names(node: ast.stmt, scope: Scope) -> Iterator[Edit]:
    """Swap two names wherever they stand in a statement."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Import | ast.ImportFrom):
        return
    names = [n for n in scope.own_nodes(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)]
    once = [n for n in names if sum(m.id == n.id for m in names) == 1 and n.id not in ("self", "cls")]
    for index, left in enumerate(sorted(once, key=scope.source.span)[:6]):
        for right in sorted(once, key=scope.source.span)[index + 1 : 6]:
            if _called(left, scope) == _called(right, scope):
                (start, middle), (gap, end) = scope.source.span(left), scope.source.span(right)
                text = right.id + scope.source.text[middle:gap] + left.id
                yield Edit(
                    start, end, text, f"`{left.id}` and `{right.id}` swapped", 0.5 + 0.5 * affinity(left.id, right.id)
                )


def _is_builtin(node: ast.Name, scope: Scope) -> bool:
    """Whether a name is the builtin and not a variable that has its name (`id`, `input`, `credits`)."""
    return node.id in BUILTINS and node.id not in (*scope.local_names(node), *scope.module_values)


def wrong_target(node: ast.Name, scope: Scope) -> Iterator[Edit]:
    """Set, delete, loop over or bind another variable that is known there."""
    function = scope.function(node)
    inner = any(isinstance(a, COMPREHENSIONS) for a in scope.ancestors(node))
    if isinstance(node.ctx, ast.Load) or inner:
        return
    around = function or scope.tree
    stored = [n.id for n in ast.walk(around) if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Load)]
    known = [n for n in dict.fromkeys([*stored, *scope.parameters(function)]) if n not in (node.id, "self", "cls")]
    kin = _set_alike(node, around)
    copied = _is_copy(node, around)
    for name in sorted(known, key=lambda n: (-(n in kin), -affinity(node.id, n)))[:4]:
        weight = 0.4 + 0.6 * affinity(node.id, name)
        yield scope.swap(node, name, (1.0 if copied else 0.75) if name in kin else weight * 0.6)


def _is_copy(node: ast.Name, around: ast.AST) -> bool:
    """Whether the variable is set the same way further up: the later line is the copy that was not adapted."""
    same = [n.target for n in ast.walk(around) if isinstance(n, ast.AugAssign) and isinstance(n.target, ast.Name)]
    return any(n.id == node.id and n.lineno < node.lineno for n in same)


def _set_alike(node: ast.Name, around: ast.AST) -> set[str]:
    """Return the variables that are set as this one is: in the same assignment, or counted up as it is."""
    assigns = [n for n in ast.walk(around) if isinstance(n, ast.Assign)]
    together = [{t.id for target in n.targets for t in ast.walk(target) if isinstance(t, ast.Name)} for n in assigns]
    counted = {n.target.id for n in ast.walk(around) if isinstance(n, ast.AugAssign) and isinstance(n.target, ast.Name)}
    return set().union(*(names for names in (*together, counted) if node.id in names)) - {node.id}


def wrong_function(node: ast.Name, scope: Scope) -> Iterator[Edit]:
    """Call another function: the builtin it is mistaken for, or one with a similar name."""
    if not _called(node, scope) or node.id in scope.hints.missing:
        return
    for index, name in enumerate(_PAIRS.get(node.id, ())):
        ordering = scope.hints.reordered and name in ("sorted", "reversed", "list")
        yield scope.swap(node, name, 1.0 if ordering else _MISTAKEN.get((node.id, name), max(0.4, 1.0 - 0.3 * index)))
    inner = [n for n in scope.inner_functions(node) if n != node.id]
    called = _names_called(node, scope)
    yield from (scope.swap(node, name, 0.9 if name in called else 0.6) for name in inner[:4])
    near = [(similarity(node.id, n), n) for n in scope.module_callables if n != node.id]
    for weight, name in sorted(near, key=lambda pair: -pair[0])[:3]:
        if weight > 0.45:
            yield scope.swap(node, name, weight)


def undefined_name(node: ast.Name, scope: Scope) -> Iterator[Edit]:
    """Replace a name that does not exist by what the interpreter suggests, or by the most similar one."""
    if not isinstance(node.ctx, ast.Load) or node.id not in scope.hints.missing:
        return
    function = scope.function(node)
    if node.id in scope.module_callables or (function and node.id in scope.parameters(function)):
        return
    meant = scope.hints.meant.get(node.id)
    known = [*scope.local_names(node), *scope.module_values, *scope.module_callables, *BUILTINS]
    if "self" in known:
        yield scope.swap(node, f"self.{node.id}", 0.9)
    yield from _by_likeness(node, [n for n in dict.fromkeys(known) if n != node.id], meant, scope)


def _by_likeness(node: ast.Name, known: Iterable[str], meant: str | None, scope: Scope) -> Iterator[Edit]:
    ranked = sorted(((1.0 if n == meant else similarity(node.id, n), n) for n in known), key=lambda p: (-p[0], p[1]))
    for weight, name in ranked[:6]:
        if weight > 0.3:
            yield scope.swap(node, name, max(0.3, weight))


def missing_import(node: ast.Name, scope: Scope) -> Iterator[Edit]:
    """Import a module of the standard library, or one of its best-known names, that is used and not there."""
    if node.id not in scope.hints.missing or not isinstance(node.ctx, ast.Load):
        return
    bound = {n.id for n in ast.walk(scope.tree) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    if node.id in bound or node.id in scope.module_callables:
        return
    if node.id in _HOMES:
        yield _import(f"from {_HOMES[node.id]} import {node.id}", scope)
    elif node.id in sys.stdlib_module_names:
        yield _import(f"import {node.id}", scope)


def _import(line: str, scope: Scope) -> Edit:
    imports = [s for s in scope.tree.body if isinstance(s, ast.Import | ast.ImportFrom)]
    plain = [s for s in imports if not (isinstance(s, ast.ImportFrom) and s.module == "__future__")]
    if plain:
        start = scope.source.line_start(plain[0].lineno)
    elif imports or ast.get_docstring(scope.tree) is not None:
        anchor = imports[-1] if imports else scope.tree.body[0]
        start = scope.source.line_start((anchor.end_lineno or anchor.lineno) + 1)
    else:
        start = scope.source.line_start(scope.tree.body[0].lineno)
    return Edit(start, start, f"{line}\n", f"add `{line}`")


def imported_name(node: ast.ImportFrom, scope: Scope) -> Iterator[Edit]:
    """Import the name that exists in the place of one that does not."""
    for alias in node.names:
        meant = scope.hints.meant.get(alias.name)
        if alias.name in scope.hints.missing and meant:
            used = any(isinstance(n, ast.Name) and n.id == alias.name for n in ast.walk(scope.tree))
            if used and alias.asname is None:
                yield scope.swap(alias, f"{meant} as {alias.name}")
            else:
                yield scope.swap(alias, f"{meant} as {alias.asname}" if alias.asname else meant)


def imported_module(node: ast.ImportFrom, scope: Scope) -> Iterator[Edit]:
    """Import from the module that exists in the place of one that does not."""
    head, _, last = (node.module or "").rpartition(".")
    meant = scope.hints.modules.get(last)
    if meant is None:
        return
    begin = scope.source.offset(node.lineno, node.col_offset)
    start = scope.source.text.index(node.module or "", begin + len("from")) + len(head) + bool(head)
    yield Edit(start, start + len(last), meant, f"`{last}` → `{meant}`")


def defined_name(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef, scope: Scope) -> Iterator[Edit]:
    """Rename a definition to the name under which others look for it."""
    for name in sorted(scope.hints.missing):
        if name not in (*scope.module_callables, node.name) and similarity(name, node.name) > 0.6:
            first = scope.source.offset(node.lineno, node.col_offset)
            start = scope.source.text.index(node.name, first + len("def"))
            yield Edit(start, start + len(node.name), name, f"`{node.name}` → `{name}`", similarity(name, node.name))


OPERATORS = (
    Operator("wrong-variable", (ast.Name,), wrong_variable),
    Operator("swapped-names", (ast.stmt,), swapped_names),
    Operator("wrong-target", (ast.Name,), wrong_target),
    Operator("wrong-function", (ast.Name,), wrong_function),
    Operator("undefined-name", (ast.Name,), undefined_name),
    Operator("missing-import", (ast.Name,), missing_import),
    Operator("imported-name", (ast.ImportFrom,), imported_name),
    Operator("imported-module", (ast.ImportFrom,), imported_module),
    Operator("defined-name", (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef), defined_name),
)
