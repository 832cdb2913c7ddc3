"""A server on this machine that speaks the Messages API, for tests to talk to through the real SDK.

It validates what it is sent as strictly as the API documents, answers what a test put into its script, and keeps
a log of every request and of the usage that it reported.
"""

from __future__ import annotations

import itertools
import json
import ssl
import threading
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import urlsplit

KEY = "sk-test"
_SAMPLING = frozenset({"temperature", "top_p", "top_k"})
_FIELDS = _SAMPLING | {"model", "max_tokens", "messages", "system", "tools", "tool_choice", "stream", "metadata"}
_NOT_IN_STRICT = frozenset({"minLength", "maxLength", "minimum", "maximum", "minItems", "maxItems", "oneOf", "$ref"})
_ERRORS = {
    400: "invalid_request_error",
    401: "authentication_error",
    402: "billing_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    500: "api_error",
    529: "overloaded_error",
}


@dataclass(frozen=True)
class Step:
    """One scripted reaction: an answer (``blocks``), an error (``status``), or a way for the wire to fail."""

    blocks: tuple[Mapping[str, Any], ...] = ()
    end: str = "end_turn"
    usage: Mapping[str, Any] | None = None
    status: int = 200
    message: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)
    fail: str = ""  # drop | break_off | error_midway | not_json | stall | trickle


@dataclass(frozen=True)
class Request:
    """One request as it arrived."""

    path: str
    headers: Mapping[str, str]
    body: Mapping[str, Any]

    @property
    def prompt(self) -> str:
        """Return the text of the last message."""
        content = self.body["messages"][-1]["content"]
        if isinstance(content, str):
            return content
        return "".join(block.get("text") or block["content"] for block in content)


class ModelServer:
    """Answers from a script, in the order in which steps were added; without one left it answers 400."""

    def __init__(self, tls: ssl.SSLContext | None = None) -> None:
        self.requests: list[Request] = []
        self.served: list[Mapping[str, Any]] = []
        self._script: deque[Step] = deque()
        self._closing = threading.Event()
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
        self._http.daemon_threads = False
        self._http.desk = self  # type: ignore[attr-defined]
        if tls is not None:
            self._http.socket = tls.wrap_socket(self._http.socket, server_side=True, do_handshake_on_connect=False)
        self._thread = threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        """Return what a rung takes as its base_url."""
        return f"http://127.0.0.1:{self._http.server_address[1]}"

    def close(self) -> None:
        """Stop, and let every handler end."""
        self._closing.set()
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()

    def says(self, text: str, *, end: str = "end_turn", usage: Mapping[str, Any] | None = None) -> None:
        """Add a plain text answer."""
        self._script.append(Step(({"type": "text", "text": text},), end, usage))

    def uses_tool(self, data: Any, *, name: str = "propose_edits", end: str = "tool_use", **more: Any) -> None:
        """Add a tool call; ``data`` as a string is sent as it is, well-formed or not."""
        block = {"type": "tool_use", "id": "toolu_1", "name": name, "input": data}
        self._script.append(Step((block,), end, **more))

    def edits(self, *edits: Sequence[str], diagnosis: str = "found it", **more: Any) -> None:
        """Add an answer with edits, each as path, old text, new text."""
        listed = [dict(zip(("path", "old", "new"), edit, strict=True)) for edit in edits]
        data = {"diagnosis": diagnosis, "edits": listed, "test_is_wrong": False, "why_test_is_wrong": ""}
        self.uses_tool(data, **more)

    def fails(self, status: int, message: str = "as scripted", **headers: str) -> None:
        """Add an error answer; ``retry_after="2"`` becomes the header of that name."""
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        self._script.append(Step(status=status, message=message, headers=named))

    def breaks(self, how: str) -> None:
        """Add a failure of the wire: drop, break_off, error_midway, not_json, stall or trickle."""
        self._script.append(Step(({"type": "text", "text": "half of it"},), fail=how))

    def next_step(self) -> Step:
        """Take the next step of the script."""
        return self._script.popleft() if self._script else Step(status=400, message="the script has ended")

    def wait(self, seconds: float) -> bool:
        """Wait like a slow server, but never longer than the server lives; return whether it is closing."""
        return self._closing.wait(seconds)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    @property
    def _desk(self) -> ModelServer:
        return self.server.desk  # type: ignore[attr-defined,no-any-return]

    def log_message(self, format: str, *args: Any) -> None:
        """Keep quiet: the log of requests is what a test reads."""

    def do_POST(self) -> None:
        """Answer one request."""
        raw = self.rfile.read(int(self.headers.get("content-length", 0)))
        headers = {name.lower(): value for name, value in self.headers.items()}
        body = json.loads(raw)
        self._desk.requests.append(Request(self.path, headers, body))
        key = headers.get("x-api-key") or headers.get("authorization", "").removeprefix("Bearer ")
        if key != KEY:
            return self._error(401, "invalid x-api-key")
        problem = _problem(body, headers.get("anthropic-version", ""))
        if problem:
            return self._error(400, problem)
        path = urlsplit(self.path).path  # a proxy is asked with the whole address
        if path == "/v1/messages/count_tokens":
            return self._json(200, {"input_tokens": len(raw) // 4})
        if path != "/v1/messages":
            return self._error(404, f"no such path: {self.path}")
        return self._react(self._desk.next_step(), body)

    def _react(self, step: Step, body: Mapping[str, Any]) -> None:
        if step.status != 200:
            return self._error(step.status, step.message, step.headers)
        if step.fail == "drop":
            self.close_connection = True
            return None
        if step.fail == "not_json":
            return self._send(200, "text/event-stream", b"event: message_start\ndata: {not json\n\n")
        usage = dict(step.usage or {"input_tokens": len(json.dumps(body)) // 4, "output_tokens": 40})
        if step.usage is None and step.end == "max_tokens":
            usage["output_tokens"] = body["max_tokens"]
        self._desk.served.append(usage)
        if body.get("stream"):
            return self._stream(step, body, usage)
        message = _message(body, usage) | {"content": list(step.blocks), "stop_reason": step.end}
        return self._json(200, message)

    def _stream(self, step: Step, body: Mapping[str, Any], usage: Mapping[str, Any]) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("connection", "close")
        self.end_headers()
        self.close_connection = True
        for event in _events(step, body, usage):
            if step.fail and event["type"] == "content_block_stop":
                return self._fail_midway(step.fail)
            self._event(event)
        return None

    def _fail_midway(self, how: str) -> None:
        if how == "error_midway":
            self._event({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}})
        if how == "stall":
            self._desk.wait(20)
        while how == "trickle" and not self._desk.wait(0.02):
            try:
                self.wfile.write(b":")  # a byte at a time: no read ever times out
                self.wfile.flush()
            except OSError:
                return

    def _event(self, event: Mapping[str, Any]) -> None:
        self.wfile.write(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode())
        self.wfile.flush()

    def _error(self, status: int, message: str, headers: Mapping[str, str] | None = None) -> None:
        error = {"type": _ERRORS.get(status, "api_error"), "message": message}
        self._json(status, {"type": "error", "error": error, "request_id": "req_1"}, headers)

    def _json(self, status: int, body: Mapping[str, Any], headers: Mapping[str, str] | None = None) -> None:
        self._send(status, "application/json", json.dumps(body).encode(), headers)

    def _send(self, status: int, kind: str, body: bytes, headers: Mapping[str, str] | None = None) -> None:
        self.send_response(status)
        for name, value in {"content-type": kind, "content-length": str(len(body)), **(headers or {})}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)


@contextmanager
def running(tls: ssl.SSLContext | None = None) -> Iterator[ModelServer]:
    """Run a server for as long as the block lasts, over TLS where a context is given."""
    server = ModelServer(tls)
    try:
        yield server
    finally:
        server.close()


def _message(body: Mapping[str, Any], usage: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": body["model"],
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": dict(usage),
    }


def _events(step: Step, body: Mapping[str, Any], usage: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield an answer as events: usage comes in two parts, and tool input in pieces of JSON."""
    yield {"type": "message_start", "message": _message(body, {**usage, "output_tokens": 1})}
    yield {"type": "ping"}
    for index, block in enumerate(step.blocks):
        tool = block["type"] == "tool_use"
        written = (block["input"] if isinstance(block["input"], str) else json.dumps(block["input"])) if tool else ""
        start = {**block, "input": {}} if tool else {**block, "text": ""}
        yield {"type": "content_block_start", "index": index, "content_block": start}
        if step.end == "max_tokens":
            written = written[: len(written) // 2]
        for part in _halves(written) if tool else _halves(block["text"]):
            delta = {"type": "input_json_delta", "partial_json": part} if tool else {"type": "text_delta", "text": part}
            yield {"type": "content_block_delta", "index": index, "delta": delta}
        yield {"type": "content_block_stop", "index": index}
    details = {"type": "refusal", "category": "cyber", "explanation": "not this"} if step.end == "refusal" else None
    delta = {"stop_reason": step.end, "stop_sequence": None, "stop_details": details}
    yield {"type": "message_delta", "delta": delta, "usage": {"output_tokens": usage.get("output_tokens")}}
    yield {"type": "an_event_of_the_future", "anything": 1}
    yield {"type": "message_stop"}


def _halves(text: str) -> tuple[str, str]:
    return text[: len(text) // 2], text[len(text) // 2 :]


def _problem(body: Mapping[str, Any], version: str) -> str | None:
    """Return what the API would object to, or None."""
    missing = {"model", "messages"} - set(body)
    if missing:
        return f"{sorted(missing)[0]}: Field required"
    for name in body:
        if name not in _FIELDS or (name in _SAMPLING and version != "2023-06-01"):
            return f"{name}: Extra inputs are not permitted"
    roles = [message["role"] for message in body["messages"]]
    if not roles or roles[0] != "user" or any(a == b for a, b in itertools.pairwise(roles)):
        return "messages: roles must alternate between user and assistant, and begin with user"
    for asked, told in itertools.pairwise(body["messages"]):
        if asked["role"] == "assistant" and _calls(asked) != {block["tool_use_id"] for block in told["content"]}:
            return "messages: each tool_use must have a tool_result in the next message"
    for tool in body.get("tools", ()):
        problem = _schema_problem(tool["input_schema"], "tools.0.input_schema") if tool.get("strict") else None
        if problem:
            return problem
    return _choice_problem(body)


def _calls(message: Mapping[str, Any]) -> set[str]:
    return {block["id"] for block in message["content"] if block["type"] == "tool_use"}


def _choice_problem(body: Mapping[str, Any]) -> str | None:
    choice = body.get("tool_choice") or {}
    if choice.get("type") == "tool" and choice["name"] not in {tool["name"] for tool in body.get("tools", ())}:
        return "tool_choice: no such tool"
    if choice.get("type") in ("tool", "any") and body["model"].startswith(("claude-sonnet-5-5", "claude-opus-5-5")):
        return "tool_choice: forced tool use is not supported for this model"
    if choice.get("type") in ("tool", "any") and body["model"] == "unforceable":
        return "tool_choice: not supported here"
    return None


def _schema_problem(schema: Mapping[str, Any], where: str) -> str | None:
    """Strict tools close every object, require every property, and take a part of JSON Schema only."""
    unknown = _NOT_IN_STRICT & set(schema)
    if unknown:
        return f"{where}: {sorted(unknown)[0]} is not supported in strict mode"
    if schema.get("type") == "object":
        if schema.get("additionalProperties") is not False:
            return f"{where}: additionalProperties must be false"
        if set(schema.get("required", ())) != set(schema.get("properties", {})):
            return f"{where}: every property must be required"
    for name, below in {
        **schema.get("properties", {}),
        **({"items": schema["items"]} if "items" in schema else {}),
    }.items():
        problem = _schema_problem(below, f"{where}.{name}")
        if problem:
            return problem
    return None
