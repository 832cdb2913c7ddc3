"""The baseline: which tests pass before anything is changed, frozen, with what each of them reached."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import PurePosixPath

from pytest_noepicycle.domain.context import Coverage
from pytest_noepicycle.domain.failure import Failure
from pytest_noepicycle.domain.patch import Patch
from pytest_noepicycle.domain.run import Finding
from pytest_noepicycle.domain.score import Baseline
from pytest_noepicycle.domain.trial import Outcome, Trial
from pytest_noepicycle.stages.running import Clocks, Run, run_all


@dataclass(frozen=True, slots=True)
class Ground:
    """What the whole suite did before the next change."""

    outcomes: Mapping[str, Outcome]
    coverage: Coverage = field(default_factory=dict)
    seconds: float = 0.0
    collected: tuple[str, ...] = ()
    why: str = ""

    @property
    def durations(self) -> dict[str, float]:
        """Return how long each test took, in seconds."""
        return {test: outcome.duration for test, outcome in self.outcomes.items()}


def measure(
    run: Run,
    *,
    seconds: float,
    clocks: Clocks,
    ids: tuple[str, ...] | None = None,
    patch: Patch | None = None,
    coverage: bool = False,
) -> Ground:
    """Run the whole configured suite (or ``ids``) for ``seconds`` at most; with ``coverage`` it takes longer."""
    limits = clocks.limits(clocks.durations, seconds)
    report = run_all(run, Trial(patch or Patch(), ids, limits, coverage=coverage))
    return Ground(report.outcomes, report.coverage, report.seconds, report.collected, report.why)


def freeze(real: Iterable[Failure], ground: Ground, passed_outside: Iterable[str]) -> Baseline:
    """Freeze the two lists; what passed outside the sandbox and not inside is unchecked."""
    targets = tuple(dict.fromkeys(failure.test for failure in real))
    own = set(targets)
    passed = (test for test, outcome in ground.outcomes.items() if outcome.passed)
    guards = tuple(test for test in passed if test not in own and "::" in test)
    kept = set(guards) | own
    return Baseline(targets, guards, tuple(test for test in passed_outside if test not in kept))


def contradictions(
    targets: tuple[str, ...], others: tuple[str, ...], read: Callable[[str], bytes | None]
) -> tuple[Finding, ...]:
    """Find targets that demand another result of one and the same call than a test beside them: no code suits both.

    Only plain calls count: literal arguments, compared by ``==`` with a literal, at the top of the body of a test
    that nothing surrounds (no decorator, no fixture of its own accord), for such things may change what a call gives.
    """
    demands: dict[str, dict[str, list[str]]] = {}
    wanted = frozenset(targets)
    for test in (*targets, *others):
        for call, expected in _demands(test, read):
            demands.setdefault(call, {}).setdefault(expected, []).append(test)
    findings: dict[str, Finding] = {}
    for call, answers in demands.items():
        if len(answers) > 1 and any(test in wanted for tests in answers.values() for test in tests):
            what = " and ".join(sorted(answers))
            for test in (t for tests in answers.values() for t in tests):
                findings.setdefault(test, Finding(test, "contradiction", f"{call.split('|')[1]} is to be {what}"))
    return tuple(findings.values())


def _demands(test: str, read: Callable[[str], bytes | None]) -> Iterable[tuple[str, str]]:
    path, *names = test.split("::")
    source = read(path)
    if source is None or len(names) != 1 or "[" in names[0] or _surrounded(path, source, read):
        return
    try:
        module = ast.parse(source)
    except (SyntaxError, ValueError):
        return
    imports = _imported(module)
    for function in module.body:
        plain = isinstance(function, ast.FunctionDef) and not function.args.args and not function.decorator_list
        if plain and isinstance(function, ast.FunctionDef) and function.name == names[0]:
            start = 1 if ast.get_docstring(function, clean=False) is not None else 0
            for statement in function.body[start:]:
                if not isinstance(statement, ast.Assert):
                    break  # after anything else the same call may rightly give another result
                yield from _demand(statement, imports)


def _surrounded(path: str, source: bytes, read: Callable[[str], bytes | None]) -> bool:
    """Whether something may be set up around every test of the file."""
    folders = [str(folder) for folder in PurePosixPath(path).parents]
    around = [read("conftest.py" if folder == "." else f"{folder}/conftest.py") or b"" for folder in folders]
    marks = (b"autouse", b"pytestmark", b"setup_function", b"setup_module", b"pytest_runtest_")
    return any(mark in text for text in (source, *around) for mark in marks)


def _demand(statement: ast.Assert, imports: Mapping[str, str]) -> Iterable[tuple[str, str]]:
    compare = statement.test
    if not isinstance(compare, ast.Compare) or len(compare.ops) != 1 or not isinstance(compare.ops[0], ast.Eq):
        return
    call, expected = compare.left, compare.comparators[0]
    if isinstance(expected, ast.Call):
        call, expected = expected, call
    if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id in imports:
        arguments = [*call.args, *(keyword.value for keyword in call.keywords)]
        if all(_is_literal(node) for node in [*arguments, expected]):
            yield f"{imports[call.func.id]}|{ast.unparse(call)}", ast.unparse(expected)


def _imported(module: ast.Module) -> dict[str, str]:
    names = {}
    for node in module.body:
        if isinstance(node, ast.ImportFrom):
            for alias in node.names:
                names[alias.asname or alias.name] = f"{node.module}.{alias.name}"
    return names


def _is_literal(node: ast.AST) -> bool:
    try:
        ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError):
        return False
    return True
