"""``noepi mcp``: offer fix, verify, report and apply to a coding assistant."""

from __future__ import annotations

import argparse

from pytest_noepicycle.commands.command import DONE


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments: there are none, an assistant gives the project with each call."""


def run(given: argparse.Namespace) -> int:
    """Serve until the assistant hangs up."""
    from pytest_noepicycle.adapters import mcp_server

    mcp_server.serve()
    return DONE
