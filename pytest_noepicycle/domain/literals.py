"""Literals as texts that can be compared, and names that stand for them."""

from __future__ import annotations

import ast
from collections import Counter
from dataclasses import dataclass, field

_ORDINARY = frozenset({"0", "1", "-1", "0.0", "1.0", "-1.0", "None", "True", "False", "''", "b''", "()", "{}"})
_DEEPEST = 8  # names and sums that are followed to a literal


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
        """Return the value of a literal, of a name for one, or of texts put together.

        :raises ValueError: where it is none.
        """
        if depth > _DEEPEST:
            raise ValueError("names that lead to each other")
        if isinstance(node, ast.Name) and node.id in self.values:
            return self.literal(self.values[node.id], depth + 1)
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
            left, right = self.literal(node.left, depth + 1), self.literal(node.right, depth + 1)
            if isinstance(left, str) and isinstance(right, str):
                return left + right
        if isinstance(node, ast.Tuple | ast.List) and any(isinstance(e, ast.Name | ast.BinOp) for e in node.elts):
            return tuple(self.literal(element, depth + 1) for element in node.elts)
        try:
            return ast.literal_eval(node)
        except (TypeError, SyntaxError, MemoryError, RecursionError) as error:
            raise ValueError(str(error)) from error
