"""GitHub's REST interface, as much of it as a pull request needs, over the standard library.

No client library: these are ten calls, and the job that holds a write token needs nothing more for them. Redirects are
not followed, because the token would go with them.
"""

from __future__ import annotations

import http.client
import json
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from pytest_noepicycle.domain.publishing import Overtaken
from pytest_noepicycle.errors import NoepiError

_TIMEOUT = 30.0  # seconds for one answer
_TRIES = 4
_LONGEST_WAIT = 60.0  # seconds; a server that asks for more is told of, not waited for
_LARGEST = 8 * 1024 * 1024
_PAGE, _MOST_PAGES = 100, 10
_PERMISSIONS = "Give the job 'permissions: contents: write, pull-requests: write'."
_SWITCH = (
    "Allow it under Settings > Actions > General > Workflow permissions, 'Allow GitHub Actions to create and approve "
    "pull requests', or give the input 'token' a token of an app or of a person."
)


class GitHubError(NoepiError):
    """GitHub refused or did not answer; ``status`` is the HTTP status, 0 where there was none.

    The patch and the report are still in the run's record.
    """

    def __init__(self, message: str, *, status: int, hint: str) -> None:
        super().__init__(message, hint=hint)
        self.status = status


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """Answers that point elsewhere are errors."""

    def redirect_request(self, *_: Any) -> None:
        """Follow nothing."""
        return


@dataclass(frozen=True, slots=True)
class _Answer:
    status: int
    headers: Mapping[str, str]
    data: Any

    @property
    def message(self) -> str:
        """Return what GitHub says, details included, on one line."""
        if not isinstance(self.data, Mapping):
            return ""
        errors = self.data.get("errors")
        details = [str(e.get("message") or e.get("code") if isinstance(e, Mapping) else e) for e in errors or []]
        return " ".join([str(self.data.get("message", "")), *details]).replace("\n", " ")[:500]

    @property
    def limited(self) -> bool:
        """Whether it says: too much at once."""
        if self.status == 429:
            return True
        spent = self.headers.get("x-ratelimit-remaining") == "0" or "retry-after" in self.headers
        return self.status == 403 and (spent or "rate limit" in self.message.lower())


@dataclass(frozen=True, slots=True)
class GitHub:
    """A client for one server; ``api`` is the root, such as ``https://api.github.com``. The token is never shown."""

    api: str
    token: str = field(repr=False)
    sleep: Callable[[float], None] = time.sleep
    clock: Callable[[], float] = time.time

    def get(self, path: str, **query: str | int) -> Any:
        """Return what is there.

        :raises GitHubError: where there is nothing, or no answer.
        """
        return self._call("GET", path + (f"?{urllib.parse.urlencode(query)}" if query else ""))

    def find(self, path: str) -> Any | None:
        """Return what is there, or None where there is nothing."""
        try:
            return self.get(path)
        except GitHubError as error:
            if error.status == 404:
                return None
            raise

    def every(self, path: str, **query: str | int) -> Iterator[Any]:
        """Yield the entries of a list, page by page, at most a thousand."""
        for page in range(1, _MOST_PAGES + 1):
            entries = self.get(path, **query, per_page=_PAGE, page=page)
            yield from entries
            if len(entries) < _PAGE:
                return

    def post(self, path: str, body: Mapping[str, Any]) -> Any:
        """Make something.

        :raises Overtaken: where it exists by now, or where it cannot be known whether it was made.
        :raises GitHubError: where it was refused.
        """
        return self._call("POST", path, body)

    def patch(self, path: str, body: Mapping[str, Any]) -> Any:
        """Change something.

        :raises GitHubError: where it was refused.
        """
        return self._call("PATCH", path, body)

    def _call(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> Any:
        """Ask, wait and ask again where that may help, and return the data."""
        lost = ""
        for trial in range(1, _TRIES + 1):
            try:
                answer = self._ask(method, path, body)
            except (OSError, http.client.HTTPException, ValueError) as error:
                answer, lost = None, f"{type(error).__name__}: {error}"
            if answer is not None and answer.status < 300:
                return answer.data
            if answer is not None and answer.status < 500 and not answer.limited:
                raise _refused(method, path, answer)
            if method == "POST" and (answer is None or answer.status >= 500):
                raise Overtaken(f"no clear answer came to {method} {path} ({_short(answer, lost)})")
            if trial < _TRIES:
                self.sleep(self._pause(answer, trial, path))
        raise _gave_up(method, path, answer, lost)

    def _pause(self, answer: _Answer | None, trial: int, path: str) -> float:
        """Return how long to wait: what the server asks for, else longer each time.

        :raises GitHubError: where the server asks for more than a job should wait.
        """
        asked = _asked_pause(answer, self.clock()) if answer is not None else None
        if asked is not None and asked > _LONGEST_WAIT:
            raise GitHubError(
                f"GitHub's rate limit is used up; it asks to wait {asked:.0f} s",
                status=answer.status if answer else 0,
                hint="Run the job again later; the patch is kept in the run's record.",
            )
        return asked if asked is not None else float(2**trial)

    def _ask(self, method: str, path: str, body: Mapping[str, Any] | None) -> _Answer:
        request = urllib.request.Request(
            f"{self.api.rstrip('/')}{path}",
            method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers={
                "Accept": "application/vnd.github+json",
                "Authorization": f"Bearer {self.token}",
                "Content-Type": "application/json",
                "User-Agent": "pytest-noepicycle",
                "X-GitHub-Api-Version": "2022-11-28",
            },
        )
        try:
            with urllib.request.build_opener(_NoRedirects).open(request, timeout=_TIMEOUT) as answer:
                return _read(answer, answer.status)
        except urllib.error.HTTPError as error:
            with error:
                return _read(error, error.code)


def _read(answer: Any, status: int) -> _Answer:
    raw = answer.read(_LARGEST)
    try:
        data = json.loads(raw) if raw else None
    except ValueError:
        if status < 300:
            raise
        data = None  # a proxy's page: the status says enough
    return _Answer(status, {name.lower(): value for name, value in answer.headers.items()}, data)


def _asked_pause(answer: _Answer, now: float) -> float | None:
    after, reset = answer.headers.get("retry-after", ""), answer.headers.get("x-ratelimit-reset", "")
    if after.isdigit():
        return float(after)
    if answer.headers.get("x-ratelimit-remaining") == "0" and reset.isdigit():
        return max(0.0, float(reset) - now)
    return None


def _refused(method: str, path: str, answer: _Answer) -> NoepiError:
    said = f"GitHub answered {answer.status} to {method} {path.partition('?')[0]}: {answer.message}"
    if answer.status == 422 and "already exists" in answer.message:
        return Overtaken(said)
    if answer.status == 409:
        return Overtaken(said)
    return GitHubError(said, status=answer.status, hint=_hint(answer))


def _hint(answer: _Answer) -> str:
    if answer.status == 401:
        return "The token is not accepted: has it expired, and is it one of this server?"
    if answer.status == 403:
        return _SWITCH if "create or approve pull requests" in answer.message else _PERMISSIONS
    if answer.status == 404:
        return f"The repository is not there, or the token may not see it. {_PERMISSIONS}"
    if answer.status in (301, 302, 307, 308):
        return "The repository has moved: name it by its new name."
    if answer.status == 422 and "No commits between" in answer.message:
        return "The base has this change already: there is nothing to merge."
    return "The patch is kept in the run's record; GitHub's own words above say what it did not take."


def _gave_up(method: str, path: str, answer: _Answer | None, lost: str) -> GitHubError:
    return GitHubError(
        f"GitHub did not answer {method} {path.partition('?')[0]} in {_TRIES} tries ({_short(answer, lost)})",
        status=answer.status if answer else 0,
        hint="See githubstatus.com, or the proxy of this network. The patch is kept in the run's record.",
    )


def _short(answer: _Answer | None, lost: str) -> str:
    return f"status {answer.status} {answer.message}".strip() if answer is not None else lost
