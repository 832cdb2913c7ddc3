"""The key ``noepi_network``: which words name a service on this machine's loopback."""

from __future__ import annotations

import pytest

from pytest_noepicycle.inside.options import OPTIONS, parsed

NETWORK = next(option for option in OPTIONS if option.name == "network")


@pytest.mark.parametrize(
    ("given", "ports"),
    [
        ([], ()),
        (["5432"], (5432,)),
        (["localhost:5432", "127.0.0.1:6379", "[::1]:80"], (5432, 6379, 80)),
        (["5432", "localhost:5432"], (5432,)),
        (["https", "localhost:http"], (443, 80)),
        ("5432 6379", (5432, 6379)),
    ],
)
def test_services_are_ports_or_names(given, ports):
    """With or without the host; one that is named twice is one."""
    assert parsed(NETWORK, given, "noepi_network") == ports


@pytest.mark.parametrize(
    "given",
    [
        *("0", "65536", "-1", "example.com:5432", "10.0.0.1:5432", "localhost", "localhost:", ":80", "no-such-service"),
        *("5432/tcp", "*", "0.0.0.0:80", "5432-5440", "5432,5433"),
    ],
)
def test_other_words_are_usage_errors(given):
    """The sentence names the key, the word, and what it takes."""
    with pytest.raises(pytest.UsageError) as refused:
        parsed(NETWORK, ["5432", given], "noepi_network")
    assert "noepi_network" in str(refused.value)
    assert f"{given!r} is none" in str(refused.value)
    assert "localhost:5432" in str(refused.value)


def test_more_than_eight_are_a_usage_error():
    """So that what a candidate can reach stays a list that is read."""
    with pytest.raises(pytest.UsageError, match="at most 8 services"):
        parsed(NETWORK, [str(port) for port in range(9001, 9010)], "noepi_network")
