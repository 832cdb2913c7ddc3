"""What an agent may do before it proposes: read a file, search, run tests in the sandbox; each answer is bounded."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from pytest_noepicycle.domain.context import Context
from pytest_noepicycle.domain.guard import judge
from pytest_noepicycle.domain.patch import Patch
from pytest_noepicycle.ports import Tool
from pytest_noepicycle.rungs import edits, excerpt
from pytest_noepicycle.rungs.sendable import may_send

_MOST_BYTES = 4000  # of one result: all of them are paid for again with each further turn
_MOST_LINES, _MOST_HITS, _MOST_TESTS, _MOST_RUNS = 120, 30, 20, 6
_MOST_READ = 8 * 1024 * 1024  # bytes that one search goes through
_TEXT = {"type": "string"}
_WHOLE = {"type": "integer"}


def _closed(**properties: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "additionalProperties": False,
        "required": list(properties),
        "properties": properties,
    }


TOOLS = (
    Tool(
        "read_file",
        f"Read lines of a file of the project, at most {_MOST_LINES} at once.",
        _closed(path=_TEXT, first=_WHOLE, last=_WHOLE),
    ),
    Tool("search", "Find the lines of the project's Python files that hold a text.", _closed(text=_TEXT)),
    Tool(
        "run_tests",
        f"Run up to {_MOST_TESTS} tests in a sandbox, by their ids, with the best patch so far and further edits on "
        f"top (none: an empty list). {_MOST_RUNS} runs are allowed.",
        _closed(
            ids={"type": "array", "items": _TEXT},
            edits={"type": "array", "items": _closed(path=_TEXT, old=_TEXT, new=_TEXT)},
        ),
    ),
)


@dataclass(slots=True)
class Toolbox:
    """Serves the calls of one conversation; ``runs`` counts the test runs that it has had."""

    context: Context
    runs: int = 0

    def serve(self, tool: str, data: Mapping[str, Any] | None) -> str:
        """Return what a call comes to, or what was wrong with it; nothing is raised for what a model asks."""
        served = _SERVED.get(tool)
        if served is None or data is None:
            return f"There is no tool {tool!r}, or its input is not well-formed."
        try:
            return excerpt.cut(excerpt.clean(served(self, data)), _MOST_BYTES)
        except edits.Mismatch as mismatch:
            return str(mismatch)

    def _read_file(self, data: Mapping[str, Any]) -> str:
        path, first, last = data.get("path"), data.get("first"), data.get("last")
        if not isinstance(path, str) or not isinstance(first, int) or not isinstance(last, int):
            return "read_file takes a path, and the first and the last line."
        text = self._text(path)
        if text is None:
            return f"{path}: there is no such text file."
        lines = text.split("\n")
        first = max(1, first)
        last = min(max(first, last), first + _MOST_LINES - 1, len(lines))
        numbered = (f"{number:>5}| {lines[number - 1]}" for number in range(first, last + 1))
        return "\n".join([f"{path}, lines {first} to {last} of {len(lines)}", *numbered])

    def _search(self, data: Mapping[str, Any]) -> str:
        wanted = data.get("text")
        if not isinstance(wanted, str) or not wanted.strip():
            return "search takes a text that is not empty."
        hits: list[str] = []
        for hit in self._hits(wanted):
            if len(hits) == _MOST_HITS:
                return "\n".join([*hits, "… and more; search for something rarer"])
            hits.append(hit)
        return "\n".join(hits) or "No line holds it."

    def _hits(self, wanted: str) -> Iterator[str]:
        left = _MOST_READ
        for path in sorted(self.context.files | set(self.context.best.paths)):
            if not path.endswith(".py") or not may_send(path, self.context.never_send):
                continue
            text = self._text(path) or ""
            left -= len(text)
            if left < 0:
                yield "… the project is too large to be searched to its end"
                return
            for number, line in enumerate(text.split("\n"), 1):
                if wanted in line:
                    yield f"{path}:{number}: {line.strip()[:160]}"

    def _run_tests(self, data: Mapping[str, Any]) -> str:
        if self.context.try_tests is None or self.runs == _MOST_RUNS:
            return "No further test run is allowed."
        ids = self._known(data.get("ids"))
        if not ids:
            return "None of these ids is known; take them from the failing tests, letter by letter."
        patch = edits.apply(edits.read_edits(data), self.context)
        refusals = judge(patch, self.context.territory)
        if refusals:
            return "\n".join(f"{one.path}: {one.why}" for one in refusals)
        self.runs += 1
        return self._ran(patch, ids, self.context.try_tests)

    def _ran(self, patch: Patch, ids: tuple[str, ...], run: Callable[[Patch, tuple[str, ...]], Any]) -> str:
        report = run(patch, ids)
        told = []
        for test, outcome in report.select(ids).items():
            failure = outcome.failure
            said = f": {failure.exception}: {excerpt.cut(failure.said, 500)}" if failure else ""
            told.append(f"{test} {outcome.status}{said}")
        return "\n".join(told)

    def _known(self, ids: object) -> tuple[str, ...]:
        """Return those of the ids that the rung may know of: held-out targets are not among them."""
        baseline = self.context.baseline
        known = {*baseline.targets, *baseline.guards}
        listed = ids if isinstance(ids, list) else []
        return tuple(dict.fromkeys(one for one in listed if isinstance(one, str) and one in known))[:_MOST_TESTS]

    def _text(self, path: str) -> str | None:
        """Return a file as the best patch leaves it, without what is held out.

        :raises Mismatch: where it may never be sent.
        """
        content = edits.shown(path, self.context, self.context.best)
        try:
            return None if content is None else edits.decode(self.context.veil(path, content))[0].replace("\r\n", "\n")
        except (ValueError, LookupError):
            return None


_SERVED: Mapping[str, Callable[[Toolbox, Mapping[str, Any]], str]] = {
    "read_file": Toolbox._read_file,
    "search": Toolbox._search,
    "run_tests": Toolbox._run_tests,
}
