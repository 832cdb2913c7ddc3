"""Secrets are taken out by their form and by their value; other text stays as it is."""

from __future__ import annotations

import pytest

from pytest_noepicycle.domain.redaction import HIDDEN, redacted, secrets_in


@pytest.mark.parametrize(
    "secret",
    [
        "sk-ant-" + "a1B2" * 8,
        "ghp_" + "a1B2" * 9,
        "github_pat_" + "a1B2" * 9,
        "glpat-" + "a1B2" * 5,
        "AKIA" + "A1B2" * 4,
        "xoxb-" + "12345678-" * 3 + "abc",
        "eyJ" + "a1B2" * 4 + ".eyJ" + "a1B2" * 4 + ".c1D2",
        "-----BEGIN RSA PRIVATE KEY-----\nabc\n-----END RSA PRIVATE KEY-----",
        "-----BEGIN PRIVATE KEY-----\ncut off",
    ],
    ids=["model", "github", "github new", "gitlab", "aws", "slack", "web token", "key", "key that is cut"],
)
def test_a_secret_is_known_by_its_form(secret: str):
    """Wherever it stands in a text."""
    assert redacted(f"before {secret}") == f"before {HIDDEN}"


def test_a_password_in_an_address_goes_and_the_address_stays():
    """What a log most often shows."""
    assert redacted("https://me:pass@host/x") == f"https://{HIDDEN}@host/x"


def test_a_value_of_the_environment_goes_whatever_its_form():
    """Values are found by the names of their variables; the longest first, so that no part is left."""
    values = secrets_in({"DB_PASSWORD": "correct horse", "API_KEY": "correct horse battery", "HOME": "/home/someone"})
    assert set(values) == {"correct horse", "correct horse battery"}
    assert redacted("it is correct horse battery in /home/someone", values) == f"it is {HIDDEN} in /home/someone"


@pytest.mark.parametrize("text", ["assert 1 == 2", "sk-short", "http://host:80/x", "a task-based thing", ""])
def test_ordinary_text_stays(text: str):
    """Nothing is taken out that only looks a little like a secret."""
    assert redacted(text, ("", "1")) == text
