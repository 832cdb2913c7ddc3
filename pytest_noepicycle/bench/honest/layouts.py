"""The same program in the layouts that projects have: at the top, below ``src``, with tests inside, a namespace."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from dataclasses import dataclass

Files = dict[str, str]


@dataclass(frozen=True, slots=True)
class Laid:
    """A project's files, and which of them is the program."""

    files: Files
    program: str


def flat(name: str, code: str, tests: str) -> Laid:
    """A module at the top, tests in a folder, configuration in ``pyproject.toml``."""
    ini = '[tool.pytest.ini_options]\npythonpath = ["."]\n'
    program = f"{name}.py"
    return Laid({program: code, f"tests/test_{name}.py": _importing(name, tests), "pyproject.toml": ini}, program)


def src(name: str, code: str, tests: str) -> Laid:
    """A package below ``src``, its tests as methods of a class, configuration in ``setup.cfg``."""
    program = f"src/{name}/core.py"
    files = {
        f"src/{name}/__init__.py": "from .core import *\n",
        program: code,
        f"tests/unit/test_{name}.py": _importing(f"{name}.core", as_methods(tests)),
        "setup.cfg": "[tool:pytest]\npythonpath = src\ntestpaths = tests\n",
    }
    return Laid(files, program)


def inside(name: str, code: str, tests: str) -> Laid:
    """A package that carries its tests, configuration in ``tox.ini``."""
    program = f"{name}/program.py"
    files = {
        f"{name}/__init__.py": "",
        program: code,
        f"{name}/tests/__init__.py": "",
        f"{name}/tests/test_{name}.py": _importing(f"{name}.program", tests),
        "tox.ini": "[pytest]\npythonpath = .\n",
    }
    return Laid(files, program)


def namespace(name: str, code: str, tests: str) -> Laid:
    """A module in a namespace package, whose folder has no ``__init__.py``; configuration in ``pytest.ini``."""
    program = f"lib/example/{name}.py"
    files = {
        program: code,
        f"test_{name}.py": _importing(f"example.{name}", tests),
        "pytest.ini": "[pytest]\npythonpath = lib\n",
    }
    return Laid(files, program)


LAYOUTS: Mapping[str, Callable[[str, str, str], Laid]] = {
    function.__name__: function for function in (flat, src, inside, namespace)
}


def as_methods(tests: str) -> str:
    """Return test functions as methods of one class; what is no test function stays outside of it."""
    lines, methods, rest = tests.splitlines(keepends=True), list[str](), list[str]()
    for node in ast.parse(tests).body:
        first = min([node.lineno, *(decorator.lineno for decorator in getattr(node, "decorator_list", ()))])
        text = "".join(lines[first - 1 : node.end_lineno])
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test") and not _spans_lines_in_text(node):
            head = f"def {node.name}("
            methods.append("".join(f"    {line}" for line in _with_self(text, head).splitlines(keepends=True)))
        else:
            rest.append(text)
    return "\n".join([*rest, *(["\nclass TestProgram:\n" + "\n".join(methods)] if methods else [])])


def _with_self(text: str, head: str) -> str:
    return text.replace(head, f"{head}self" if f"{head})" in text else f"{head}self, ", 1)


def _spans_lines_in_text(node: ast.AST) -> bool:
    """Whether a text goes over several lines: indented, it would be another."""
    texts = (n for n in ast.walk(node) if isinstance(n, ast.Constant | ast.JoinedStr))
    return any(text.end_lineno != text.lineno for text in texts)


def _importing(module: str, tests: str) -> str:
    return f"from {module} import *\n\n\n{tests}"
