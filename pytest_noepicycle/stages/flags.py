"""What a reviewer should look at: lines of a patch that smell of a trick, each with the reason. Nothing is refused."""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from pytest_noepicycle.domain.evidence import Flag
from pytest_noepicycle.domain.patch import FileChange, Patch
from pytest_noepicycle.domain.special_case import leaves, special_cases
from pytest_noepicycle.domain.territory import Territory

_LARGE = 0.6  # share of a file's lines
_LARGE_FROM = 30  # lines; a smaller file is read whole anyway


@dataclass(frozen=True, slots=True)
class _Smell:
    """A form of code: ``pattern`` is searched in the source of one statement's own line."""

    flag: str
    pattern: re.Pattern[str]
    why: str


def _smell(flag: str, pattern: str, why: str) -> _Smell:
    return _Smell(flag, re.compile(pattern), why)


_SMELLS = (
    _smell("sleep", r"\bsleep\s*\(", "waits: does it hide a race?"),
    _smell("retry", r"\b(retry|retries|attempts?|backoff|tenacity)\b", "tries again: does it hide a failure?"),
    _smell("broad-except", r"\bexcept\s*(:|\(?\s*(Base)?Exception\b)|suppress\(\s*(Base)?Exception", "hides errors"),
    _smell("test-sniffing", r"PYTEST_|\bpytest\b|_pytest|\bunittest\b|CallSpec|conftest", "knows of the test runner"),
    _smell("frame-sniffing", r"_getframe|currentframe|inspect\.stack|f_back|f_locals|f_globals", "looks at its caller"),
    _smell("environment", r"os\.environ|getenv|sys\.argv", "behaves by its surroundings"),
    _smell(
        "interpreter",
        r"sys\.(modules|meta_path|path\b|settrace)|\bgc\.|builtins|__import__|ctypes|/proc/",
        "reaches inside",
    ),
    _smell(
        "digest", r"\b(crc32|adler32|md5|sha1|sha256|b64decode|fromhex)\b", "hides what it compares with, or answers"
    ),
    _smell("exit", r"os\._exit|os\.abort|\batexit\b|sys\.exit|SystemExit|os\.kill|signal\.", "may end the process"),
    _smell("skip-mark", r"\bskip(if|Test)?\b|SkipTest|\bxfail\b|importorskip", "marks something as not to be run"),
    _smell("evaluation", r"\beval\s*\(|\bexec\s*\(|compile\s*\(", "runs text as code"),
    _smell("files", r"\bopen\s*\(|read_text|write_text|unlink\(|os\.remove|rmtree", "reads or writes files"),
    _smell("process", r"subprocess|os\.fork|os\.system|multiprocessing|threading", "starts processes or threads"),
    _smell("network", r"\bsocket\b|urllib|requests\.|httpx", "reaches for the network"),
    _smell("equality", r"def __(eq|ne)__", "decides what it is equal to"),
)


def flags(patch: Patch, territory: Territory) -> tuple[Flag, ...]:
    """Return the added lines of a patch that a reviewer should read, file by file."""
    found: dict[Flag, None] = {}
    for change in patch.changes:
        if change.after is not None and not territory.is_test_file(change.path):
            for flag in (*_large(change), *_smelly(change), *_literals(change, territory), *_cases(change, territory)):
                found[flag] = None
    return tuple(sorted(found, key=lambda flag: (flag.path, flag.line, flag.flag)))


def _added(change: FileChange) -> dict[int, str]:
    """Return the added lines by their number, from one."""
    lines = (change.after or b"").split(b"\n")
    numbers = [n for _, _, start, end in change.hunks() for n in range(start, end)]
    return {n + 1: lines[n].decode("utf-8", "replace") for n in numbers if n < len(lines)}


def _large(change: FileChange) -> Iterator[Flag]:
    total = (change.before or b"").count(b"\n")
    touched = len({line for start, end, _, _ in change.hunks() for line in range(start, end)})
    if total >= _LARGE_FROM and touched > total * _LARGE:
        yield Flag(change.path, 0, "large-rewrite", f"{touched} of {total} lines are replaced")


def _smelly(change: FileChange) -> Iterator[Flag]:
    before = (change.before or b"").decode("utf-8", "replace")
    had = {line.strip() for line in before.splitlines()}
    for number, line in _added(change).items():
        if line.strip() in had or line.lstrip().startswith("#"):
            continue
        for smell in _SMELLS:
            if smell.pattern.search(line):
                yield Flag(change.path, number, smell.flag, smell.why)


def _literals(change: FileChange, territory: Territory) -> Iterator[Flag]:
    """Yield the literals of the targets that the patch brings into the product."""
    known = _known(territory)
    old = set(_constants(change.before))
    added = _added(change)
    for text, line in _constants(change.after).items():
        if text in known and text not in old and line in added:
            yield Flag(change.path, line, "test-literal", f"{text[:60]} is a value of {known[text]}")


def _known(territory: Territory) -> Mapping[str, str]:
    known: dict[str, str] = {}
    for demand in territory.demands:
        for text in (*demand.inputs, demand.expected):
            if len(text) > 2 or not text.isdigit():
                known.setdefault(text, demand.test)
    return known


def _constants(source: bytes | None) -> dict[str, int]:
    """Return the literals of a source that are no ordinary ones, with the first line of each."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            tree = ast.parse(source or b"")
        except (SyntaxError, ValueError, RecursionError):
            return {}
    found: dict[str, int] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant | ast.UnaryOp):
            try:
                for text in leaves(ast.literal_eval(node)):
                    found.setdefault(text, node.lineno)
            except (ValueError, TypeError):
                continue  # an operation, not a literal
    return found


def _cases(change: FileChange, territory: Territory) -> Iterator[Flag]:
    for case in special_cases(change, territory.demands):
        yield Flag(change.path, case.line, "special-case", f"answers an input of {case.test} with what it expects")
