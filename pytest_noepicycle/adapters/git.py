"""What the repository says of itself, by GitPython; a tree without one is fine."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pytest_noepicycle.errors import UsageError


@dataclass(frozen=True, slots=True)
class Revision:
    """The commit a run started from (empty where there is none) and whether the tree differed from it."""

    commit: str = ""
    dirty: bool = False


# A user's repository may name programs to run; reading a commit must start none of them.
_HARMLESS = {
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_COUNT": "2",
    "GIT_CONFIG_KEY_0": "core.fsmonitor",
    "GIT_CONFIG_VALUE_0": "false",
    "GIT_CONFIG_KEY_1": "core.hooksPath",
    "GIT_CONFIG_VALUE_1": "/dev/null",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_OPTIONAL_LOCKS": "0",
}


def revision(root: str) -> Revision:
    """Return the commit and cleanness of the repository that holds ``root``, or an empty one."""
    try:
        import git
    except ImportError:  # GitPython raises it where no git program is installed
        return Revision()
    try:
        with git.Repo(root, search_parent_directories=True) as repo:
            with repo.git.custom_environment(**_HARMLESS):
                commit = repo.git.rev_parse("HEAD", kill_after_timeout=10)
                changed = repo.git.diff_index("HEAD", "--name-only", "--", root, kill_after_timeout=10)
            return Revision(str(commit).strip(), bool(str(changed).strip()))
    except (git.InvalidGitRepositoryError, git.NoSuchPathError, git.GitCommandError):
        return Revision()


@dataclass(frozen=True, slots=True)
class Entry:
    """A file of a tree: git's mode (100644, 100755, 120000, 160000) and the bytes, a link's target for a link."""

    mode: str
    content: bytes


@dataclass(frozen=True, slots=True)
class Place:
    """Where a folder lies: ``top`` is the repository's work tree, ``prefix`` the way down, ending in a slash."""

    top: str
    prefix: str


def place(root: str) -> Place | None:
    """Return where a folder lies in its repository, or None where it is in none."""
    try:
        import git
    except ImportError:  # no git program
        return None
    try:
        with git.Repo(root, search_parent_directories=True) as repo:
            top = str(Path(repo.working_tree_dir or root).resolve())
    except (git.InvalidGitRepositoryError, git.NoSuchPathError):
        return None
    below = Path(root).resolve().relative_to(top).as_posix()
    return Place(top, "" if below == "." else f"{below}/")


def files_at(root: str, revision: str) -> dict[str, Entry]:
    """Return the files of a revision below ``root``, by their path from there, as they are stored: no filter runs.

    :raises UsageError: where there is no repository or no such revision.
    """
    import git

    found = place(root)
    if found is None:
        raise UsageError(f"{root} is in no git repository, so there is no revision {revision!r} to start from")
    try:
        with git.Repo(found.top) as repo, repo.git.custom_environment(**_HARMLESS):
            entries: list[Any] = list(repo.commit(revision).tree.traverse())
            return {
                str(item.path).removeprefix(found.prefix): Entry(f"{item.mode:06o}", _stored(item))
                for item in entries
                if item.type != "tree" and str(item.path).startswith(found.prefix)
            }
    except (git.BadName, git.GitCommandError, ValueError) as error:
        raise UsageError(f"git knows no revision {revision!r} here: {error}") from error


def files_now(root: str, visible: frozenset[str]) -> dict[str, Entry]:
    """Return the files of the work tree below ``root`` that git tracks, and what is new among the ``visible`` ones.

    What git ignores is no change, nor is an environment or a cache that nobody has told git to ignore.

    :raises UsageError: where there is no repository.
    """
    import git

    found = place(root)
    if found is None:
        raise UsageError(f"{root} is in no git repository; name a patch, or edits with --edits")
    with git.Repo(found.top) as repo, repo.git.custom_environment(**_HARMLESS):
        tracked = repo.git.ls_files("-z", "--cached", "--", found.prefix or ".")
        others = repo.git.ls_files("-z", "--others", "--exclude-standard", "--", found.prefix or ".")
    names = [name.removeprefix(found.prefix) for name in str(tracked).split("\0")]
    names += [new for name in str(others).split("\0") if (new := name.removeprefix(found.prefix)) in visible]
    entries = ((name, _on_disk(Path(root, name))) for name in names if name)
    return {name: entry for name, entry in entries if entry is not None}


def _stored(item: Any) -> bytes:
    return b"" if item.type == "submodule" else bytes(item.data_stream.read())


def _on_disk(path: Path) -> Entry | None:
    if path.is_symlink():
        return Entry("120000", str(path.readlink()).encode("utf-8", "surrogateescape"))
    if path.is_dir():
        return Entry("160000", b"")
    if not path.exists():
        return None
    return Entry("100755" if path.stat().st_mode & 0o100 else "100644", path.read_bytes())
