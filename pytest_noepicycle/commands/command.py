"""What the commands share: the form of one, its settings, its statuses, its JSON."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from pytest_noepicycle.errors import UsageError
from pytest_noepicycle.inside.options import OPTIONS, parsed

DONE, NOT_DONE, WRONG_USE = 0, 1, 2


@dataclass(frozen=True, slots=True)
class Command:
    """One word of ``noepi``: what it does, its arguments, and the function behind it.

    With ``takes_rest`` it hands on the arguments that it does not know to pytest.
    """

    name: str
    help: str
    arguments: Callable[[argparse.ArgumentParser], None]
    run: Callable[[argparse.Namespace], int]
    takes_rest: bool = False


def add_options(parser: argparse.ArgumentParser, names: tuple[str, ...] = ()) -> None:
    """Add the settings by their names without the prefix: those named, or all that the command line has."""
    for option in OPTIONS:
        if option.name in names or (not names and not option.ini_only):
            shown = "" if option.default in (None, (), 0) else f" (default: {option.default})"
            parser.add_argument(f"--{option.name}", metavar=option.metavar, help=option.help + shown)


def values(given: argparse.Namespace) -> dict[str, Any]:
    """Return the settings that were given on the command line, by their keys.

    :raises UsageError: where one is not a value of its option.
    """
    found: dict[str, Any] = {}
    for option in OPTIONS:
        text = getattr(given, option.key, None)
        if text is not None:
            try:
                found[option.key] = parsed(option, text, f"--{option.name}")
            except pytest.UsageError as error:
                raise UsageError(str(error)) from None
    return found


def print_json(document: Any) -> None:
    """Print the one JSON document of a command."""
    print(json.dumps(document, indent=2, ensure_ascii=False))
