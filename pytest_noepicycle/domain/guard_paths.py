"""The guard's rules about paths: an allow-list, with a name for each reason to stay out."""

from __future__ import annotations

import fnmatch
import re
import sys
from collections.abc import Mapping
from pathlib import PurePosixPath

from pytest_noepicycle.domain.patch import FileChange
from pytest_noepicycle.domain.territory import Rule, Territory, matches


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


CONFIGURATION = _words(
    """
    pytest.ini .pytest.ini pytest.toml .pytest.toml pyproject.toml tox.ini tox.toml setup.cfg setup.py conftest.py
    .coveragerc manage.py noxfile.py toxfile.py
    """
)
START_UP = _words("sitecustomize.py usercustomize.py")
PACKAGING = _words(
    """
    pipfile pipfile.lock poetry.lock uv.lock pdm.lock manifest.in environment.yml environment.yaml meson.build
    cmakelists.txt hatch_build.py versioneer.py pkg-info setup.bat bdist_wheel.py
    """
)
_PACKAGING_FORMS = ("requirements*.txt", "requirements*.in", "constraints*.txt")
TOOLING = _words(
    """
    agents.md claude.md gemini.md conventions.md copilot-instructions.md codeowners makefile justfile taskfile.yml
    jenkinsfile azure-pipelines.yml bitbucket-pipelines.yml appveyor.yml action.yml action.yaml dockerfile
    docker-compose.yml docker-compose.yaml compose.yml compose.yaml
    """
)
_SNAPSHOT_FOLDERS = _words("__snapshots__ snapshots cassettes golden goldens __image_snapshots__")
_SNAPSHOT_ENDS = (".snap", ".ambr", ".golden", ".approved.txt", ".approved.json")
_COMPILED_ENDS = (".pyc", ".pyo", ".so", ".pyd", ".dll", ".dylib", ".o", ".a", ".egg", ".whl", ".jar", ".exe")
# Modules that pytest or the interpreter would import if they were there.
_WAITED_FOR = _words(
    """
    sitecustomize usercustomize pytest _pytest py pluggy iniconfig packaging exceptiongroup tomli colorama pygments
    argcomplete attr attrs numpy xdist execnet coverage readline twisted zope importlib_metadata typing_extensions
    """
)
_PLAIN_PART = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.+@-]*")


def _leaves_tree(change: FileChange, territory: Territory) -> str | None:
    path = change.path
    parts = PurePosixPath(path).parts
    plain = path and not path.startswith("/") and "\\" not in path and ":" not in path and "\0" not in path
    if not plain or ".." in parts or path != str(PurePosixPath(path)) or any(ord(c) < 32 for c in path):
        return "the path leaves the project or is not a plain relative one"
    return None


def _follows_link(change: FileChange, territory: Territory) -> str | None:
    pure = PurePosixPath(change.path)
    for place in (pure, *pure.parents):
        if str(place) in territory.links:
            return f"{place} is a symbolic link; edits go to real files only"
    return None


def _hidden(change: FileChange, territory: Territory) -> str | None:
    for part in PurePosixPath(change.path).parts:
        tool = part.lower() in ("node_modules", "__pycache__")
        if part.startswith(".") or tool or part.lower().endswith((".dist-info", ".egg-info")):
            return f"{part} steers tools, version control or CI"
    return None


def _odd_name(change: FileChange, territory: Territory) -> str | None:
    """A name that the project has not got must be one that every tool and every file system reads the same."""
    if change.path in territory.files:
        return None
    if not all(_PLAIN_PART.fullmatch(part) for part in PurePosixPath(change.path).parts):
        return "a new file needs a plain name: letters, digits, dot, dash and underscore, no dash in front"
    folded = change.path.lower()
    if any(path.lower() == folded for path in territory.files):
        return "the name differs from that of an existing file only in case"
    return None


def _start_up(change: FileChange, territory: Territory) -> str | None:
    name = PurePosixPath(change.path).name.lower()
    return f"{name} runs at every start of the interpreter" if name in START_UP or name.endswith(".pth") else None


def _configuration(change: FileChange, territory: Territory) -> str | None:
    name = PurePosixPath(change.path).name
    if name.lower() in CONFIGURATION or change.path in territory.configuration:
        return f"{name} steers how tests are collected and run"
    return None


def _packaging(change: FileChange, territory: Territory) -> str | None:
    name = PurePosixPath(change.path).name.lower()
    if name in PACKAGING or any(fnmatch.fnmatch(name, form) for form in _PACKAGING_FORMS):
        return f"{name} decides what is installed or built"
    return None


def _tooling(change: FileChange, territory: Territory) -> str | None:
    name = PurePosixPath(change.path).name.lower()
    return f"{name} steers CI, a build or an agent" if name in TOOLING else None


def _snapshot(change: FileChange, territory: Territory) -> str | None:
    pure = PurePosixPath(change.path.lower())
    if _SNAPSHOT_FOLDERS & set(pure.parts[:-1]) or pure.name.endswith(_SNAPSHOT_ENDS):
        return "what tests compare with cannot be part of a patch"
    return None


def _compiled(change: FileChange, territory: Territory) -> str | None:
    return "compiled files cannot be reviewed" if change.path.lower().endswith(_COMPILED_ENDS) else None


def _tests(change: FileChange, territory: Territory) -> str | None:
    if territory.is_test_file(change.path):
        return "tests and what lies beside them judge a patch and cannot be part of it"
    return None


def _user_protects(change: FileChange, territory: Territory) -> str | None:
    return "protected by noepi_protect" if matches(change.path, territory.protect) else None


def _not_python(change: FileChange, territory: Territory) -> str | None:
    if change.path.endswith(".py") or matches(change.path, territory.editable):
        return None
    return "only Python source may change (noepi_editable opens further files)"


def _outside_product(change: FileChange, territory: Territory) -> str | None:
    if territory.product and not matches(change.path, territory.product):
        return "outside the paths that noepi_product names"
    return None


def _new_module(change: FileChange, territory: Territory) -> str | None:
    """A new module may join a package, stand beside modules, or take a free name at the top."""
    if change.path in territory.files or not change.path.endswith(".py"):
        return None
    pure = PurePosixPath(change.path)
    if any(f"{folder}/__init__.py" in territory.files for folder in pure.parents if str(folder) != "."):
        return None
    folder = str(pure.parent)
    beside = any(p.endswith(".py") and str(PurePosixPath(p).parent) == folder for p in territory.files)
    if folder != "." and not beside:
        return "a new file may only stand in a package, beside existing modules, or at the top"
    stem = pure.stem
    if stem.startswith("pytest") or stem in territory.taken | sys.stdlib_module_names | _WAITED_FOR:
        return f"a module named {stem} would hide one that exists, or be imported by others than the product"
    twins = (path for path in territory.files if stem != "__init__" and PurePosixPath(path).stem == stem)
    if any(territory.is_test_file(path) for path in twins):
        return f"a module named {stem} could be imported in the place of the tests' own"
    if any(path.startswith(f"{'' if folder == '.' else folder + '/'}{stem}/") for path in territory.files):
        return f"there is a folder named {stem} already"
    return None


PATH_RULES: Mapping[str, Rule] = {
    "leaves-tree": _leaves_tree,
    "follows-link": _follows_link,
    "hidden-or-tooling": _hidden,
    "start-up-hook": _start_up,
    "configuration": _configuration,
    "packaging": _packaging,
    "ci-or-agent-file": _tooling,
    "compiled": _compiled,
    "snapshot": _snapshot,
    "odd-name": _odd_name,
    "test-file": _tests,
    "protected-by-user": _user_protects,
    "not-python": _not_python,
    "outside-product": _outside_product,
    "new-module": _new_module,
}
