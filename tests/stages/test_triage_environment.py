"""What lacks something of its surroundings is told from faults, and where that is not certain it counts as real."""

from __future__ import annotations

import pytest

from pytest_noepicycle.domain.failure import Failure, Frame
from pytest_noepicycle.stages.environment import environment
from pytest_noepicycle.stages.scene import Surroundings

MODULES = frozenset({"requests", "json", "mypkg"})
TEST = "test_t.py"


def cause(exception: str, message: str, line: str, *, at: str = "pkg/m.py", tests: str = "", text: str = "", **more):
    """Return the cause that is found where a line of a file fails so; ``more`` are other files."""
    steps = [Frame(TEST, 1, "test_a")] + ([Frame(at, 1, more.pop("function", "f"))] if at != TEST else [])
    steps += [Frame(path, 1, "g") for path in more.pop("beyond", ())]
    files = {TEST: tests.encode(), **{name: content.encode() for name, content in more.pop("files", {}).items()}}
    files[at] = line.encode() + b"\n" + (tests.encode() if at == TEST else b"")
    around = Surroundings(MODULES, frozenset(files), files.get)
    phase = more.pop("phase", "call")
    found = environment(Failure(f"{TEST}::a", phase, exception, message, tuple(steps), text), around)
    return found.cause if found else None


@pytest.mark.parametrize(
    ("name", "at", "found"),
    [
        ("nowhere_to_be_found", "pkg/m.py", "module"),
        ("nowhere_to_be_found", TEST, "module"),
        ("reqests", "pkg/m.py", None),
        ("reqests", TEST, "module"),
        ("mypkg.missing", "pkg/m.py", None),
        ("mypkg", "pkg/m.py", None),
        ("mypkg", TEST, "module"),
        ("mypkg.new", TEST, None),
    ],
)
def test_a_missing_module_is_one_to_install_or_one_to_write(name, at, found):
    """A slip of the code, or a part of a package that is there, is for a patch to mend; the rest is to be installed."""
    assert cause("ModuleNotFoundError", f"No module named '{name}'", f"import {name}", at=at) == found


@pytest.mark.parametrize(
    ("line", "files", "found"),
    [
        ("import pricing", {"test_pricing.py": ""}, None),
        ("importlib.import_module(prefix + name)", {}, None),
        ("import reqests", {"requirements.txt": "reqests>=2\n"}, "module"),
        ("import reqests", {"pyproject.toml": '[project]\ndependencies = ["reqests"]\n'}, "module"),
        ("import reqests", {"pyproject.toml": '[project]\nname = "reqests"\n'}, None),
        ("import reqests", {"pyproject.toml": '[dependency-groups]\ntest = ["reqests>1"]\n'}, "module"),
        ("import reqests", {"pyproject.toml": '[tool.poetry.dependencies]\nreqests = "*"\n'}, "module"),
        ("from pricing.tax import rate", {"tests/test_tax.py": ""}, None),
        ("from pricing.tax import rate", {"pyproject.toml": "broken ["}, "module"),
        ("from pricing import rate, VAT", {"pkg/prices.py": "VAT = 2\ndef rate(): ...\n"}, None),
        ("from pricing import rate, VAT", {"pkg/prices.py": "VAT = 2\n"}, "module"),
    ],
    ids=[
        "tested",
        "made up",
        "required",
        "depended",
        "own name",
        "grouped",
        "poetry",
        "part tested",
        "none",
        "moved",
        "half moved",
    ],
)
def test_what_the_project_says_of_a_module_counts(line, files, found):
    """What has tests of its own is written here; what the project asks for is to be installed, however it is spelt."""
    name = "pricing" if "pricing" in line else "reqests"
    assert cause("ModuleNotFoundError", f"No module named '{name}'", line, files=files) == found


REFUSED = "[Errno 111] Connection refused"


@pytest.mark.parametrize(
    ("exception", "message", "line", "tests", "found"),
    [
        ("ConnectionRefusedError", REFUSED, "connect()", "", "service"),
        ("ConnectionRefusedError", REFUSED, "raise ConnectionRefusedError()", "", None),
        ("ConnectionRefusedError", REFUSED, "connect()", "server.listen()", None),
        ("ConnectionRefusedError", REFUSED, "connect()", "def test_a(monkeypatch): ...", None),
        ("socket.gaierror", "[Errno -2] Name or service not known", "connect()", "", "service"),
        ("sqlalchemy.exc.OperationalError", "connection to server failed: Connection refused", "x()", "", "service"),
        ("OperationalError", "no such column: naem", "x()", "", None),
        ("AssertionError", "assert 'Connection refused' == 'ok'", "assert f()", "", None),
        ("ValueError", "wrong", "f()", "", None),
    ],
)
def test_a_service_that_is_not_there_is_told_from_code_that_went_astray(exception, message, line, tests, found):
    """Where the test brings the other side itself, or the code says so of its own accord, it counts as real."""
    assert cause(exception, message, line, tests=tests) == found


@pytest.mark.parametrize(
    ("line", "at", "tests", "files", "function", "found"),
    [
        ("os.environ['API_TOKEN']", TEST, "", {}, "f", "variable"),
        ("os.environ['API_TOKEN']", "pkg/m.py", "", {}, "f", None),
        ("os.environ['API_TOKEN']", "pkg/m.py", "", {"README.md": "Set API_TOKEN."}, "f", "variable"),
        ("os.environ['API_TOKEN']", "pkg/m.py", "", {"README.md": "Set API_TOKENS."}, "<module>", None),
        ("os.environ['API_TOKEN']", "pkg/m.py", "", {".env.example": "API_TOKEN="}, "<module>", "variable"),
        ("os.environ['API_TOKEN']", "pkg/m.py", "", {}, "<module>", None),
        ("os.environ['API_TOKEN']", "pkg/m.py", "setenv('TOKEN', '')", {"a.md": "API_TOKEN"}, "<module>", None),
        ("table['API_TOKEN']", TEST, "", {}, "f", None),
    ],
)
def test_a_variable_is_missing_only_where_people_are_asked_for_it(line, at, tests, files, function, found):
    """One that the code asks for without telling anybody may rather want a default, or be spelt wrongly."""
    assert cause("KeyError", "'API_TOKEN'", line, at=at, tests=tests, files=files, function=function) == found


@pytest.mark.parametrize(
    ("exception", "message", "line", "at", "found"),
    [
        ("PermissionError", "[Errno 13] Permission denied: '/etc/x'", "open('/etc/x')", TEST, "permission"),
        ("PermissionError", "[Errno 13] Permission denied: '/etc/x'", "open('/etc/x')", "pkg/m.py", None),
        ("PermissionError", "[Errno 13] Permission denied: '/etc/x'", "open(tmp_path)", TEST, None),
        ("PermissionError", "not for you", "open('/etc/x')", TEST, None),
        ("FileNotFoundError", "[Errno 2] No such file or directory: '/srv/x'", "open('/srv/x')", TEST, "file"),
        ("FileNotFoundError", "[Errno 2] No such file or directory: '/srv/x'", "open(path)", "pkg/m.py", None),
        ("FileNotFoundError", "[Errno 2] No such file or directory: '/srv/xx'", "open('/srv/x')", TEST, None),
    ],
)
def test_a_path_outside_counts_only_where_the_test_itself_opens_it(exception, message, line, at, found):
    """One that the code has put together may be the very fault; one that it was handed may be meant to be missing."""
    assert cause(exception, message, line, at=at, tests="" if at == TEST else "read('/srv/x')") == found


GONE = "[Errno 2] No such file or directory: "
NO_ZONE = "'No time zone found with key A/B'"
DOCUMENTED = {"README.md": "Set SHOP_URL."}


@pytest.mark.parametrize(
    ("exception", "message", "line", "tests"),
    [
        ("FileNotFoundError", f"{GONE}'dot'", "run(['dot', x])", "def a(): assert f('dot') is None"),
        ("FileNotFoundError", f"{GONE}'dot'", "subprocess.run([x])", "def a(): assert f('dot') is None"),
        ("FileNotFoundError", f"{GONE}'dot'", "run('dot')", "@mark.parametrize('x', ['dot -V'])\ndef a(x): f(x)"),
        ("FileNotFoundError", f"{GONE}'dot'", "run('dot')", "TOOL = 'dot'\ndef a(): f(TOOL)"),
        ("FileNotFoundError", f"{GONE}'/no/such/file'", "open(x)", "def a(): assert load('/no/such/file') == ''"),
        ("ZoneInfoNotFoundError", NO_ZONE, "ZoneInfo(x)", "def a():\n with raises(ValueError): zone('A/B')"),
        ("KeyError", "'SHOP_URL'", "os.environ['SHOP_URL']", "def a(monkeypatch): monkeypatch.delenv('SHOP_URL')"),
        ("KeyError", "'SHOP_URL'", "os.environ['SHOP_URL']", "def b(): patch.dict(e, clear=True)\ndef a(): f()"),
        ("KeyError", "'SHOP_URL'", "os.environ[x]", "def a(): assert setting('SHOP_URL') is None"),
        ("ConnectionRefusedError", "Connection refused", "connect(x)", "def a(): assert get('http://h:1/') is None"),
        ("ConnectionRefusedError", "Connection refused", "connect(x)", "def a(): assert not up('localhost', 1)"),
        ("ConnectionRefusedError", "Connection refused", "connect(x)", "def a(): assert not up(port=5999)"),
        ("socket.gaierror", "Name or service not known", "connect(x)", "def a(): assert not up('no.such.host')"),
    ],
)
def test_what_a_test_names_on_purpose_is_no_proof_that_it_is_missing(exception, message, line, tests):
    """The code is to answer for what it is handed, be it there or not."""
    beyond = ("/lib/subprocess.py",) if "dot" in message else ()
    assert cause(exception, message, line, tests=tests, files=DOCUMENTED, beyond=beyond) is None


@pytest.mark.parametrize(
    "head",
    [
        "with raises(ShopError): f()",
        "with pytest.raises(ShopError) as e: f()",
        "self.assertRaises(ShopError, f, 1)",
        "with suppress(ShopError): f()",
    ],
)
def test_where_the_test_waits_for_an_error_nothing_is_excused(head):
    """The code was to answer with another error than that one."""
    assert refused_in("f()") == "service"
    assert refused_in(head) is None
    assert refused_in("try:\n    f()\nexcept ShopError:\n    pass", line=2) is None


def refused_in(tests: str, line: int = 0) -> str | None:
    """Return the cause of a refused connection to which the last line (or another) of the test led."""
    files = {TEST: tests.encode(), "m.py": b"connect()\n"}
    steps = (Frame(TEST, line or tests.count("\n") + 1, "a"), Frame("m.py", 1, "f"))
    around = Surroundings(files=frozenset(files), read=files.get)
    found = environment(Failure(f"{TEST}::a", "call", "ConnectionRefusedError", REFUSED, steps), around)
    return found.cause if found else None


def test_an_error_that_a_stand_in_raises_is_the_tests_own():
    """What a mock is told to raise says nothing of the surroundings."""
    text = "[Errno 111] Connection refused"
    assert cause("ConnectionRefusedError", text, "connect()", beyond=("/usr/lib/python3/unittest/mock.py",)) is None


def test_a_docstring_hands_nothing_to_the_code():
    """The words of a test about itself are no names that it brings."""
    tests = 'def a():\n    """Draw with dot."""\n    assert draw()'
    line = "subprocess.run(['dot', '-V'])"
    beyond = ("/lib/subprocess.py",)
    assert cause("FileNotFoundError", f"{GONE}'dot'", line, tests=tests, beyond=beyond) == "program"


def test_a_variable_that_the_tests_take_out_is_not_missing():
    """A test that asks for it itself has made it so, or another one of its file has."""
    line = "os.environ['SHOP_URL']"
    assert cause("KeyError", "'SHOP_URL'", line, at=TEST) == "variable"
    assert cause("KeyError", "'SHOP_URL'", line, at=TEST, tests="monkeypatch.delenv('SHOP_URL')") is None


@pytest.mark.parametrize(
    ("line", "name", "at", "found"),
    [
        ("subprocess.run(['dot', '-V'])", "dot", "pkg/m.py", "program"),
        ("subprocess.run(['gti', 'log'])", "gti", "pkg/m.py", None),
        ("subprocess.run(['gti', 'log'])", "gti", TEST, "program"),
        ("subprocess.run([prefix + name])", "a-b", "pkg/m.py", None),
        ("subprocess.run('ls -l')", "ls -l", "pkg/m.py", None),
    ],
)
def test_a_program_to_install_is_told_from_one_that_is_named_wrongly(line, name, at, found):
    """A slip of a usual name, or a name that the code made up, is no missing program."""
    message = f"[Errno 2] No such file or directory: '{name}'"
    assert cause("FileNotFoundError", message, line, at=at, beyond=("/lib/subprocess.py",)) == found


@pytest.mark.parametrize(
    ("exception", "message", "line", "at", "tests", "found"),
    [
        ("Error", "unsupported locale setting", "setlocale(0, 'de_DE.UTF-8')", "pkg/m.py", "", "locale"),
        ("Error", "unsupported locale setting", "setlocale(0, 'de_DE.UFT8')", "pkg/m.py", "", None),
        ("Error", "unsupported locale setting", "setlocale(0, 'en_UK.UTF-8')", "pkg/m.py", "", None),
        ("Error", "unsupported locale setting", "setlocale(0, name)", TEST, "", "locale"),
        ("ZoneInfoNotFoundError", "'No time zone found with key A/B'", "zone('A/B')", TEST, "", "time zone"),
        ("ZoneInfoNotFoundError", "'No time zone found with key A/B'", "zone(x)", "pkg/m.py", "z('A/B')", None),
        ("ZoneInfoNotFoundError", "'No time zone found with key A/B'", "zone('A/B')", "pkg/m.py", "", None),
        ("TclError", "no display name and no $DISPLAY environment variable", "Tk()", "pkg/m.py", "", "display"),
    ],
)
def test_locales_zones_and_screens_are_surroundings_unless_the_code_names_them_wrongly(
    exception, message, line, at, tests, found
):
    """What is well formed, or asked for by the test itself, is to be installed."""
    assert cause(exception, message, line, at=at, tests=tests) == found


MISSING = "fixture 'mocker' not found\n> available fixtures: cache, mocked"


@pytest.mark.parametrize(
    ("exception", "phase", "text", "found"),
    [
        ("FixtureLookupError", "setup", MISSING, "fixture"),
        ("ValueError", "setup", MISSING, None),
        ("AssertionError", "call", MISSING, None),
    ],
)
def test_a_missing_fixture_is_known_by_what_pytest_raises_and_not_by_words(exception, phase, text, found):
    """The same words in a failure of the code mean nothing."""
    assert cause(exception, "", "def test_a(mocker): ...", at=TEST, text=text, phase=phase) == found


@pytest.mark.parametrize(
    ("source", "hint"),
    [("", "is the pytest plugin that brings it installed?"), ("def mocker(): ...", "stands in the project")],
)
def test_a_missing_fixture_says_what_to_do(source, hint):
    """Install its plugin, or move it where the test can see it."""
    files = {TEST: b"", "other/conftest.py": b"# a fixture\n" + source.encode()}
    around = Surroundings(files=frozenset(files), read=files.get)
    found = environment(
        Failure(f"{TEST}::a", "setup", "FixtureLookupError", "", text=MISSING.replace("mocked", "x")), around
    )
    assert found is not None
    assert hint in found.hint


def test_a_fixture_that_the_code_itself_may_bring_is_the_codes():
    """A project that is a pytest plugin may have lost or renamed it."""
    files = {TEST: b"", "pkg/plugin.py": b"@pytest.fixture\ndef mocked(): ...\n"}
    around = Surroundings(files=frozenset(files), read=files.get)
    assert environment(Failure(f"{TEST}::a", "setup", "FixtureLookupError", "", text=MISSING), around) is None
