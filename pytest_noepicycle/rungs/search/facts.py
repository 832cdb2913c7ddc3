"""What a parsed file knows of itself: parents, functions, names in scope, attributes, texts."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property

from pytest_noepicycle.rungs.search.hints import Hints
from pytest_noepicycle.rungs.search.source import Source

Function = ast.FunctionDef | ast.AsyncFunctionDef
COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


@dataclass(frozen=True)
class FileFacts:
    """One parsed file at ``path``, with the hints of the failures; every fact is worked out once, when asked for."""

    path: str
    source: Source
    tree: ast.Module
    hints: Hints = field(default_factory=Hints)

    @cached_property
    def parents(self) -> dict[ast.AST, ast.AST]:
        """Return the parent of every node."""
        return {child: node for node in ast.walk(self.tree) for child in ast.iter_child_nodes(node)}

    def ancestors(self, node: ast.AST) -> Iterator[ast.AST]:
        """Yield what stands around a node, the nearest first."""
        while node in self.parents:
            node = self.parents[node]
            yield node

    def function(self, node: ast.AST) -> Function | None:
        """Return the function around a node (a function is around its own signature too)."""
        return next((a for a in (node, *self.ancestors(node)) if isinstance(a, Function)), None)

    def parameters(self, function: Function | ast.Lambda | None) -> list[str]:
        """Return the names of a function's parameters, in order."""
        if function is None:
            return []
        a = function.args
        every = [*a.posonlyargs, *a.args, *([a.vararg] if a.vararg else []), *a.kwonlyargs]
        return [arg.arg for arg in (*every, *([a.kwarg] if a.kwarg else []))]

    def local_names(self, node: ast.AST) -> list[str]:
        """Return parameters and variables that a node can see in the functions around it, each once."""
        names: list[str] = []
        for around in self.ancestors(node):
            if isinstance(around, Function | ast.Lambda):
                names += self.parameters(around)
                names += [n for n in self._assigned(around, node) if n not in names]
            elif isinstance(around, COMPREHENSIONS):
                names += [n.id for g in around.generators for n in ast.walk(g.target) if isinstance(n, ast.Name)]
        return list(dict.fromkeys(names))

    def _assigned(self, function: ast.AST, node: ast.AST) -> list[str]:
        line = getattr(node, "lineno", 0)
        looped = any(isinstance(a, ast.For | ast.While | ast.AsyncFor) for a in self.ancestors(node))
        return [n.id for n in self._stored.get(function, ()) if n.lineno < line or looped]

    @cached_property
    def _names(self) -> dict[ast.AST, list[ast.Name]]:
        """List, for each function, the names in it."""
        found: dict[ast.AST, list[ast.Name]] = {}
        for node in self.parents:
            if isinstance(node, ast.Name):
                for around in self.ancestors(node):
                    if isinstance(around, Function | ast.Lambda):
                        found.setdefault(around, []).append(node)
        return found

    @cached_property
    def _stored(self) -> dict[ast.AST, list[ast.Name]]:
        """List, for each function, the variables that it sets, without those of comprehensions."""
        return {
            function: [
                n
                for n in names
                if isinstance(n.ctx, ast.Store) and not any(isinstance(a, COMPREHENSIONS) for a in self.ancestors(n))
            ]
            for function, names in self._names.items()
        }

    def reads(self, function: ast.AST, name: str) -> int:
        """Return how often a function reads a name."""
        return sum(n.id == name and isinstance(n.ctx, ast.Load) for n in self._names.get(function, ()))

    def readers(self, function: ast.AST, name: str) -> list[ast.Name]:
        """Return where a function reads a name."""
        return [n for n in self._names.get(function, ()) if n.id == name and isinstance(n.ctx, ast.Load)]

    def names_read(self, function: ast.AST) -> frozenset[str]:
        """Return the names that a function reads."""
        return self._names_read.get(function, frozenset())

    @cached_property
    def _names_read(self) -> dict[ast.AST, frozenset[str]]:
        found = self._names.items()
        return {function: frozenset(n.id for n in names if isinstance(n.ctx, ast.Load)) for function, names in found}

    @cached_property
    def module_callables(self) -> tuple[str, ...]:
        """Return functions and classes that the file defines or imports at its top."""
        names: list[str] = []
        for node in self.tree.body:
            if isinstance(node, Function | ast.ClassDef):
                names.append(node.name)
            elif isinstance(node, ast.ImportFrom):
                names += [alias.asname or alias.name for alias in node.names]
        return tuple(dict.fromkeys(names))

    @cached_property
    def module_values(self) -> tuple[str, ...]:
        """Return variables that the file sets at its top."""
        inner = (*COMPREHENSIONS, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)
        stored = [n for n in self.parents if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)]
        outer = [n for n in stored if not any(isinstance(a, inner) for a in self.ancestors(n))]
        return tuple(dict.fromkeys(n.id for n in outer))

    @cached_property
    def attribute_names(self) -> tuple[str, ...]:
        """Return the attributes and methods that the file uses or defines, in order."""
        found = [n.attr for n in ast.walk(self.tree) if isinstance(n, ast.Attribute)]
        inside = [
            m.name
            for c in ast.walk(self.tree)
            if isinstance(c, ast.ClassDef)
            for m in c.body
            if isinstance(m, Function)
        ]
        return tuple(dict.fromkeys(inside + found))

    @cached_property
    def fellow_values(self) -> dict[str, tuple[str, ...]]:
        """Return, for a name that classes of the file hold as a value, the other values that the same classes hold."""
        found: dict[str, list[str]] = {}
        for node in ast.walk(self.tree):
            held = self._values_of(node) if isinstance(node, ast.ClassDef) else []
            for name in held:
                found.setdefault(name, []).extend(other for other in held if other != name)
        return {name: tuple(dict.fromkeys(others)) for name, others in found.items()}

    def _values_of(self, owner: ast.ClassDef) -> list[str]:
        """Fields, properties, and what methods set on ``self``."""
        names = [n.target.id for n in owner.body if isinstance(n, ast.AnnAssign) and isinstance(n.target, ast.Name)]
        for node in owner.body:
            if isinstance(node, Function):
                marks = " ".join(ast.unparse(decorator) for decorator in node.decorator_list)
                names += [node.name] if "property" in marks else []
                set_here = (n for n in ast.walk(node) if isinstance(n, ast.Attribute) and isinstance(n.ctx, ast.Store))
                names += [n.attr for n in set_here if isinstance(n.value, ast.Name) and n.value.id == "self"]
        return list(dict.fromkeys(names))

    @cached_property
    def attributes_on(self) -> dict[str, tuple[str, ...]]:
        """Return the attributes that the file uses, by the name on which it uses them."""
        found: dict[str, list[str]] = {}
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
                found.setdefault(node.value.id, []).append(node.attr)
        return {owner: tuple(dict.fromkeys(names)) for owner, names in found.items()}

    @cached_property
    def texts(self) -> dict[str, int]:
        """Return the short words that the file holds as literals, with the line of their first use."""
        literals = [n for n in self.parents if isinstance(n, ast.Constant)]
        found: dict[str, int] = {}
        for node in literals:
            short = isinstance(node.value, str) and 1 < len(node.value) < 30
            if short and not isinstance(self.parents[node], ast.Expr | ast.JoinedStr):
                found.setdefault(str(node.value), node.lineno)
        return found

    @cached_property
    def functions(self) -> dict[str, Function]:
        """Return the functions and methods of the file by name, the first of each."""
        nodes = [n for n in ast.walk(self.tree) if isinstance(n, Function)]
        return {n.name: n for n in reversed(nodes)}

    def numbers_near(self, node: ast.Constant, value: float) -> list[float]:
        """Return numbers of the function around a constant that are nearly the same as it, at most three."""
        around = self.function(node)
        found = [n.value for n in ast.walk(around) if isinstance(n, ast.Constant)] if around else []
        numbers = [v for v in found if isinstance(v, int | float) and not isinstance(v, bool)]
        return list(dict.fromkeys(v for v in numbers if 2 < abs(v - value) <= abs(v) / 4))[:3]

    @cached_property
    def mappings(self) -> frozenset[str]:
        """Return the names and attributes that the file sets to a mapping."""
        assigns = [n for n in self.parents if isinstance(n, ast.Assign | ast.AnnAssign) and n.value is not None]
        made = [n for n in assigns if isinstance(n.value, ast.Dict | ast.DictComp) or ast.unparse(n.value) == "dict()"]  # type: ignore[arg-type]
        targets = [t for n in made for t in (n.targets if isinstance(n, ast.Assign) else [n.target])]
        return frozenset(ast.unparse(t) for t in targets)

    def inner_functions(self, node: ast.AST) -> list[str]:
        """Return the functions defined in the functions around a node."""
        around = [a for a in self.ancestors(node) if isinstance(a, Function)]
        return list(dict.fromkeys(s.name for a in around for s in a.body if isinstance(s, Function)))

    @cached_property
    def classes(self) -> tuple[ast.ClassDef, ...]:
        """Return the classes of the file, outer ones first."""
        return tuple(n for n in ast.walk(self.tree) if isinstance(n, ast.ClassDef))

    def class_of(self, node: ast.AST) -> ast.ClassDef | None:
        """Return the class around a node."""
        return next((a for a in self.ancestors(node) if isinstance(a, ast.ClassDef)), None)

    def names_in(self, node: ast.AST) -> frozenset[str]:
        """Return the names that a node holds."""
        if node not in self._known_names:
            self._known_names[node] = frozenset(n.id for n in ast.walk(node) if isinstance(n, ast.Name))
        return self._known_names[node]

    @cached_property
    def _known_names(self) -> dict[ast.AST, frozenset[str]]:
        return {}

    def unread(self, node: ast.AST) -> list[str]:
        """Return what a node can see and its functions never read: what is not used is likely to be missing."""
        functions = [a for a in self.ancestors(node) if isinstance(a, Function)]
        read = frozenset().union(*map(self.names_read, functions))
        return [n for n in self.local_names(node) if n not in read and n not in ("self", "cls", "_")]

    def unread_attributes(self, node: ast.AST) -> list[str]:
        """Return attributes that the class around a node sets on itself and never reads."""
        owner = self.class_of(node)
        return self._unread_by_class.get(owner, []) if owner else []

    @cached_property
    def _unread_by_class(self) -> dict[ast.ClassDef, list[str]]:
        found: dict[ast.ClassDef, list[str]] = {}
        for owner in self.classes:
            attributes = [n for n in ast.walk(owner) if isinstance(n, ast.Attribute)]
            mine = [n for n in attributes if isinstance(n.value, ast.Name) and n.value.id == "self"]
            read = {n.attr for n in mine if isinstance(n.ctx, ast.Load)}
            found[owner] = [n for n in dict.fromkeys(n.attr for n in mine) if n not in read]
        return found

    def plain_calls(self, node: ast.AST) -> list[str]:
        """Return the calls without arguments that the class around a node makes on itself, each once."""
        owner = self.class_of(node)
        return self._calls_by_class.get(owner, []) if owner else []

    @cached_property
    def _calls_by_class(self) -> dict[ast.ClassDef, list[str]]:
        found: dict[ast.ClassDef, list[str]] = {}
        for owner in self.classes:
            calls = [n for n in ast.walk(owner) if isinstance(n, ast.Call) and not n.args and not n.keywords]
            mine = [
                c.func.attr for c in calls if isinstance(c.func, ast.Attribute) and ast.unparse(c.func.value) == "self"
            ]
            found[owner] = [f"self.{name}()" for name in dict.fromkeys(mine)]
        return found

    @cached_property
    def plain_lines(self) -> tuple[ast.stmt, ...]:
        """Return the short statements inside functions that set or call something, each text once."""
        wanted = (ast.Assign, ast.AugAssign, ast.Expr)
        found = [n for n in self.parents if isinstance(n, wanted) and n.lineno == n.end_lineno and self.function(n)]
        kept = [n for n in found if not (isinstance(n, ast.Expr) and not isinstance(n.value, ast.Call | ast.Await))]
        return tuple({ast.dump(n): n for n in reversed(kept)}.values())

    def conditions(self, node: ast.AST) -> list[ast.expr]:
        """Return what the function around a node asks for, each once."""
        function = self.function(node)
        return self._conditions_of(function) if function else []

    def _conditions_of(self, function: Function) -> list[ast.expr]:
        if function not in self._known_conditions:
            self._known_conditions[function] = self._found_conditions(list(ast.walk(function)))
        return self._known_conditions[function]

    @cached_property
    def _known_conditions(self) -> dict[Function, list[ast.expr]]:
        return {}

    def _found_conditions(self, nodes: list[ast.AST]) -> list[ast.expr]:
        tests = [n.test for n in nodes if isinstance(n, ast.If | ast.While | ast.IfExp)]
        tests += [test for n in nodes if isinstance(n, ast.comprehension) for test in n.ifs]
        return [t for t in {ast.dump(t): t for t in tests}.values() if not isinstance(t, ast.Constant)]
