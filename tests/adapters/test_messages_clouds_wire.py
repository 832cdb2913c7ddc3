"""Bedrock and Vertex through the SDK's own clients, against a server on this machine; run where their libraries are."""

from __future__ import annotations

import base64
import binascii
import http.server
import json
import shutil
import struct
import subprocess
import threading

import pytest

from pytest_noepicycle.adapters.messages import MessagesModel
from pytest_noepicycle.domain.budget import Usage
from pytest_noepicycle.domain.ladder import Rung
from pytest_noepicycle.errors import ProviderError
from pytest_noepicycle.ports import Question

SCHEMA = {
    "type": "object",
    "additionalProperties": False,
    "required": ["x"],
    "properties": {"x": {"type": "string"}},
}
QUESTION = Question("s", "stable", "p", "propose_edits", "d", SCHEMA, 700)
CALL = {"type": "tool_use", "id": "toolu_1", "name": "propose_edits", "input": {}}
EVENTS = (
    {
        "type": "message_start",
        "message": {
            "id": "m",
            "type": "message",
            "role": "assistant",
            "model": "m",
            "content": [],
            "stop_reason": None,
            "stop_sequence": None,
            "usage": {"input_tokens": 12, "output_tokens": 1},
        },
    },
    {"type": "content_block_start", "index": 0, "content_block": CALL},
    {"type": "content_block_delta", "index": 0, "delta": {"type": "input_json_delta", "partial_json": '{"x": "1"}'}},
    {"type": "content_block_stop", "index": 0},
    {
        "type": "message_delta",
        "delta": {"stop_reason": "tool_use", "stop_sequence": None},
        "usage": {"output_tokens": 9},
    },
    {"type": "message_stop"},
)


class _Cloud(http.server.BaseHTTPRequestHandler):
    """Answers every question with the same events, in the form of the cloud that it plays."""

    def log_message(self, format: str, *args: object) -> None:
        """Keep quiet."""

    def do_POST(self) -> None:
        """Give out a token, or answer."""
        raw = self.rfile.read(int(self.headers["content-length"]))
        if self.path == "/token":
            return self._send("application/json", json.dumps({"access_token": "tok", "expires_in": 3600}).encode())
        headers = {name.lower(): value for name, value in self.headers.items()}
        self.server.asked.append((self.path, headers, json.loads(raw)))
        if "/model/" in self.path:
            return self._send("application/vnd.amazon.eventstream", b"".join(_frame(event) for event in EVENTS))
        lines = (f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in EVENTS)
        return self._send("text/event-stream", "".join(lines).encode())

    def _send(self, kind: str, body: bytes) -> None:
        self.send_response(200)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def _frame(event: dict) -> bytes:
    """Return a message of AWS's event stream."""
    named = {":event-type": "chunk", ":content-type": "application/json", ":message-type": "event"}
    headers = b"".join(
        struct.pack(f">B{len(name)}sBH{len(value)}s", len(name), name.encode(), 7, len(value), value.encode())
        for name, value in named.items()
    )
    payload = json.dumps({"bytes": base64.b64encode(json.dumps(event).encode()).decode()}).encode()
    prelude = struct.pack(">II", 16 + len(headers) + len(payload), len(headers))
    head = prelude + struct.pack(">I", binascii.crc32(prelude)) + headers + payload
    return head + struct.pack(">I", binascii.crc32(head))


@pytest.fixture
def cloud(monkeypatch):
    """Run the server; nothing of this machine's own clouds is looked at."""
    for name in ("AWS_PROFILE", "AWS_ACCESS_KEY_ID", "AWS_BEARER_TOKEN_BEDROCK", "HTTP_PROXY", "http_proxy"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Cloud) as server:
        server.asked, server.url = [], f"http://127.0.0.1:{server.server_address[1]}"
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def asked(cloud, provider: str, model: str):
    """Ask a model of a cloud."""
    rung = Rung("r", "model", model=model, provider=provider, base_url=cloud.url)
    return MessagesModel(rung, "").ask(QUESTION, seconds=30)


def test_bedrock_is_asked_with_its_own_credentials(cloud, monkeypatch):
    """With a key of Bedrock's, or signed; the model is in the address, and the usage arrives."""
    pytest.importorskip("botocore", reason="boto3, of the dev extra, is not installed; CI has it")
    monkeypatch.setenv("AWS_REGION", "eu-west-1")
    monkeypatch.setenv("AWS_BEARER_TOKEN_BEDROCK", "bedrock-key")
    answer = asked(cloud, "bedrock", "anthropic.claude-haiku-4-5-v1:0")
    assert (answer.data, answer.usage) == ({"x": "1"}, Usage(12, 9))
    monkeypatch.delenv("AWS_BEARER_TOKEN_BEDROCK")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "id")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    asked(cloud, "bedrock", "anthropic.claude-haiku-4-5-v1:0")
    (path, first, body), (_, second, _) = cloud.asked
    assert path == "/model/anthropic.claude-haiku-4-5-v1:0/invoke-with-response-stream"
    assert first["authorization"] == "Bearer bedrock-key"
    assert second["authorization"].startswith("AWS4-HMAC-SHA256 Credential=id/")
    assert body["messages"][0]["content"][1]["text"] == "p"


def test_bedrock_without_credentials_ends_with_what_to_do(cloud, monkeypatch, tmp_path):
    """A named outcome, and nothing was sent."""
    pytest.importorskip("botocore", reason="boto3, of the dev extra, is not installed; CI has it")
    monkeypatch.setenv("AWS_REGION", "us-east-1")  # the SDK keeps the session of a region
    monkeypatch.setenv("HOME", str(tmp_path))
    with pytest.raises(ProviderError) as caught:
        asked(cloud, "bedrock", "m")
    assert caught.value.kind == "auth"
    assert "credentials for bedrock" in caught.value.hint
    assert cloud.asked == []


def test_vertex_is_asked_with_its_own_credentials(cloud, monkeypatch, tmp_path):
    """A service account's token, of which the SDK takes care."""
    pytest.importorskip("google.auth", reason="google-auth, of the dev extra, is not installed; CI has it")
    if shutil.which("openssl") is None:
        pytest.skip("openssl is not installed; CI's machines have it")
    key = subprocess.run(["openssl", "genrsa", "2048"], capture_output=True, text=True, check=True, timeout=60).stdout
    account = {
        "type": "service_account",
        "client_email": "x@y",
        "private_key": key,
        "private_key_id": "1",
        "project_id": "mine",
        "token_uri": f"{cloud.url}/token",
    }
    (tmp_path / "account.json").write_text(json.dumps(account))
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(tmp_path / "account.json"))
    monkeypatch.setenv("CLOUD_ML_REGION", "global")
    monkeypatch.setenv("ANTHROPIC_VERTEX_PROJECT_ID", "mine")
    answer = asked(cloud, "vertex", "claude-haiku-4-5@20261001")
    assert (answer.data, answer.usage) == ({"x": "1"}, Usage(12, 9))
    ((path, headers, body),) = cloud.asked
    assert path.startswith("/projects/mine/locations/global/publishers/anthropic/models/claude-haiku-4-5@20261001")
    assert headers["authorization"] == "Bearer tok"
    assert body["max_tokens"] == 700
