"""Every option and ini key, in one table that pytest and the command line share. PYTEST_DONT_REWRITE"""

from __future__ import annotations

import re
import socket
from pathlib import Path
from typing import Any, Callable, List, NamedTuple, Optional, Sequence, Union

import pytest

Parse = Callable[[Any], Any]
_OF_A_RUN = ("decisions.jsonl", "result.json", "patch.json")


class Option(NamedTuple):
    """One setting, ``--noepi-<name>`` and ``noepi_<name>``; ``parse`` turns text into a value or raises ValueError.

    The ini file gives words where the default is a tuple.
    """

    name: str
    default: Any
    parse: Parse
    metavar: str
    help: str
    ini_only: bool = False

    @property
    def key(self) -> str:
        """Return the name of the setting in code."""
        return self.name.replace("-", "_")


def read(config: pytest.Config) -> dict[str, Any]:
    """Return every setting by its key: the command line wins over the ini file, that over the default.

    :raises pytest.UsageError: with the option, what was given, and what is expected.
    """
    values: dict[str, Any] = {key: config.getoption("noepi_" + key) for key in ("fix", "dry_run", "resume")}
    for option in OPTIONS:
        given = None if option.ini_only else config.getoption("noepi_" + option.key)
        where = "--noepi-" + option.name
        if given is None:
            given, where = config.getini("noepi_" + option.key), "noepi_" + option.key
        values[option.key] = parsed(option, given, where)
    return values


def parsed(option: Option, given: Any, where: str) -> Any:
    """Return the value of what was given (None or empty: the default).

    :raises pytest.UsageError: where it is not a value of that option.
    """
    if given is None or given == "" or given == []:
        return option.default
    try:
        return option.parse(given)
    except ValueError as error:
        raise pytest.UsageError(f"{where}: {given!r} is not {error}") from None


def check_resume(option: str, run: Optional[str], folder: Path) -> None:
    """See that the name of a run is not a path of tests that the option has swallowed; ``folder`` is where one lies.

    :raises pytest.UsageError: where it is.
    """
    place = folder / run.partition("::")[0] if run else None
    if place is None or not place.exists() or any((place / name).is_file() for name in _OF_A_RUN):
        return
    raise pytest.UsageError(
        f"{option}: {run} is a path of the project and no run; to go on with the newest run, put {option} last, "
        f"and with another, write {option}=RUN"
    )


def add_options(parser: pytest.Parser) -> None:
    """Register the options and their ini twins."""
    group = parser.getgroup("noepi", "repair of failing tests (pytest-noepicycle)")
    group.addoption("--noepi-fix", action="store_true", default=False, help="Repair what failed")
    group.addoption(
        "--noepi-dry-run",
        action="store_true",
        default=False,
        help="Triage and localise what failed, change nothing and spend nothing",
    )
    group.addoption(
        "--noepi-resume",
        nargs="?",
        const="",
        default=None,
        metavar="RUN",
        help="Go on with a run that was broken off (default: the newest); with paths, write --noepi-resume=RUN",
    )
    for option in OPTIONS:
        if not option.ini_only:
            group.addoption("--noepi-" + option.name, default=None, metavar=option.metavar, help=_help(option))
        if isinstance(option.default, tuple):
            parser.addini("noepi_" + option.key, _help(option), type="args", default=None)
        else:
            parser.addini("noepi_" + option.key, _help(option), type="string", default=None)


def _help(option: Option) -> str:
    shown = "" if option.default in (None, (), 0) else f" (default: {option.default})"
    return option.help + shown


def _whole(least: int, what: str) -> Parse:
    def parse(text: str) -> int:
        try:
            number = int(text.replace("_", ""))
        except ValueError:
            raise ValueError(what) from None
        if number < least:
            raise ValueError(what)
        return number

    return parse


def _number(least: float, most: Optional[float], what: str) -> Parse:
    def parse(text: str) -> float:
        try:
            number = float(text)
        except ValueError:
            raise ValueError(what) from None
        if not least <= number <= (most if most is not None else 1e12):
            raise ValueError(what)
        return number

    return parse


def _one_of(*words: str) -> Parse:
    def parse(text: str) -> str:
        if text not in words:
            raise ValueError("one of " + ", ".join(words))
        return text

    return parse


def _memory(text: str) -> int:
    """Read bytes: a number with an optional KiB, MiB or GiB (also K, M, G)."""
    match = re.fullmatch(r"\s*(\d+)\s*([KMG]?)(?:i?B)?\s*", text, re.IGNORECASE)
    if not match or int(match[1]) == 0:
        raise ValueError("an amount of memory such as 512MiB or 2GiB")
    power = "KMG".index(match[2].upper()) + 1 if match[2] else 0
    return int(match[1]) << (10 * power)


def _truth(text: str) -> bool:
    words = {"true": True, "yes": True, "on": True, "1": True, "false": False, "no": False, "off": False, "0": False}
    if text.lower() not in words:
        raise ValueError("true or false")
    return words[text.lower()]


def _text(text: str) -> str:
    return text


def _executor(text: str) -> str:
    host, _, port = text[len("dask://") :].rpartition(":")
    known = text.startswith("dask://") and host and port.isdecimal() and 0 < int(port) < 65536
    if text != "local" and not known:
        raise ValueError("local, or a Dask scheduler as dask://HOST:PORT")
    return text


def _words(given: Union[str, List[str]]) -> Sequence[str]:
    return tuple(given.split() if isinstance(given, str) else given)


def _loopback_ports(given: Union[str, List[str]]) -> Sequence[int]:
    """Read services on this machine's loopback: ports or their names, with or without the host."""
    ports = tuple(dict.fromkeys(_loopback_port(word) for word in _words(given)))
    if len(ports) > MOST_SERVICES:
        raise ValueError(_SERVICES)
    return ports


def _loopback_port(word: str) -> int:
    match = re.fullmatch(r"(?:(?:localhost|127\.0\.0\.1|\[::1\]):)?([a-zA-Z0-9][\w+-]*)", word)
    try:
        port = int(match[1]) if match and match[1].isdecimal() else socket.getservbyname(match[1] if match else "")
    except (OSError, ValueError):
        port = 0
    if not 0 < port < 65536:
        raise ValueError(f"{_SERVICES}: {word!r} is none")
    return port


MOST_SERVICES = 8
_SERVICES = (
    f"a list of at most {MOST_SERVICES} services on this machine's loopback, such as 5432, localhost:5432,"
    " 127.0.0.1:5432 or a name that the system knows (postgresql)"
)
_SHARE = "a share between 0 and 1"
OPTIONS = (
    Option("ladder", "default", _text, "NAME|FILE", "Ladder of repairers: a shipped name, or a YAML file"),
    Option("budget", 50_000, _whole(0, "a number of tokens, zero or more"), "TOKENS", "Hard cap on tokens"),
    Option("budget-usd", None, _number(0, None, "an amount of US dollars, zero or more"), "X", "Hard cap on money"),
    Option(
        "time-limit",
        1200.0,
        _number(1, None, "a number of seconds, one or more"),
        "SECONDS",
        "Wall clock of the whole repair",
    ),
    Option(
        "apply",
        "solved",
        _one_of("solved", "best", "never"),
        "WHEN",
        "When to change the work tree: solved (a proven complete fix), best (any proven gain), never",
    ),
    Option("sandbox", "auto", _one_of("auto", "docker", "process"), "KIND", "Where candidates run"),
    Option(
        "workers", 0, _whole(1, "a number of workers, one or more"), "N", "Candidates tried at once (default: cores)"
    ),
    Option("executor", "local", _executor, "SPEC", "Where candidates are scored: local, or dask://HOST:PORT"),
    Option(
        "holdout", 0.0, _number(0, 0.9, "a share from 0 to 0.9"), "FRACTION", "Share of the failing tests shown to none"
    ),
    Option(
        "context-transfer",
        "summary",
        _one_of("summary", "reset", "full"),
        "WHAT",
        "What a model is told of attempts before it: summary (a briefing), reset (nothing), full (all of it)",
    ),
    Option("dir", ".noepi", _text, "DIR", "Where runs are recorded"),
    Option("image", None, _text, "IMAGE", "Container image, in place of the mirror of this machine"),
    Option("memory", 2 * 1024**3, _memory, "BYTES", "Memory of a candidate", ini_only=True),
    Option(
        "processes", 128, _whole(8, "a number of processes, 8 or more"), "N", "Processes of a candidate", ini_only=True
    ),
    Option(
        "test_timeout",
        None,
        _number(0.1, None, "a number of seconds, 0.1 or more"),
        "SECONDS",
        "Time of one test (default: ten times its time at the baseline, 5 to 30 s)",
        ini_only=True,
    ),
    Option(
        "reruns", 3, _whole(1, "a number of runs, one or more"), "N", "Runs of a failing test in triage", ini_only=True
    ),
    Option("keep_runs", 20, _whole(1, "a number of runs, one or more"), "N", "Records that are kept", ini_only=True),
    Option(
        "record_content",
        True,
        _truth,
        "BOOL",
        "Keep prompts and answers in the record (without them a resumed run asks again)",
        ini_only=True,
    ),
    Option("env", (), _words, "NAMES", "Environment names let through to the tests", ini_only=True),
    Option(
        "network", (), _loopback_ports, "SERVICES", "Services on loopback that tests may reach (5432)", ini_only=True
    ),
    Option("product", (), _words, "PATHS", "Paths a patch may touch, where they cannot be told", ini_only=True),
    Option("editable", (), _words, "PATTERNS", "Further files a patch may touch (data, templates)", ini_only=True),
    Option("protect", (), _words, "PATTERNS", "Files a patch may never touch", ini_only=True),
    Option("never_send", (), _words, "PATTERNS", "Files that no question to a model may hold", ini_only=True),
    Option("delta_threshold", 0.02, _number(0, 1, _SHARE), "X", "Least gain that counts", ini_only=True),
    Option(
        "plateau_window", 2, _whole(1, "a number of attempts"), "N", "Attempts without gain: a plateau", ini_only=True
    ),
    Option("fixation_threshold", 2, _whole(2, "a number of attempts"), "N", "Attempts of one effect", ini_only=True),
    Option(
        "grace_period", 2, _whole(0, "a number of attempts"), "N", "Attempts before a new rung is judged", ini_only=True
    ),
    Option("budget_low_pct", 0.25, _number(0, 1, _SHARE), "X", "Share of the budget that is low", ini_only=True),
    Option("budget_stop_pct", 0.05, _number(0, 1, _SHARE), "X", "Share of the budget that ends a run", ini_only=True),
)
