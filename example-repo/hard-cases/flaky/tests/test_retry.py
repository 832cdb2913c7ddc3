"""Waits grow, and are spread."""

from retry import wait_before_retry


def test_waits_are_spread():
    """A wait lies within half of its nominal length."""
    assert all(0.25 <= wait_before_retry(0) <= 0.75 for _ in range(100))


def test_waits_are_bounded():
    """However often it was tried, the wait does not grow past the longest."""
    assert wait_before_retry(50) <= 45.0


def test_first_wait_is_short():
    """The first wait stays near half a second."""
    assert wait_before_retry(0) <= 0.625
