"""What the repository says of itself, by GitPython; a tree without one is fine."""

from __future__ import annotations

from dataclasses import dataclass


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
