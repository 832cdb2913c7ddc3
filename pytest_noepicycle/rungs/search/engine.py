"""The rung that costs nothing: small edits at suspect places, the likeliest first, as many as the bound allows."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import replace

from pytest_noepicycle.domain import guard
from pytest_noepicycle.domain.context import Context, Suspect
from pytest_noepicycle.domain.patch import Proposal
from pytest_noepicycle.rungs.search.candidates import Candidate, at_suspect, in_broken_file, in_order, parse
from pytest_noepicycle.rungs.search.exports import meant_modules, meant_names
from pytest_noepicycle.rungs.search.hints import Hints, read_hints
from pytest_noepicycle.rungs.search.repeated import both, pairs
from pytest_noepicycle.rungs.search.scope import Scope
from pytest_noepicycle.rungs.search.source import Source
from pytest_noepicycle.rungs.search.validity import Form, edited_form, normal_form, original_form

_MOST_PAIRS = 400


class LocalSearch:
    """Proposes ``context.best`` plus one small edit; ``max_candidates`` bounds how many it proposes."""

    def __init__(self, *, max_candidates: int = 1500) -> None:
        self.max_candidates = max_candidates

    def propose(self, context: Context) -> Iterator[Proposal]:
        """Yield proposals, the likeliest first: each compiles, passes the guard and differs from the others."""
        search = _Search(context)
        offered = 0
        for candidate in search.candidates():
            if offered >= self.max_candidates:
                return
            proposal = search.proposal(candidate)
            if proposal is not None:
                offered += 1
                yield proposal


def _hints(context: Context) -> Hints:
    """Read the failures, and look up in the project what an import could have meant."""
    hints = read_hints(context.failures)
    if not any("import" in f.message or "odule" in f.message for f in context.failures):
        return hints
    meant = {**meant_names(context.failures, context.files, context.read), **hints.meant}
    missing = hints.missing | set(meant)
    return replace(hints, meant=meant, missing=missing, modules=meant_modules(context.failures, context.files))


class _Search:
    """One search in one context: files as they were parsed, and what was offered already."""

    def __init__(self, context: Context) -> None:
        self.context = context
        self.hints = _hints(context)
        self.files: dict[str, Scope | Source | None] = {}
        self.expanded: set[ast.AST] = set()
        self.broken: set[str] = set()
        self.parts: set[tuple[str, int]] = set()
        self.offered: set[Form] = set()

    def candidates(self) -> Iterator[Candidate]:
        """Yield the single edits, the likeliest first, and then those that go well together, two by two."""
        single: list[Candidate] = []
        for candidate in in_order(self.context.suspects, self.expand):
            single.append(candidate)
            yield candidate
        for pair in pairs(single, most=_MOST_PAIRS):
            scope = self._file(pair[0].path)
            if isinstance(scope, Scope):
                yield replace(pair[0], kind="two-places", edit=both(pair, scope))

    def expand(self, suspect: Suspect) -> Iterable[Candidate]:
        """Return the edits at a suspect; a file that does not parse is looked at once."""
        file = self._file(suspect.path)
        if isinstance(file, Scope):
            return at_suspect(suspect, file, self.expanded)
        if file is None or suspect.path in self.broken:
            return ()
        self.broken.add(suspect.path)
        return in_broken_file(suspect, file)

    def _file(self, path: str) -> Scope | Source | None:
        if path not in self.files:
            editable = guard.may_edit(path, self.context.territory)
            raw = self.context.read(path) if editable else None
            self.files[path] = None if raw is None else parse(path, raw, self.hints)
        return self.files[path]

    def proposal(self, candidate: Candidate) -> Proposal | None:
        """Return the candidate as a patch, or None where it is not worth a trial."""
        file = self._file(candidate.path)
        source = file.source if isinstance(file, Scope) else file
        if source is None:
            return None
        edit = candidate.edit
        text = source.replaced(edit.start, edit.end, edit.text)
        form = edited_form(file, edit, text) if isinstance(file, Scope) else _broken_form(candidate.path, text)
        content = source.encode(text)
        if form is None or content is None or not self._is_new(form, file, candidate):
            return None
        patch = self.context.best.with_file(candidate.path, content, self.context.read_baseline)
        return (
            None
            if guard.judge(patch, self.context.territory)
            else Proposal(patch, _note(candidate), _detail(candidate))
        )

    def _is_new(self, form: Form, file: Scope | Source | None, candidate: Candidate) -> bool:
        """Whether that was not offered before, and is not what the file says already."""
        part = form[:2]
        if isinstance(file, Scope) and part not in self.parts:
            self.parts.add(part)
            original = original_form(file, candidate.edit)
            self.offered |= {original} if original else set()
        new = form not in self.offered
        self.offered.add(form)
        return new


def _broken_form(path: str, text: str) -> Form | None:
    form = normal_form(text)
    return None if form is None else (path, 0, form)


def _note(candidate: Candidate) -> str:
    return f"{candidate.path}:{candidate.line}: {candidate.edit.note} ({candidate.kind.replace('-', ' ')})"


def _detail(candidate: Candidate) -> dict[str, str]:
    return {
        "operator": candidate.kind,
        "path": candidate.path,
        "line": str(candidate.line),
        "reason": candidate.reason,
    }
