"""Keys from the environment and from a project's .env file."""

from __future__ import annotations

import pytest

from pytest_noepicycle.adapters.keys import api_key, dotenv


@pytest.mark.parametrize(
    ("line", "value"),
    [
        ("KEY=plain", "plain"),
        ("  export KEY = spaced  ", "spaced"),
        ("KEY='single # kept'", "single # kept"),
        ('KEY="double"  # a remark', "double"),
        ("KEY=bare # a remark", "bare"),
        ("KEY=has#inside", "has#inside"),
        ("KEY=$(rm -rf /) ${HOME}", "$(rm -rf /) ${HOME}"),
        ("KEY=", ""),
        ("KEY=#nothing", ""),
        ("\ufeffKEY=bom", "bom"),
        ("KEY=first\nKEY=second", "second"),
        ("KEY=crlf\r\n", "crlf"),
    ],
)
def test_lines_of_a_dotenv_file(tmp_path, line, value):
    """Quotes and comments are understood; nothing is expanded."""
    (tmp_path / ".env").write_bytes(f"# a comment\n{line}".encode() if not line.startswith("\ufeff") else line.encode())
    assert dotenv(tmp_path / ".env") == {"KEY": value}


def test_the_environment_comes_before_the_file(tmp_path):
    """A key that is exported wins; an empty one does not count as set."""
    (tmp_path / ".env").write_text("KEY=from-file\nEMPTY=\n")
    assert api_key("KEY", tmp_path, {"KEY": "from-environment"}) == "from-environment"
    assert api_key("KEY", tmp_path, {"KEY": " "}) == "from-file"
    assert api_key("EMPTY", tmp_path, {}) is None
    assert api_key("OTHER", tmp_path, {}) is None


def test_a_server_without_keys_needs_none(tmp_path):
    """A rung with an empty api_key_env has an empty key, which is not the same as a missing one."""
    assert api_key("", tmp_path, {}) == ""


def test_no_file_and_no_text_are_no_error(tmp_path):
    """A missing file, a folder of that name and bytes that are no text give no keys."""
    assert dotenv(tmp_path / "missing") == {}
    assert dotenv(tmp_path) == {}
    (tmp_path / "bytes").write_bytes(b"\xff\xfe\x00KEY")
    assert dotenv(tmp_path / "bytes") == {}
