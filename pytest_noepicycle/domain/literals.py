"""Literals as texts that can be compared, and names that stand for them."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

_ORDINARY = frozenset({"0", "1", "-1", "0.0", "1.0", "-1.0", "None", "True", "False", "''", "b''", "()", "{}"})
_DEEPEST = 8  # names and sums that are followed to a literal
_LONGEST = 1_000  # characters, elements or bits of what is put together
_METHODS = frozenset({"lower", "upper", "title", "capitalize", "swapcase", "strip", "lstrip", "rstrip", "replace"}) | {
    "join",
    "decode",
    "encode",
    "removeprefix",
    "removesuffix",
    "split",
    "splitlines",
}
_MAKERS: Mapping[str, Callable[..., object]] = {
    **{kind.__name__: kind for kind in (str, int, float, bool, list, tuple, set, dict)},
    **{function.__name__: function for function in (chr, abs, sorted, round, sum, min, max)},
    "bytes.fromhex": bytes.fromhex,
    "reversed": lambda value: list(reversed(value)),
}


def plain(value: object) -> str:
    """Write a literal so that equal ones are equal texts; lists and tuples are not told apart."""
    if isinstance(value, list | tuple):
        return f"({', '.join(plain(part) for part in value)})"
    if isinstance(value, set | frozenset):
        return "{" + ", ".join(sorted(plain(part) for part in value)) + "}"
    if isinstance(value, dict):
        return "{" + ", ".join(sorted(f"{plain(k)}: {plain(v)}" for k, v in value.items())) + "}"
    return repr(value)


def leaves(value: object) -> frozenset[str]:
    """Return a literal's own parts, down to numbers and texts, that are no ordinary base cases."""
    if isinstance(value, list | tuple | set | frozenset):
        return frozenset().union(*(leaves(part) for part in value))
    if isinstance(value, dict):
        return leaves([*value.keys(), *value.values()])
    text = plain(value)
    return frozenset() if text in _ORDINARY else frozenset({text})


@dataclass(slots=True)
class Names:
    """Names that are given one value in a module, once."""

    values: dict[str, ast.expr] = field(default_factory=dict)

    @classmethod
    def of(cls, tree: ast.Module) -> Names:
        stored = Counter(n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store))
        names = cls()
        for node in ast.walk(tree):
            target = node.targets[0] if isinstance(node, ast.Assign) else None
            if isinstance(node, ast.Assign) and isinstance(target, ast.Name) and stored[target.id] == 1:
                names.values[target.id] = node.value
        return names

    def literal(self, node: ast.expr, depth: int = 0) -> object:
        """Return the value of a literal, of a name for one, or of what is put together from such.

        :raises ValueError: where it is none.
        """
        if depth > _DEEPEST:
            raise ValueError("names that lead to each other")
        try:
            return ast.literal_eval(node)
        except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
            return self._put_together(node, depth + 1)

    def _put_together(self, node: ast.expr, depth: int) -> object:
        """Work out what holds no variable, so that a literal cannot hide behind a sum or a method."""
        try:
            return _bounded(self._worked_out(node, depth))
        except ValueError:
            raise
        except Exception as error:  # whatever a method says of foreign values: it is no literal
            raise ValueError(str(error)) from error

    def _worked_out(self, node: ast.expr, depth: int) -> object:
        match node:
            case ast.Name(id=name) if name in self.values:
                return self.literal(self.values[name], depth)
            case ast.Tuple(elts=parts) | ast.List(elts=parts):
                return tuple(self.literal(part, depth) for part in parts)
            case ast.BinOp(left=left, right=right):
                return _calculated(node.op, self.literal(left, depth), self.literal(right, depth))
            case ast.Subscript(value=value, slice=ast.Slice() as part):
                ends = (self.literal(end, depth) if end else None for end in (part.lower, part.upper, part.step))
                return _sliced(self.literal(value, depth), slice(*ends))
            case ast.JoinedStr(values=parts):
                return "".join(str(self.literal(_inner(part), depth)) for part in parts)
            case ast.Call(func=function, args=arguments, keywords=[]):
                return self._called(function, [self.literal(argument, depth) for argument in arguments], depth)
        raise ValueError("it is computed")

    def _called(self, function: ast.expr, arguments: list[object], depth: int) -> object:
        maker = _MAKERS.get(ast.unparse(function))
        if maker is not None:
            return maker(*arguments)
        if isinstance(function, ast.Attribute) and function.attr in _METHODS:
            owner = self.literal(function.value, depth)
            if isinstance(owner, str | bytes):
                return getattr(owner, function.attr)(*arguments)
        raise ValueError("it is computed")


def _inner(part: ast.expr) -> ast.expr:
    return part.value if isinstance(part, ast.FormattedValue) and part.format_spec is None else part


def _sliced(value: object, part: slice) -> object:
    if isinstance(value, str | bytes | list | tuple):
        return value[part]
    raise ValueError("it cannot be sliced")


def _calculated(operator: ast.operator, left: object, right: object) -> object:
    """Return a sum of texts, or what the four ways to calculate give."""
    if isinstance(operator, ast.Add) and isinstance(left, str) and isinstance(right, str):
        return left + right
    if isinstance(left, int | float) and isinstance(right, int | float):
        match operator:
            case ast.Add():
                return left + right
            case ast.Sub():
                return left - right
            case ast.Mult():
                return left * right
            case ast.FloorDiv():
                return left // right
    raise ValueError("it is computed")


def _bounded(value: object) -> object:
    size = value.bit_length() if isinstance(value, int) else len(value) if isinstance(value, str | list | tuple) else 0
    if size > _LONGEST:
        raise ValueError("it is too long")
    return value
