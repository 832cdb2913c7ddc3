"""The way to a model's server through what companies put in between: proxies, and certificates of their own."""

from __future__ import annotations

import contextlib
import shutil
import socket
import socketserver
import ssl
import subprocess
import threading
from pathlib import Path

import model_server
import pytest

from pytest_noepicycle.adapters.messages import MessagesModel
from pytest_noepicycle.domain.ladder import Rung
from pytest_noepicycle.errors import ProviderError
from pytest_noepicycle.ports import Question

SCHEMA = {"type": "object", "additionalProperties": False, "required": [], "properties": {}}
QUESTION = Question("s", "", "p", "propose_edits", "d", SCHEMA, 700)
HOST = "models.example.test"  # a name that only the proxy knows


@pytest.fixture(autouse=True)
def _no_surroundings(monkeypatch):
    """Leave no proxy of this machine in the way."""
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "SSL_CERT_FILE", "SSL_CERT_DIR"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)


def ask(address: str):
    """Ask the model at an address."""
    model = MessagesModel(Rung("r", "model", model="claude-haiku-4-5", base_url=address), model_server.KEY)
    return model.ask(QUESTION, seconds=20)


def test_a_plain_proxy_is_asked_with_the_whole_address(server, monkeypatch):
    """The name is the proxy's to resolve."""
    monkeypatch.setenv("HTTP_PROXY", server.url)
    server.edits()
    assert ask(f"http://{HOST}").data is not None
    assert server.requests[0].path == f"http://{HOST}/v1/messages"


class _Tunnel(socketserver.BaseRequestHandler):
    """Answers CONNECT for any name with a way to the one server behind it."""

    def handle(self) -> None:
        asked = b""
        while b"\r\n\r\n" not in asked:
            asked += self.request.recv(4096)
        self.server.asked.append(asked.split(b"\r\n")[0].decode())
        with socket.create_connection(self.server.behind, timeout=20) as onward:
            self.request.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
            back = threading.Thread(target=_pump, args=(onward, self.request))
            back.start()
            _pump(self.request, onward)
            back.join()


def _pump(source: socket.socket, target: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while data := source.recv(65536):
            target.sendall(data)
    with contextlib.suppress(OSError):
        target.shutdown(socket.SHUT_WR)


@pytest.fixture
def tunnel():
    """Run a proxy that only tunnels; ``behind`` is set by the test."""
    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), _Tunnel) as proxy:
        proxy.asked, proxy.daemon_threads = [], True
        thread = threading.Thread(target=proxy.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield proxy
        proxy.shutdown()
        thread.join()


@pytest.fixture(scope="module")
def certificates(tmp_path_factory) -> Path:
    """Make an authority of our own, and a certificate of it for the host."""
    if shutil.which("openssl") is None:
        pytest.skip("openssl is not installed; CI's machines have it")
    folder = tmp_path_factory.mktemp("tls")
    (folder / "san").write_text(f"subjectAltName=DNS:{HOST}\n")
    for line in (
        "req -x509 -newkey rsa:2048 -nodes -keyout ca.key -out ca.pem -days 2 -subj /CN=own",
        f"req -newkey rsa:2048 -nodes -keyout host.key -out host.csr -subj /CN={HOST}",
        "x509 -req -in host.csr -CA ca.pem -CAkey ca.key -CAcreateserial -out host.pem -days 2 -extfile san",
    ):
        subprocess.run(["openssl", *line.split()], cwd=folder, check=True, capture_output=True, timeout=60)
    return folder


@pytest.fixture
def private(certificates):
    """Run the model's server over TLS with that certificate."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificates / "host.pem", certificates / "host.key")
    with model_server.running(context) as running:
        yield running


def test_a_private_authority_is_trusted_where_it_is_named_behind_a_tunnel(private, tunnel, certificates, monkeypatch):
    """SSL_CERT_FILE and HTTPS_PROXY together: what most companies have."""
    tunnel.behind = ("127.0.0.1", int(private.url.rpartition(":")[2]))
    monkeypatch.setenv("HTTPS_PROXY", f"http://127.0.0.1:{tunnel.server_address[1]}")
    with pytest.raises(ProviderError) as caught:
        ask(f"https://{HOST}")
    assert caught.value.kind == "never_connected"
    assert private.requests == []

    monkeypatch.setenv("SSL_CERT_FILE", str(certificates / "ca.pem"))
    private.edits()
    assert ask(f"https://{HOST}").data is not None
    assert tunnel.asked == [f"CONNECT {HOST}:443 HTTP/1.1"] * 2
    assert len(private.requests) == 1
