"""Lines of each test, by both tracers, through a real worker and alone."""

from __future__ import annotations

import sys
import threading

import pytest

from pytest_noepicycle.inside.tracer import MonitoringTracer, TraceFunctionTracer, make_tracer

PRODUCT = """\
def one():
    return 1

def two(flag):
    if flag:
        return 2
    return 3

def steps():
    yield 1
    yield 2
"""


def lines_of(tracer, code, path, *calls):
    """Return what a tracer saw of each call into a file's code."""
    names = {}
    tracer.start()
    try:
        exec(compile(code, path, "exec"), names)
        seen = [tracer.take()]
        for call in calls:
            tracer.resume()
            call(names)
            seen.append(tracer.take())
    finally:
        tracer.stop()
    return seen


def tracers(path):
    """Return the tracers that this interpreter offers."""
    found = [TraceFunctionTracer({path: "p.py"})]
    if sys.version_info >= (3, 12):
        found.append(MonitoringTracer({path: "p.py"}, 3))
    return found


@pytest.mark.parametrize("place", range(2 if sys.version_info >= (3, 12) else 1))
def test_each_call_has_its_own_lines(place):
    """Import, functions, branches, generators and threads are told apart, again and again."""

    def in_a_thread(names):
        thread = threading.Thread(target=names["one"])
        thread.start()
        thread.join()

    calls = [
        lambda names: names["one"](),
        lambda names: names["one"](),
        lambda names: names["two"](False),
        lambda names: list(names["steps"]()),
        in_a_thread,
        lambda names: len("nothing"),
    ]
    seen = lines_of(tracers("/nowhere/p.py")[place], PRODUCT, "/nowhere/p.py", *calls)
    files = [lines.get("p.py", []) for lines in seen]
    assert files == [[1, 4, 9], [2], [2], [5, 7], [10, 11], [2], []]


def test_what_traced_before_goes_on():
    """A trace function that was set before comes back at the end."""
    before = sys.gettrace()
    lines_of(make_tracer("/nowhere", ["p.py"]), PRODUCT, "/nowhere/p.py")
    assert sys.gettrace() is before


def test_coverage_is_told_for_each_test(make_rig):
    """Lines belong to the test that reached them, fixtures with it; imports belong to no test."""
    rig = make_rig(
        {
            "pkg/__init__.py": "",
            "pkg/mod.py": PRODUCT,
            "test_it.py": """
                import sys, pytest
                from pkg import mod
                @pytest.fixture
                def ready(): return mod.one()
                def test_fixture(ready): pass
                def test_branch():
                    sys.settrace(None)
                    assert mod.two(True) == 2
                def test_after(): assert mod.two(False) == 2
            """,
        }
    )
    for cold in (False, True):
        report = rig.run(coverage=True, cold=cold)
        found = {name.partition("::")[2]: files.get("pkg/mod.py") for name, files in report.coverage.items()}
        assert found[""] == {1, 4, 9}
        assert (found["test_fixture"], found["test_after"]) == ({2}, {5, 7})
        assert {outcome.status.value for outcome in report.outcomes.values()} == {"passed", "failed"}
    assert rig.run().coverage == {}
