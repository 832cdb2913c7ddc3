"""Nothing of a run is traced to a third party, whatever the environment says."""

from __future__ import annotations

import http.server
import threading

from mending import TOTAL, checks_of


class _Counting(http.server.BaseHTTPRequestHandler):
    def handle(self) -> None:
        """Count a connection, whatever it is for."""
        self.server.connections += 1


def test_tracing_that_the_environment_asks_for_is_off(story):
    """The variables of LangSmith, the new names and the old ones, lead to no connection at all."""
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Counting) as collector:
        collector.connections = 0
        thread = threading.Thread(target=collector.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            address = f"http://127.0.0.1:{collector.server_address[1]}"
            names = ("LANGSMITH", "LANGCHAIN")
            env = {f"{name}_{what}": value for name in names for what, value in _asked(address).items()}
            place = story({"bread.py": TOTAL, "test_bread.py": checks_of("bread")})
            told = place.fix("--noepi-ladder", "offline", env=env)
        finally:
            collector.shutdown()
            thread.join()
    assert told.result["stop_reason"] == "solved", told.text
    assert collector.connections == 0


def _asked(address: str) -> dict[str, str]:
    return {
        "TRACING": "true",
        "HANDLER": "langchain",
        "TRACING_V2": "true",
        "ENDPOINT": address,
        "API_KEY": "lsv2_test",
        "PROJECT": "p",
    }
