"""A repository of its own for one commit: fetched, written with git's plumbing, pushed; no project's checkout is used.

Git is called with an environment of its own, not through GitPython, which lends every call that of the process. No
configuration of machine, user or project is read, no hook, filter or helper runs, and the token stands in no
argument list and in no file.
"""

from __future__ import annotations

import base64
import os
import re
import shutil
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from pytest_noepicycle.domain.publishing import IDENTITY, Overtaken
from pytest_noepicycle.errors import NoepiError

_SECONDS = 300
# What reaches git of the process environment: where programs, certificates and proxies are.
_PASSED = (
    *("PATH", "SYSTEMROOT", "TEMP", "TMP", "TMPDIR", "GIT_SSL_CAINFO", "SSL_CERT_FILE", "SSL_CERT_DIR"),
    *("HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "no_proxy", "all_proxy"),
)
_SETTINGS = {
    "core.hooksPath": os.devnull,
    "core.fsmonitor": "false",
    "core.symlinks": "false",
    "core.autocrlf": "false",
    "credential.helper": "",
    "http.followRedirects": "false",
    "protocol.allow": "never",
    "protocol.http.allow": "always",
    "protocol.https.allow": "always",
    "gc.auto": "0",
}
_HINTS = (
    ("workflow", "A token without the 'workflow' scope cannot push a commit that holds changed workflow files."),
    ("protected branch", "A rule of the repository protects the branch; exempt noepi/* from it."),
    ("GH013", "A rule of the repository refuses the branch; exempt noepi/* from it."),
    ("403", "The token may not write: give the job 'permissions: contents: write'."),
    ("Authentication failed", "The token is not accepted: has it expired, and is it one of this server?"),
    ("could not read Username", "The token is not accepted: has it expired, and is it one of this server?"),
    ("not our ref", "The commit is not on the server; push it first."),
    ("unadvertised object", "The commit is not on the server; push it first."),
    ("Could not resolve host", "The server cannot be reached from here; is a proxy needed?"),
)


class GitFailed(NoepiError):
    """Git could not fetch, write or push; the patch is still in the run's record.

    ``status`` is the HTTP status, where the server refused with one, else 0.
    """

    status = 0
    hint = "The patch is kept in the run's record: git apply takes best.patch."


@dataclass(frozen=True, slots=True)
class Blob:
    """A file of a commit: git's mode and the name of its content."""

    mode: str
    name: str


@dataclass(frozen=True, slots=True)
class Clone:
    """A bare repository in ``folder`` that talks to ``url``; ``token`` may be empty where anybody may read."""

    folder: Path
    url: str
    token: str = field(default="", repr=False)

    @classmethod
    def at(cls, folder: Path, url: str, token: str) -> Clone:
        """Make an empty one.

        :raises GitFailed: where there is no git program.
        """
        clone = cls(folder, url, token)
        clone._git("init", "--bare", "--quiet", "--template=", str(folder))
        return clone

    def fetch(self, commit: str) -> None:
        """Fetch one commit with its tree, and nothing before it."""
        self._git("fetch", "--quiet", "--no-tags", "--depth=1", self.url, commit)

    def files(self, commit: str) -> dict[str, Blob]:
        """Return all files of a commit, links and submodules too, by their paths."""
        entries = self._git("ls-tree", "-r", "-z", "--full-tree", commit).split(b"\0")
        found = (entry.partition(b"\t") for entry in entries if entry)
        return {os.fsdecode(path): Blob(*os.fsdecode(head).split()[::2]) for head, _, path in found}

    def read(self, blob: Blob) -> bytes:
        """Return a file's content as it is stored."""
        return self._git("cat-file", "blob", blob.name)

    def lay_out(self, commit: str, folder: Path) -> None:
        """Write a commit's files into a folder; links become plain files that hold their targets."""
        more = {"GIT_WORK_TREE": str(folder), "GIT_INDEX_FILE": str(self.folder / "laid-out")}
        self._git("read-tree", commit, more=more)
        self._git("checkout-index", "--all", "--force", more=more)

    def commit(self, parent: str, files: Mapping[str, tuple[str, bytes]], message: Callable[[str], str]) -> str:
        """Make a commit on ``parent`` with these files (mode, content); ``message`` is asked with the tree's name."""
        more = {"GIT_INDEX_FILE": str(self.folder / "commit-index")}
        self._git("read-tree", parent, more=more)
        for path, (mode, content) in files.items():
            blob = self._text("hash-object", "-w", "--stdin", "--no-filters", data=content)
            self._git("update-index", "--add", "--cacheinfo", f"{mode},{blob},{path}", more=more)
        tree = self._text("write-tree", more=more)
        return self._text("commit-tree", tree, "-p", parent, data=message(tree).encode())

    def push(self, commit: str, branch: str, expected: str | None) -> None:
        """Make ``branch`` point to the commit, if it still points to ``expected`` (None: if it does not exist).

        :raises Overtaken: where it does not.
        :raises GitFailed: where the server refuses.
        """
        lease = f"--force-with-lease=refs/heads/{branch}:{expected or ''}"
        try:
            self._git("push", "--quiet", "--no-verify", lease, self.url, f"{commit}:refs/heads/{branch}")
        except GitFailed as error:
            told = str(error)
            if any(word in told for word in ("stale info", "cannot lock ref", "already exists", "fetch first")):
                raise Overtaken(f"the branch {branch} moved meanwhile") from error
            raise

    def _text(self, *words: str, data: bytes = b"", more: Mapping[str, str] | None = None) -> str:
        return self._git(*words, data=data, more=more).decode().strip()

    def _git(self, *words: str, data: bytes = b"", more: Mapping[str, str] | None = None) -> bytes:
        program = shutil.which("git")
        if program is None:
            raise GitFailed("there is no git program on this machine", hint="Install git.")
        try:
            done = subprocess.run(
                [program, *words],
                cwd=self.folder,
                env={**self._environment(), **(more or {})},
                input=data,
                capture_output=True,
                timeout=_SECONDS,
                check=False,
            )
        except subprocess.TimeoutExpired as error:
            raise GitFailed(f"git {words[0]} took longer than {_SECONDS} s and was ended") from error
        if done.returncode:
            raise self._failure(words[0], done.stderr)
        return done.stdout

    def _failure(self, verb: str, said: bytes) -> GitFailed:
        text = said.decode("utf-8", "replace").strip()[-1500:]
        if self.token:
            text = text.replace(self.token, "[token]").replace(_basic(self.token), "[token]")
        hint = next((hint for word, hint in _HINTS if word in text), None)
        failed = GitFailed(f"git {verb} failed: {text or 'it said nothing'}", hint=hint)
        status = re.search(r"returned error: (\d{3})", text)
        failed.status = int(status[1]) if status else 0
        return failed

    def _environment(self) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if name in _PASSED}
        name, email = IDENTITY
        who = {
            f"GIT_{role}_{part}": v
            for role in ("AUTHOR", "COMMITTER")
            for part, v in (("NAME", name), ("EMAIL", email))
        }
        fixed = {
            "GIT_DIR": str(self.folder),
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_ATTR_NOSYSTEM": "1",
            "GIT_TERMINAL_PROMPT": "0",
            "LC_ALL": "C",
            "HOME": str(self.folder),
        }
        return {**kept, **who, **fixed, **_as_environment([*_SETTINGS.items(), *self._headers()])}

    def _headers(self) -> list[tuple[str, str]]:
        """Return the one header of authorization; the empty value first drops any other that is set."""
        if not self.token:
            return []
        return [("http.extraHeader", ""), ("http.extraHeader", f"AUTHORIZATION: basic {_basic(self.token)}")]


def _basic(token: str) -> str:
    return base64.b64encode(f"x-access-token:{token}".encode()).decode()


def _as_environment(settings: list[tuple[str, str]]) -> dict[str, str]:
    values = {"GIT_CONFIG_COUNT": str(len(settings))}
    for place, (name, value) in enumerate(settings):
        values |= {f"GIT_CONFIG_KEY_{place}": name, f"GIT_CONFIG_VALUE_{place}": value}
    return values
