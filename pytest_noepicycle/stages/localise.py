"""Rank the lines that may hold the fault: tracebacks, coverage of failing and passing tests, and what errors name."""

from __future__ import annotations

import ast
import difflib
import math
import re
from collections import defaultdict
from collections.abc import Callable, Iterable

from pytest_noepicycle.domain.context import Coverage, Suspect
from pytest_noepicycle.domain.failure import Failure
from pytest_noepicycle.domain.guard import Territory
from pytest_noepicycle.domain.score import Baseline
from pytest_noepicycle.stages.product_files import DEFINITIONS, Place, ProductFiles

Read = Callable[[str], "bytes | None"]
Evidence = dict[Place, tuple[float, str]]

_MOST = 600  # suspects beyond these are so weak that no search reaches them
_FRAME_DECAY = 0.75
_SAME_CODE = 0.7  # share of covered lines from which two failures count as one fault
_OTHER_CODE = 0.3  # and below which they count as two, however alike they look
_LOCATION = re.compile(
    r"File \"([^\"]+)\", line (\d+)|^([^\s:][^:\n]*\.py):(\d+):|\(([^()\s]+\.py), line (\d+)\)", re.MULTILINE
)
_QUOTED = re.compile(r"'(?:\w+\.)*(\w+)'")
_NAMING = ("ImportError", "NameError", "AttributeError", "ModuleNotFoundError", "TypeError")


def localise(
    failures: Iterable[Failure],
    coverage: Coverage,
    baseline: Baseline,
    read: Read,
    territory: Territory,
    *,
    passing: frozenset[str],
) -> tuple[Suspect, ...]:
    """Return suspects, the likeliest first, at the first lines of statements in files that may be edited.

    ``coverage`` maps test → path → lines; ``passing`` are tests whose lines speak for innocence. Failures that look
    like different faults are ranked apart, and each of them gets its share of the top ranks. At most 600 are returned.
    """
    sources = ProductFiles(read, territory)
    innocent = [sources.places(coverage[test]) for test in sorted(passing - set(baseline.targets)) if test in coverage]
    merged: Evidence = {}
    for group in _groups(failures, coverage, sources):
        for place, (weight, reason) in _of_group(group, coverage, innocent, sources).items():
            if weight > merged.get(place, (0.0, ""))[0]:
                merged[place] = (weight, reason)
    ranked = sorted(merged.items(), key=lambda item: (-item[1][0], item[0]))
    return tuple(Suspect(path, line, weight, reason) for (path, line), (weight, reason) in ranked[:_MOST])


def _groups(failures: Iterable[Failure], coverage: Coverage, sources: ProductFiles) -> list[list[Failure]]:
    """Put failures together that look like one fault: the same signature, deepest frame, or nearly the same code."""
    groups: list[tuple[list[Failure], set[object], frozenset[Place]]] = []
    for failure in failures:
        covered = sources.places(coverage.get(failure.test, {}))
        inner = [f for f in failure.frames if sources.editable(f.path)]
        marks: set[object] = {(f.path, f.function) for f in inner[-1:]} | (
            {failure.signature} if failure.frames else set()
        )
        for members, known, lines in groups:
            shared = len(covered & lines) / len(covered | lines) if covered and lines else 0.0
            unlike = covered and lines and shared < _OTHER_CODE
            if (marks & known and not unlike) or shared >= _SAME_CODE:
                members.append(failure)
                known |= marks
                break
        else:
            groups.append(([failure], marks, covered))
    return [members for members, _, _ in groups]


def _of_group(
    group: list[Failure], coverage: Coverage, innocent: list[frozenset[Place]], sources: ProductFiles
) -> Evidence:
    """Weigh all evidence of one fault; the best place gets 1, and equals are set apart by their rank."""
    covered = [c for f in group if (c := sources.places(coverage.get(f.test, {})))]
    frames = _from_frames(group, sources)
    spectrum = _from_spectrum(covered, innocent, sources)
    named = _from_messages(group, sources)
    evidence = _joined(_joined(frames, _favoured(spectrum, group, sources)), named)
    if not covered:
        evidence = _joined(evidence, _from_imports(group, sources))
    evidence = _joined(evidence, _around(evidence, sources))
    top = max((weight for weight, _ in evidence.values()), default=1.0)
    ranked = sorted(evidence.items(), key=lambda item: (-item[1][0], item[0]))
    return {p: (round(w / top * 0.998 ** min(n, 200), 6), why) for n, (p, (w, why)) in enumerate(ranked)}


def _joined(first: Evidence, second: Evidence) -> Evidence:
    """Take the stronger evidence for a place, and a little of the weaker; its reason is the stronger one's."""
    joined = dict(first)
    for place, (weight, reason) in second.items():
        other, why = first.get(place, (0.0, reason))
        stronger = reason if weight > other else why
        joined[place] = (max(weight, other) + 0.3 * min(weight, other), stronger)
    return joined


def _from_frames(group: Iterable[Failure], sources: ProductFiles) -> Evidence:
    """The innermost product frame is the strongest; what stands before it in its function may have led there."""
    found: Evidence = {}
    for failure in group:
        inner = [(p, f) for f in reversed(failure.frames) if (p := sources.place(f.path, f.line)) is not None]
        for depth, (place, frame) in enumerate(inner[:8]):
            weight = _FRAME_DECAY**depth
            _keep(found, place, weight, f"{failure.exception.rpartition('.')[2]} came from here, in `{frame.function}`")
            for line, near in _body(place, sources):
                share = 0.55 if line <= place[1] else 0.4
                _keep(found, near, share * weight, f"in `{frame.function}`, where the failure came through")
    return found


def _body(place: Place, sources: ProductFiles) -> list[tuple[int, Place]]:
    module = sources.module(place[0])
    function = module.function_at(place[1])
    if function is None:
        return []
    lines = range(function.body[0].lineno, (function.end_lineno or function.lineno) + 1)
    found = dict.fromkeys(p for n in lines if (p := sources.place(place[0], n)) is not None)
    return [(p[1], p) for p in found if p != place]


def _from_spectrum(
    covered: list[frozenset[Place]], innocent: list[frozenset[Place]], sources: ProductFiles
) -> Evidence:
    """Ochiai's ratio, where a passing test counts by how much of its code it shares with the failing ones."""
    if not covered:
        return {}
    failing = frozenset().union(*covered)
    cleared: dict[Place, float] = defaultdict(float)
    for lines in innocent:
        shared = lines & failing
        closeness = len(shared) / math.sqrt(len(lines) * len(failing)) if shared else 0.0
        for place in shared:
            cleared[place] += closeness
    found: Evidence = {}
    for place in failing:
        hits = sum(place in lines for lines in covered)
        ratio = hits / math.sqrt(len(covered) * (hits + cleared[place]))
        defines = isinstance(sources.module(place[0]).statements.get(place[1]), DEFINITIONS)
        reason = f"run by {hits} of {len(covered)} failing tests here, and less by passing ones"
        found[place] = (ratio * (0.3 if defines else 1.0), reason)
    top = max(weight for weight, _ in found.values())
    return {place: (0.9 * weight / top, reason) for place, (weight, reason) in found.items()}


def _favoured(evidence: Evidence, group: Iterable[Failure], sources: ProductFiles) -> Evidence:
    """Prefer functions that a failing test names: what it calls itself is nearer to what it asserts."""
    words = set().union(*(_words(failure, sources) for failure in group))
    found: Evidence = {}
    for place, (weight, reason) in evidence.items():
        function = sources.module(place[0]).function_at(place[1])
        direct = function is not None and function.name in words
        found[place] = (weight if direct else weight * 0.8, reason)
    return found


def _words(failure: Failure, sources: ProductFiles) -> set[str]:
    path, _, name = failure.test.partition("::")
    function = name.rpartition("::")[2].split("[")[0]
    known = path in sources.territory.files
    bodies = [f for f in sources.module(path).functions if f.name == function] if known else []
    names = {n.id for f in bodies for n in ast.walk(f) if isinstance(n, ast.Name)}
    names |= {n.attr for f in bodies for n in ast.walk(f) if isinstance(n, ast.Attribute)}
    return names | {function.removeprefix("test_")}


def _from_messages(group: Iterable[Failure], sources: ProductFiles) -> Evidence:
    """Files and lines that an error names, and definitions whose names are like one that was not found."""
    found: Evidence = {}
    for failure in group:
        kind = failure.exception.rpartition(".")[2]
        if failure.phase == "collect" or kind in ("SyntaxError", "IndentationError", "TabError"):
            for path, line in _locations(f"{failure.message}\n{failure.text}", sources):
                _keep(found, (path, line), 1.0, f"{kind or 'the error'} names this line")
        if kind in _NAMING or failure.phase == "collect":
            for name in _QUOTED.findall(failure.message):
                _keep_alike(found, name, failure, sources)
    return found


def _locations(text: str, sources: ProductFiles) -> list[Place]:
    places: list[Place] = []
    for match in _LOCATION.findall(text):
        path = sources.named(match[0] or match[2] or match[4])
        place = sources.place(path, int(match[1] or match[3] or match[5])) if path else None
        places += [place] if place else []
    return places


def _keep_alike(found: Evidence, name: str, failure: Failure, sources: ProductFiles) -> None:
    near = [f.path for f in failure.frames] + _imported(failure, sources)
    for path in dict.fromkeys(p for p in near if sources.editable(p)):
        for node in ast.walk(sources.module(path).tree or ast.Module([], [])):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                alike = difflib.SequenceMatcher(None, node.name, name, autojunk=False).ratio()
                if alike > 0.6:
                    _keep(
                        found, (path, node.lineno), 0.7 * alike, f"`{node.name}` is like `{name}`, which an error names"
                    )


def _imported(failure: Failure, sources: ProductFiles) -> list[str]:
    """Return the product files that the failing test's file imports."""
    path = failure.test.partition("::")[0]
    tree = sources.module(path).tree if path in sources.territory.files else None
    dotted: list[str] = []
    for node in ast.walk(tree) if tree else ():
        if isinstance(node, ast.Import):
            dotted += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            dotted += [f"{node.module or ''}.{a.name}".strip(".") for a in node.names] + [node.module or ""]
    tails = [name.replace(".", "/") for name in dict.fromkeys(dotted) if name]
    ends = tuple(f"/{tail}{end}" for tail in tails for end in (".py", "/__init__.py"))
    return [p for p in sorted(sources.territory.files) if f"/{p}".endswith(ends)] if ends else []


def _from_imports(group: Iterable[Failure], sources: ProductFiles) -> Evidence:
    """With no coverage: every function body of what the failing tests import, those first that they name."""
    found: Evidence = {}
    for failure in group:
        words = _words(failure, sources)
        for path in filter(sources.editable, _imported(failure, sources)):
            for line in sources.module(path).statements:
                place, function = sources.place(path, line), sources.module(path).function_at(line)
                if place is not None:
                    weight = 0.5 if function and function.name in words else 0.3 if function else 0.15
                    defines = isinstance(sources.module(path).statements[line], DEFINITIONS)
                    _keep(
                        found,
                        place,
                        weight * (0.5 if defines else 1.0),
                        "in a file that the failing test imports; nothing told which lines ran",
                    )
    return found


def _around(evidence: Evidence, sources: ProductFiles) -> Evidence:
    """Add what suspect code rests on: the signatures of its functions, and the constants that they read."""
    found: Evidence = {}
    for (path, line), (weight, _) in sorted(evidence.items()):
        module = sources.module(path)
        function = module.function_at(line)
        if function is None or module.tree is None:
            continue
        _keep(found, (path, function.lineno), 0.6 * weight, f"the signature of `{function.name}`, which is suspect")
        statement = module.statements[line]
        read = {n.id for n in ast.walk(statement) if isinstance(n, ast.Name)} if line != function.lineno else set()
        read |= {n.attr for n in ast.walk(statement) if isinstance(n, ast.Attribute)} if read else set()
        for line_set, name in module.constants:
            if name in read:
                _keep(found, (path, line_set), 0.7 * weight, f"sets `{name}`, which suspect code reads")
    return found


def _keep(found: Evidence, place: Place, weight: float, reason: str) -> None:
    if weight > found.get(place, (0.0, ""))[0]:
        found[place] = (weight, reason)
