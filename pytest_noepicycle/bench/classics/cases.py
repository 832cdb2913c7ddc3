"""The small classical programs as data: right code, a typical slip, tests that notice it, what is observed."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

_HEAD = re.compile(r"^## (\w+) · (.+)$", re.MULTILINE)
_BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True, slots=True)
class Case:
    """One program: ``code`` is right, ``slipped`` has the fault, ``tests`` fail on it.

    ``observe`` defines ``observe(rng)``: two programs that observe the same for many seeds behave alike.
    """

    name: str
    kind: str
    code: str
    slipped: str
    tests: str
    observe: str

    @property
    def path(self) -> str:
        """Return the file of the program in a project of its own."""
        return f"{self.name}.py"

    @property
    def test_path(self) -> str:
        """Return the file of the tests in that project."""
        return f"tests/test_{self.name}.py"

    @property
    def files(self) -> dict[str, str]:
        """Return a project that holds the slipped program and its tests."""
        imported = f"from {self.name} import *\n"
        ini = '[tool.pytest.ini_options]\npythonpath = ["."]\n'
        return {self.path: self.slipped, self.test_path: imported + self.tests, "pyproject.toml": ini}


def read_cases(folder: Path | None = None) -> tuple[Case, ...]:
    """Return all cases, by file and in their order there.

    :raises ValueError: where a case is not written as the others are; it names the case.
    """
    files = sorted((folder or Path(__file__).parent).glob("*.md"))
    return tuple(case for file in files for case in parse(file.read_text("utf-8")))


def parse(text: str) -> list[Case]:
    """Return the cases of one file: a heading `## name · kind`, then code, slip (a diff), tests, observation."""
    heads = list(_HEAD.finditer(text))
    ends = [head.start() for head in heads[1:]] + [len(text)]
    return [_case(head[1], head[2], text[head.end() : end]) for head, end in zip(heads, ends, strict=True)]


def _case(name: str, kind: str, text: str) -> Case:
    blocks = _BLOCK.findall(text)
    if [language for language, _ in blocks] != ["python", "diff", "python", "python"]:
        raise ValueError(f"{name}: a case holds its code, the slip as a diff, tests and what is observed")
    code, slip, tests, observe = (body for _, body in blocks)
    right, wrong = (_side(slip, mark) for mark in "-+")
    if code.count(right) != 1:
        raise ValueError(f"{name}: the lines that slip must be in the code, once")
    return Case(name, kind, code, code.replace(right, wrong), tests, observe)


def _side(slip: str, mark: str) -> str:
    return "".join(line[1:] for line in slip.splitlines(keepends=True) if line.startswith(mark))
