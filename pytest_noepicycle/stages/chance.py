"""Chance: what a failing test draws on that may be another thing each time, read from the code that it went through."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from pytest_noepicycle.domain.failure import Failure
from pytest_noepicycle.stages.scene import Surroundings
from pytest_noepicycle.stages.test_source import Function, TestModule

_CHANCE = re.compile(
    r"\b(random|secrets|uuid|uuid4|uuid1|threading|Thread|ThreadPoolExecutor|asyncio|urandom|perf_counter|monotonic"
    r"|datetime|getpid|hash|frozenset|set)\b|\b(time)\.time"
)


def chance(failure: Failure, around: Surroundings) -> tuple[str, ...]:
    """Return the names of what may be another thing each time, in the functions that a failure went through.

    Of a test that did not fail again nothing but the test is known: there its whole file counts, and the modules of
    the project that the file imports.
    """
    text = "\n".join(_passed_through(failure, around) if failure.frames else _within_reach(failure.test, around))
    return tuple(dict.fromkeys(one or other for one, other in _CHANCE.findall(text)))


def _passed_through(failure: Failure, around: Surroundings) -> Iterator[str]:
    for frame in failure.frames:
        if frame.inside_tree:
            yield _function_at(TestModule.read(frame.path, around.read), frame.line)


def _function_at(module: TestModule, line: int) -> str:
    """Return the source of the innermost function around a line; empty where none is."""
    nodes = ast.walk(module.tree) if module.tree else ()
    found = [n for n in nodes if isinstance(n, Function) and n.lineno <= line <= (n.end_lineno or n.lineno)]
    return ast.unparse(max(found, key=lambda n: n.lineno)) if found else ""


def _within_reach(test: str, around: Surroundings) -> Iterator[str]:
    module = TestModule.read(test.split("::")[0], around.read)
    yield module.source.decode("utf-8", "replace")
    for node in ast.walk(module.tree) if module.tree else ():
        names = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
        names += [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        for name in names:
            endings = (f"{name.replace('.', '/')}.py", f"{name.replace('.', '/')}/__init__.py")
            yield from (around.text(path) for path in sorted(around.files) if _is_whole(path, endings))


def _is_whole(path: str, endings: tuple[str, ...]) -> bool:
    """Whether a path ends in whole parts of one of those: ``a/shop.py`` for ``shop.py``, and not ``workshop.py``."""
    return any(path == ending or path.endswith(f"/{ending}") for ending in endings)
