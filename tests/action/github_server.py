"""A GitHub on this machine, for tests: real git over HTTP, and as much of the REST interface as publishing calls.

It keeps state, resolves branches in the real repository, checks bodies by GitHub's own published schemas, and fails on
request. Every request is kept in ``requests``, so that a test can say what was sent and with which token.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import subprocess
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

import jsonschema

OWNER, NAME = "acme", "widgets"
REPOSITORY = f"{OWNER}/{NAME}"
BOT, PERSON = "github-actions[bot]", "ann"
TOKENS = {"ghs_0123456789abcdefghijklmnop": BOT, "ghp_0123456789abcdefghijklmnop": PERSON}
TOKEN = next(iter(TOKENS))
_BODIES = json.loads((Path(__file__).parent / "github_bodies.json").read_text("utf-8"))["bodies"]


@dataclass
class Fault:
    """An answer that the next fitting requests get in place of the right one."""

    method: str
    path: str
    status: int
    message: str = "no"
    headers: Mapping[str, str] = field(default_factory=dict)
    times: int = 1
    done: bool = False  # whether the request is carried out all the same: an answer that got lost

    def fits(self, method: str, path: str) -> bool:
        """Whether it is this request's turn."""
        return self.times > 0 and method == self.method and re.search(self.path, path) is not None


class Refused(Exception):
    """An answer that is an error."""

    def __init__(self, status: int, message: str, *errors: str) -> None:
        super().__init__(message)
        self.status = status
        self.body = {"message": message, "errors": [{"message": error} for error in errors]}


@dataclass
class GitHubServer:
    """One repository: its bare folder, pull requests, comments, and what was asked."""

    bare: Path
    url: str = ""
    pulls: list[dict[str, Any]] = field(default_factory=list)
    comments: dict[int, list[dict[str, Any]]] = field(default_factory=dict)
    labels: dict[int, list[str]] = field(default_factory=dict)
    dispatched: list[tuple[str, str]] = field(default_factory=list)
    faults: list[Fault] = field(default_factory=list)
    requests: list[tuple[str, str, str]] = field(default_factory=list)
    drafts: bool = True
    dispatchable: bool = True
    meanwhile: Callable[[], object] | None = None  # happens once, after the pull requests were listed
    lock: Any = field(default_factory=threading.RLock)

    @property
    def api(self) -> str:
        """The root of the REST interface, as on an Enterprise Server."""
        return f"{self.url}/api/v3"

    def git(self, *words: str, data: bytes = b"", **more: str) -> str:
        """Run git in the bare repository, as a person would."""
        who = {"GIT_AUTHOR_NAME": "Ann", "GIT_AUTHOR_EMAIL": "ann@example.org"}
        who |= {"GIT_COMMITTER_NAME": "Ann", "GIT_COMMITTER_EMAIL": "ann@example.org", **more}
        command = ["git", "--git-dir", str(self.bare), *words]
        env = {"PATH": os.environ["PATH"], "HOME": str(self.bare), **who}
        done = subprocess.run(command, input=data, capture_output=True, env=env, check=True, timeout=60)
        return done.stdout.decode().strip()

    def head(self, branch: str) -> str | None:
        """Return a branch's commit, or None."""
        with contextlib.suppress(subprocess.CalledProcessError):
            return self.git("rev-parse", "--verify", "--quiet", f"refs/heads/{branch}")
        return None

    def commit(self, branch: str, files: Mapping[str, str | bytes], message: str = "A person's change") -> str:
        """Commit files on a branch as a person, and return the commit."""
        index, parent = {"GIT_INDEX_FILE": str(self.bare / "ann-index")}, self.head(branch)
        self.git("read-tree", *([parent] if parent else ["--empty"]), **index)
        for path, content in files.items():
            blob = self.git(
                "hash-object", "-w", "--stdin", data=content.encode() if isinstance(content, str) else content
            )
            self.git("update-index", "--add", "--cacheinfo", f"100644,{blob},{path}", **index)
        parents = ["-p", parent] if parent else []
        made = self.git("commit-tree", self.git("write-tree", **index), *parents, "-m", message)
        self.git("update-ref", f"refs/heads/{branch}", made)
        return made

    def close(self, number: int, by: str = PERSON, *, merged: bool = False) -> None:
        """Close a pull request as somebody."""
        pull = self.pulls[number - 1]
        pull.update(state="closed", closed_by=by, merged_at="2026-01-01T00:00:00Z" if merged else None)

    def open_pulls(self) -> list[dict[str, Any]]:
        """Return those that are open."""
        return [pull for pull in self.pulls if pull["state"] == "open"]

    def answer(self, method: str, path: str, query: Mapping[str, str], body: Any, user: str) -> tuple[int, Any]:
        """Return status and data of a REST call."""
        rest = path.removeprefix(f"/repos/{REPOSITORY}").strip("/")
        if not path.startswith(f"/repos/{REPOSITORY}"):
            raise Refused(404, "Not Found")
        for verb, form, call in _ROUTES:
            found = re.fullmatch(form, rest)
            if verb == method and found:
                return call(self, query, body, user, *map(unquote, found.groups()))
        raise Refused(404, "Not Found")

    def _shown(self, pull: dict[str, Any]) -> dict[str, Any]:
        head = {"ref": pull["head"], "sha": self.head(pull["head"]), "repo": {"full_name": REPOSITORY}}
        return {**pull, "head": head, "base": {"ref": pull["base"]}, "user": {"login": pull["user"]}}

    def repository(self, query: Any, body: Any, user: str) -> tuple[int, Any]:
        """GET the repository."""
        return 200, {"full_name": REPOSITORY, "default_branch": "main"}

    def reference(self, query: Any, body: Any, user: str, branch: str) -> tuple[int, Any]:
        """GET a branch's reference."""
        sha = self.head(branch)
        if sha is None:
            raise Refused(404, "Not Found")
        return 200, {"ref": f"refs/heads/{branch}", "object": {"sha": sha, "type": "commit"}}

    def commit_object(self, query: Any, body: Any, user: str, sha: str) -> tuple[int, Any]:
        """GET a commit."""
        tree, email, message = self.git("show", "-s", "--format=%T%n%ce%n%B", sha).split("\n", 2)
        return 200, {"sha": sha, "message": message, "tree": {"sha": tree}, "committer": {"email": email}}

    def compared(self, query: Any, body: Any, user: str, old: str, new: str) -> tuple[int, Any]:
        """GET a comparison."""
        try:
            base = self.git("merge-base", old, new)
        except subprocess.CalledProcessError:
            raise Refused(404, "Not Found") from None
        return 200, {"status": "identical" if old == new else "ahead" if base == old else "diverged"}

    def listed(self, query: Mapping[str, str], body: Any, user: str) -> tuple[int, Any]:
        """GET pull requests, filtered and by pages."""
        found = [pull for pull in reversed(self.pulls) if query.get("state", "open") in ("all", pull["state"])]
        if "head" in query:
            found = [pull for pull in found if f"{OWNER}:{pull['head']}" == query["head"]]
        if "base" in query:
            found = [pull for pull in found if pull["base"] == query["base"]]
        return 200, _page([self._shown(pull) for pull in found], query)

    def create(self, query: Any, body: Mapping[str, Any], user: str) -> tuple[int, Any]:
        """POST a pull request, with GitHub's own refusals."""
        _checked("create", body)
        if not body.get("title"):
            raise Refused(422, "Validation Failed", "title can't be blank")
        if self.head(body["head"]) is None or self.head(body["base"]) is None:
            raise Refused(422, "Validation Failed", "head or base is invalid")
        if body.get("draft") and not self.drafts:
            raise Refused(422, "Draft pull requests are not supported in this repository.")
        if any(p["head"] == body["head"] and p["base"] == body["base"] for p in self.open_pulls()):
            raise Refused(422, "Validation Failed", f"A pull request already exists for {OWNER}:{body['head']}.")
        if self.git("rev-list", "--count", f"{body['base']}..{body['head']}") == "0":
            raise Refused(422, "Validation Failed", f"No commits between {body['base']} and {body['head']}")
        number = len(self.pulls) + 1
        url = f"{self.url}/{REPOSITORY}/pull/{number}"
        more = {"number": number, "html_url": url, "user": user, "state": "open", "merged_at": None, "closed_by": None}
        self.pulls.append({**body, **more})
        return 201, self._shown(self.pulls[-1])

    def change(self, query: Any, body: Mapping[str, Any], user: str, number: str) -> tuple[int, Any]:
        """PATCH a pull request."""
        _checked("change", body)
        pull = self.pulls[int(number) - 1]
        if body.get("state") == "closed" and pull["state"] == "open":
            pull["closed_by"] = user
        pull.update(body)
        return 200, self._shown(pull)

    def issue(self, query: Any, body: Any, user: str, number: str) -> tuple[int, Any]:
        """GET a pull request as an issue: there it says who closed it."""
        closer = self.pulls[int(number) - 1]["closed_by"]
        return 200, {"number": int(number), "closed_by": {"login": closer} if closer else None}

    def talk(self, query: Mapping[str, str], body: Any, user: str, number: str) -> tuple[int, Any]:
        """GET comments."""
        return 200, _page(self.comments.get(int(number), []), query)

    def say(self, query: Any, body: Mapping[str, Any], user: str, number: str) -> tuple[int, Any]:
        """POST a comment."""
        _checked("say", body)
        made = {"body": body["body"], "user": {"login": user}}
        self.comments.setdefault(int(number), []).append(made)
        return 201, made

    def label(self, query: Any, body: Mapping[str, Any], user: str, number: str) -> tuple[int, Any]:
        """POST labels."""
        _checked("label", body)
        self.labels.setdefault(int(number), []).extend(body["labels"])
        return 200, []

    def dispatch(self, query: Any, body: Mapping[str, Any], user: str, workflow: str) -> tuple[int, Any]:
        """POST a workflow's start."""
        _checked("dispatch", body)
        if not self.dispatchable:
            raise Refused(422, "Workflow does not have 'workflow_dispatch' trigger")
        self.dispatched.append((workflow, body["ref"]))
        return 204, None


_ROUTES = (
    ("GET", r"", GitHubServer.repository),
    ("GET", r"git/ref/heads/(.+)", GitHubServer.reference),
    ("GET", r"git/commits/([0-9a-f]{40})", GitHubServer.commit_object),
    ("GET", r"compare/([0-9a-f]{40})\.\.\.([0-9a-f]{40})", GitHubServer.compared),
    ("GET", r"pulls", GitHubServer.listed),
    ("POST", r"pulls", GitHubServer.create),
    ("PATCH", r"pulls/(\d+)", GitHubServer.change),
    ("GET", r"issues/(\d+)", GitHubServer.issue),
    ("GET", r"issues/(\d+)/comments", GitHubServer.talk),
    ("POST", r"issues/(\d+)/comments", GitHubServer.say),
    ("POST", r"issues/(\d+)/labels", GitHubServer.label),
    ("POST", r"actions/workflows/([^/]+)/dispatches", GitHubServer.dispatch),
)


def _checked(name: str, body: Any) -> None:
    """Hold a body against GitHub's schema, and against fields that it does not know."""
    schema = _BODIES[name]["schema"]
    wrong = [error.message for error in jsonschema.Draft202012Validator(schema).iter_errors(body)]
    known = schema.get("properties") or schema["oneOf"][0]["properties"]
    wrong += [f"{field} is not known" for field in body if field not in known]
    if wrong:
        raise Refused(422, "Invalid request.", *wrong)
    if len(body.get("body", "")) > 65_536:
        raise Refused(422, "Validation Failed", "body is too long (maximum is 65536 characters)")


def _page(entries: list[Any], query: Mapping[str, str]) -> list[Any]:
    size, page = int(query.get("per_page", 30)), int(query.get("page", 1))
    return entries[(page - 1) * size : page * size]


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    github: GitHubServer

    def log_message(self, *_: Any) -> None:
        """Say nothing."""

    def do_GET(self) -> None:
        """Answer."""
        self._answer()

    def do_POST(self) -> None:
        """Answer."""
        self._answer()

    def do_PATCH(self) -> None:
        """Answer."""
        self._answer()

    def _answer(self) -> None:
        body, place = self._body(), urlsplit(self.path)
        headers = self.headers.get_all("Authorization") or []
        self.github.requests.append((self.command, self.path, " | ".join(headers)))
        if len(headers) > 1:
            self._json(400, {"message": "Duplicate header: Authorization"})
        elif place.path.startswith("/api/v3/"):
            self._rest(place.path.removeprefix("/api/v3"), place.query, body)
        elif not self._git_fault(place.path):
            self._git(place.path, place.query, body)

    def _body(self) -> bytes:
        if self.headers.get("Transfer-Encoding", "").lower() != "chunked":
            return self.rfile.read(int(self.headers.get("Content-Length") or 0))
        parts = []
        while size := int(self.rfile.readline().split(b";")[0], 16):
            parts.append(self.rfile.read(size))
            self.rfile.readline()
        self.rfile.readline()
        return b"".join(parts)

    def _rest(self, path: str, query: str, body: bytes) -> None:
        words = {name: values[-1] for name, values in parse_qs(query).items()}
        with self.github.lock:
            fault = next((f for f in self.github.faults if f.fits(self.command, path)), None)
            if fault is not None:
                fault.times -= 1
            if fault is not None and not fault.done:
                self._json(fault.status, {"message": fault.message}, fault.headers)
                return
            status, data = self._called(path, words, body)
            if fault is not None:
                status, data = fault.status, {"message": fault.message}
        if self.github.meanwhile and self.command == "GET" and path.endswith("/pulls"):
            then, self.github.meanwhile = self.github.meanwhile, None
            then()
        self._json(status, data, fault.headers if fault else {})

    def _git_fault(self, path: str) -> bool:
        """Answer a request of git's with the fault whose turn it is, if there is one."""
        with self.github.lock:
            fault = next((f for f in self.github.faults if f.fits(self.command, path)), None)
            if fault is not None:
                fault.times -= 1
                self._json(fault.status, {"message": fault.message}, fault.headers)
            return fault is not None

    def _called(self, path: str, words: Mapping[str, str], body: bytes) -> tuple[int, Any]:
        user = TOKENS.get((self.headers.get("Authorization") or "").removeprefix("Bearer "))
        if user is None:
            return 401, {"message": "Bad credentials"}
        try:
            return self.github.answer(self.command, path, words, json.loads(body) if body else None, user)
        except Refused as refused:
            return refused.status, refused.body

    def _json(self, status: int, data: Any, headers: Mapping[str, str] | None = None) -> None:
        raw = b"" if data is None else json.dumps(data).encode()
        self._send(status, {"Content-Type": "application/json", **(headers or {})}, raw)

    def _send(self, status: int, headers: Mapping[str, str], raw: bytes) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(raw)))
        self.end_headers()
        self.wfile.write(raw)

    def _git(self, path: str, query: str, body: bytes) -> None:
        """Hand on to git's own server; who has a token may push, anybody else may read."""
        basic = {f"basic {_basic(token)}": user for token, user in TOKENS.items()}
        given = self.headers.get("Authorization") or ""
        user = basic.get(given[:1].lower() + given[1:])
        if (given and user is None) or ("receive-pack" in self.path and user is None):
            self._send(401, {"WWW-Authenticate": 'Basic realm="git"'}, b"")
            return
        environment = {
            **{name: os.environ[name] for name in ("PATH",)},
            "GIT_PROJECT_ROOT": str(self.github.bare.parents[1]),
            "GIT_HTTP_EXPORT_ALL": "1",
            "PATH_INFO": path,
            "QUERY_STRING": query,
            "REQUEST_METHOD": self.command,
            "CONTENT_TYPE": self.headers.get("Content-Type", ""),
            "HTTP_CONTENT_ENCODING": self.headers.get("Content-Encoding", ""),
            "GIT_PROTOCOL": self.headers.get("Git-Protocol", ""),
            "REMOTE_USER": user or "",
            "REMOTE_ADDR": "127.0.0.1",
        }
        command = ["git", "http-backend"]
        done = subprocess.run(command, input=body, capture_output=True, env=environment, check=False, timeout=120)
        head, _, raw = done.stdout.partition(b"\r\n\r\n")
        fields = dict(line.split(": ", 1) for line in head.decode().split("\r\n") if ": " in line)
        self._send(int(fields.pop("Status", "200").split()[0]), fields, raw)


def _basic(token: str) -> str:
    import base64

    return base64.b64encode(f"x-access-token:{token}".encode()).decode()


@contextlib.contextmanager
def serving(folder: Path) -> Iterator[GitHubServer]:
    """Run the server until the end of the block."""
    bare = folder / OWNER / f"{NAME}.git"
    bare.mkdir(parents=True)
    subprocess.run(["git", "init", "-q", "--bare", "-b", "main", str(bare)], check=True, timeout=60)
    github = GitHubServer(bare)
    for name in ("http.receivepack", "uploadpack.allowAnySHA1InWant"):
        github.git("config", name, "true")
    handler = type("Handler", (_Handler,), {"github": github})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        server.daemon_threads = True
        github.url = f"http://127.0.0.1:{server.server_address[1]}"
        thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
        thread.start()
        try:
            yield github
        finally:
            server.shutdown()
            thread.join(10)
