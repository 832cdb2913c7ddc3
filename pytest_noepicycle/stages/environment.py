"""Surroundings: which failures lack something that no change of the code can bring, by kind and with what to do.

A fault of the code must never be taken for one of these. So each kind asks for what shows that the code is not to
blame, and where that is missing it says nothing: the failure then counts as real. A test may name on purpose what is
not there, to see what the code makes of it: what the code asked for counts only where the name is not the test's.
"""

from __future__ import annotations

import difflib
import locale
import re
from collections.abc import Callable, Iterable
from pathlib import PurePosixPath

from pytest_noepicycle.domain.failure import Failure
from pytest_noepicycle.domain.run import Finding
from pytest_noepicycle.stages import missing_modules
from pytest_noepicycle.stages.scene import Scene, Surroundings

_ABSOLUTE = re.compile(r"'(/[^']*)'")
_VARIABLE = re.compile(r"[A-Z][A-Z0-9_]{2,}")
_DOCUMENTS = (".env", ".toml", ".ini", ".cfg", ".yml", ".yaml", ".md", ".rst", ".txt", ".example", ".sample", ".sh")
_DOCUMENTED_AT_MOST = 200
_SERVICE = ("ConnectionRefusedError", "ConnectionError", "ConnectError", "URLError", "OperationalError", "gaierror")
_REFUSED = ("connection refused",)
_PORT = re.compile(
    r"""(?:localhost|127\.0\.0\.1|::1\]?)['"]?(?:\s*,\s*|:)(\d{2,5})\b|(?:\b|_)port['"]?\s*[=:,]?\s*['"]?(\d{2,5})\b""",
    re.IGNORECASE,
)
_NO_NAME = ("name or service not known", "name resolution", "nodename nor servname", "no address associated")
_NO_NETWORK = ("network is unreachable", "no route to host")
# A test that serves or replaces the other side itself has brought what it needs: then the code went astray.
_OWN_OTHER_SIDE = re.compile(
    r"monkeypatch|\bmock|patch\(|responses|respx|requests_mock|vcr|\w*[sS]erver\b|serve_forever|\.listen\(|\.bind\("
)
_OWN_VARIABLES = re.compile(r"setenv|delenv|putenv|environ|clear=True|patch\.dict")
_TAKEN_OUT = re.compile(r"delenv|unsetenv|clear=True|patch\.dict|environ\.(pop|clear)|del os\.environ")
_ADDRESS = re.compile(r"://|\blocalhost\b|\b\d+(\.\d+){3}\b|::1|^[\w-]+(\.[\w-]+)*:\d+$")
_HOST = re.compile(r"^[\w-]+(\.[\w-]+)+$")
_LEAST_PORT = 1024  # a smaller number in a test is rather one of something else
_LOCALE = re.compile(r"([a-z]{2,3}_[A-Z]{2})(\.(UTF-?8|utf-?8|ISO-?8859-?\d+|iso-?8859-?\d+))?(@\w+)?")
_PROGRAM = re.compile(r"No such file or directory: '([^'/\s]+)'")
_FIXTURE = re.compile(r"fixture '(\w+)' not found")
_EVERYDAY_PROGRAMS = (
    *("bash", "cat", "chmod", "cmake", "cp", "curl", "date", "diff", "docker", "echo", "ffmpeg", "find", "gcc", "git"),
    *(
        "grep",
        "gzip",
        "head",
        "java",
        "kubectl",
        "ls",
        "make",
        "mkdir",
        "mv",
        "mysql",
        "node",
        "npm",
        "openssl",
        "perl",
    ),
    *(
        "pip",
        "psql",
        "python",
        "python3",
        "redis-server",
        "rm",
        "rsync",
        "sed",
        "sh",
        "sleep",
        "sort",
        "sqlite3",
        "ssh",
    ),
    *("tail", "tar", "touch", "uname", "unzip", "wget", "which", "zip"),
)


def environment(failure: Failure, around: Surroundings) -> Finding | None:
    """Return a finding where the failure lacks something of its surroundings; None where the code may be at fault."""
    scene = Scene(failure, around)
    if scene.on_purpose or scene.awaited or scene.pretended:
        return None
    for cause, hint in _KINDS:
        if said := hint(scene):
            return Finding(failure.test, "environment", said, cause=cause)
    return None


def _module(scene: Scene) -> str | None:
    if scene.kind not in ("ModuleNotFoundError", "ImportError"):
        return None
    around = scene.around
    return missing_modules.hint(
        scene.failure.message, scene.line, around.modules, around.files, around.text, asked_by_test=scene.asked_by_test
    )


def _service(scene: Scene) -> str | None:
    text = f"{scene.failure.message}\n{scene.failure.text}".lower()
    if scene.kind not in _SERVICE or _OWN_OTHER_SIDE.search(scene.tests):
        return None
    if not scene.asked_by_test and any(map(_is_address, scene.given)):
        return None
    if _holds(text, _NO_NAME):
        return (
            "the name of a machine cannot be looked up: a sandbox has no network; a test that needs it cannot run in it"
        )
    if _holds(text, _NO_NETWORK):
        return "there is no network: a sandbox has none; a test that needs it cannot run in it"
    if _holds(text, _REFUSED):
        return (
            "the connection is refused: the service that it asks for does not run where the test does; where it runs"
            f" on this machine's loopback, let the test reach it: set noepi_network = {_port(scene) or 'PORT'}"
        )
    return None


def _port(scene: Scene) -> str | None:
    """Return the port that was asked for, as the failure tells it; or else the source that it went through."""
    told = (scene.failure.message, scene.line, scene.failure.text, scene.sources, scene.tests)
    found = (match for text in told for match in _PORT.finditer(text))
    return next((port for match in found if 0 < int(port := match[1] or match[2]) < 65536), None)


def _is_address(given: str | int) -> bool:
    """Whether what a test spells out may be where the code is to turn to: a host, an address or a port."""
    if isinstance(given, int):
        return _LEAST_PORT <= given < 65536
    return bool(_ADDRESS.search(given) or _HOST.match(given))


def _holds(text: str, words: Iterable[str]) -> bool:
    return any(word in text for word in words)


def _fixture(scene: Scene) -> str | None:
    missing = _FIXTURE.search(scene.failure.text)
    if missing is None or scene.failure.phase != "setup" or scene.kind != "FixtureLookupError":
        return None
    name = missing[1]
    brings = {path for path in scene.around.files if path.endswith(".py") and "fixture" in scene.around.text(path)}
    if any(not _of_tests(path) for path in brings):
        return None  # the code brings fixtures itself: it may have lost or renamed this one
    if any(re.search(rf"def {name}\(|name=.{name}\b", scene.around.text(path)) for path in brings):
        return f"the fixture {name!r} stands in the project, out of this test's reach: move it, or name its plugin"
    available = re.findall(r"\w+", scene.failure.text.partition("available fixtures:")[2].partition("\n")[0])
    near = difflib.get_close_matches(name, available, 1, 0.8)
    advice = f"is {near[0]!r} meant?" if near else "is the pytest plugin that brings it installed?"
    return f"there is no fixture {name!r}: {advice}"


def _of_tests(path: str) -> bool:
    name = PurePosixPath(path)
    return bool({"test", "tests"} & set(name.parts)) or name.name == "conftest.py" or "test" in name.stem.split("_")


def _program(scene: Scene) -> str | None:
    missing = _PROGRAM.search(scene.failure.message)
    called = any(frame.path.endswith("subprocess.py") for frame in scene.failure.frames)
    if scene.kind != "FileNotFoundError" or missing is None or not called:
        return None
    name = missing[1]
    named = re.search(rf"['\"]{re.escape(name)}(['\"]| )", scene.sources)
    if not scene.asked_by_test and (_slip(name) or not named or _given(name, scene)):
        return None
    return f"the program {name!r} is not installed where the tests run: install it, or use an image that has it"


def _given(name: str, scene: Scene) -> bool:
    """Whether the test itself brings a name, alone or as a word among others."""
    word = re.compile(rf"(?<![\w-]){re.escape(name)}(?![\w-])")
    return any(isinstance(text, str) and word.search(text) for text in scene.given)


def _slip(name: str) -> bool:
    """Whether a program's name is nearly that of a usual one, or has its letters in another order."""
    if name in _EVERYDAY_PROGRAMS:
        return False
    swapped = any(sorted(name) == sorted(usual) for usual in _EVERYDAY_PROGRAMS)
    return swapped or bool(difflib.get_close_matches(name, _EVERYDAY_PROGRAMS, 1, 0.75))


def _variable(scene: Scene) -> str | None:
    name = scene.failure.message.strip("'\"")
    if scene.kind != "KeyError" or not _VARIABLE.fullmatch(name) or "environ" not in scene.line:
        return None
    if scene.asked_by_test and _TAKEN_OUT.search(scene.tests):
        return None
    if not scene.asked_by_test and (_given(name, scene) or not _asked_of_people(name, scene)):
        return None
    return f"the environment variable {name} is not set; where it is set outside, let it in: noepi_env = {name}"


def _asked_of_people(name: str, scene: Scene) -> bool:
    """Whether the project tells people to set it; a test that sets variables, or a near name, speaks against that.

    One that the code asks for and nobody is told of may rather want a default, or another name.
    """
    if _OWN_VARIABLES.search(scene.tests):
        return False
    documents = [
        p for p in sorted(scene.around.files) if p.endswith(_DOCUMENTS) or PurePosixPath(p).name == "Dockerfile"
    ]
    told = "\n".join(map(scene.around.text, documents[:_DOCUMENTED_AT_MOST]))
    names = set(_VARIABLE.findall(told))
    near = difflib.get_close_matches(name, names - {name}, 1, 0.85)
    return not near and name in names


def _permission(scene: Scene) -> str | None:
    path = _asked_path(scene)
    if scene.kind not in ("PermissionError", "OSError") or path is None:
        return None
    if not re.search(r"\[Errno (1|13|30)\]", scene.failure.message):
        return None
    return f"{path} may not be read or written where the tests run; a sandbox gives no rights outside the project"


def _file(scene: Scene) -> str | None:
    path = _asked_path(scene)
    if scene.kind not in ("FileNotFoundError", "NotADirectoryError") or path is None:
        return None
    return f"{path} is not there where the tests run; a sandbox sees the project and the Python that runs it"


def _asked_path(scene: Scene) -> str | None:
    """Return the path that the failure names, where the test itself opens it and calls it by that name.

    One that the code has put together, or names for itself, may be the very fault; and one that the test hands to
    the code may be meant not to be there.
    """
    found = _ABSOLUTE.search(scene.failure.message)
    if not scene.asked_by_test or found is None or not re.search(rf"['\"]{re.escape(found[1])}['\"]", scene.tests):
        return None
    return found[1]


def _locale(scene: Scene) -> str | None:
    if "unsupported locale setting" not in scene.failure.message:
        return None
    named = [name for name in re.findall(r"['\"]([^'\"]*)['\"]", scene.line) if _is_locale(name)]
    if not named and not scene.asked_by_test:
        return None
    which = named[0] if named else "that the test asks for"
    return f"the locale {which} is not installed where the tests run: generate it, or use an image that has it"


def _is_locale(name: str) -> bool:
    """Whether there is a locale of that name anywhere: well formed, of a language and a country that Python knows."""
    found = _LOCALE.fullmatch(name)
    return found is not None and locale.locale_alias.get(found[1].lower(), "").partition(".")[0] == found[1]


def _time_zone(scene: Scene) -> str | None:
    missing = re.search(r"No time zone found with key ([\w/+-]+)", scene.failure.message)
    if scene.kind != "ZoneInfoNotFoundError" or missing is None:
        return None
    if not scene.asked_by_test or not re.search(rf"['\"]{re.escape(missing[1])}['\"]", scene.tests):
        return None
    return f"the time zone {missing[1]} is not known where the tests run: install the package tzdata"


def _display(scene: Scene) -> str | None:
    if "no display name and no $DISPLAY" not in scene.failure.message:
        return None
    return "there is no screen to draw on: run it under a virtual one (pytest-xvfb), or use an image that has one"


_KINDS: tuple[tuple[str, Callable[[Scene], str | None]], ...] = (
    ("module", _module),
    ("service", _service),
    ("fixture", _fixture),
    ("program", _program),
    ("variable", _variable),
    ("permission", _permission),
    ("file", _file),
    ("locale", _locale),
    ("time zone", _time_zone),
    ("display", _display),
)
