"""How each kind of end of a test arrives at the engine, through a real worker."""

from __future__ import annotations

import pytest

from pytest_noepicycle.domain.trial import End, Status

KINDS = """
    import sys, unittest, pytest

    def test_green(): pass
    def test_red(): assert 1 + 1 == 3
    def test_skip(): pytest.skip("no")
    @pytest.mark.xfail
    def test_xfail(): assert False
    @pytest.mark.xfail
    def test_xpass(): pass
    @pytest.mark.xfail(strict=True)
    def test_strict(): pass
    @pytest.fixture
    def broken(): raise OSError("no disk")
    def test_error(broken): pass
    @pytest.fixture
    def late():
        yield
        raise OSError("late")
    def test_teardown(late): pass

    class TestGroup:
        @pytest.mark.parametrize("x", ["a b", "c::d", "[e]", "größe", "a/b", ""])
        def test_odd(self, x): assert x != "c::d"
        @classmethod
        def test_of_class(cls): pass

    class Case(unittest.TestCase):
        def test_good(self): self.assertEqual(1, 1)
        def test_bad(self): self.assertEqual(1, 2)
        @unittest.skip("no")
        def test_not(self): pass
        @unittest.expectedFailure
        def test_expected(self): self.fail()
        def test_parts(self):
            for n in range(3):
                with self.subTest(n=n):
                    self.assertNotEqual(n, 1)
        def test_good_parts(self):
            for n in range(3):
                with self.subTest(n=n):
                    self.assertLess(n, 5)
        def test_skipped_parts(self):
            with self.subTest(n=1):
                self.skipTest("no")
"""

EXPECTED = {
    "test_green": "passed",
    "test_red": "failed",
    "test_skip": "skipped",
    "test_xfail": "xfailed",
    "test_xpass": "xpassed",
    "test_strict": "failed",
    "test_error": "error",
    "test_teardown": "error",
    "TestGroup::test_odd[a b]": "passed",
    "TestGroup::test_odd[c::d]": "failed",
    "TestGroup::test_odd[[e]]": "passed",
    "TestGroup::test_odd[gr\\xf6\\xdfe]": "passed",
    "TestGroup::test_odd[a/b]": "passed",
    "TestGroup::test_odd[]": "passed",
    "TestGroup::test_of_class": "passed",
    "Case::test_good": "passed",
    "Case::test_bad": "failed",
    "Case::test_not": "skipped",
    "Case::test_expected": "xfailed",
    "Case::test_parts": "failed",
    "Case::test_good_parts": "passed",
    "Case::test_skipped_parts": "skipped",
}


@pytest.fixture(scope="module")
def rig(make_rig):
    """A project with one test of each kind, and a file that cannot be collected."""
    return make_rig(
        {
            "test_kinds.py": KINDS,
            "test_broken.py": "import nowhere_to_be_found\n\ndef test_x(): pass\n",
            "test_syntax.py": "def test_y():\n    return (\n",
        }
    )


@pytest.mark.parametrize("cold", [False, True])
def test_every_kind_of_outcome_is_told_apart(rig, cold):
    """Warm and cold runs of a whole suite tell each kind of end by its own status."""
    report = rig.run(cold=cold)
    found = {name.split("::", 1)[1]: o.status.value for name, o in report.outcomes.items() if "::" in name}
    assert (report.end, found) == (End.COMPLETE, EXPECTED)


def test_a_file_that_cannot_be_collected_is_an_error_of_that_file(rig):
    """An import error and a syntax error arrive with their own exception and the line that raised it."""
    report = rig.run()
    broken, syntax = report.outcomes["test_broken.py"], report.outcomes["test_syntax.py"]
    assert (broken.status, syntax.status) == (Status.ERROR, Status.ERROR)
    assert (broken.failure.phase, broken.failure.exception) == ("collect", "ModuleNotFoundError")
    assert "nowhere_to_be_found" in broken.failure.message
    assert (broken.failure.frames[-1].path, broken.failure.frames[-1].line) == ("test_broken.py", 1)
    assert (syntax.failure.exception, syntax.failure.frames[-1].path) == ("SyntaxError", "test_syntax.py")


def test_a_file_asked_for_as_one_target_passes_with_all_its_tests(rig):
    """A file's own id passes once the file is collected and each of its tests passes."""
    assert rig.statuses("test_broken.py") == {"test_broken.py": "error"}
    mended = rig.run("test_broken.py", change={"test_broken.py": "def test_x(): pass\n"})
    assert mended.passing() == {"test_broken.py", "test_broken.py::test_x"}
    red = rig.run("test_broken.py", change={"test_broken.py": "def test_x(): assert 0\n"})
    assert red.outcomes["test_broken.py"].status is Status.FAILED
    empty = rig.run("test_broken.py", change={"test_broken.py": "x = 1\n"})
    assert empty.outcomes["test_broken.py"].status is Status.MISSING


def test_chosen_tests_run_in_the_order_asked_for_and_no_others(rig):
    """Ids choose exactly, whatever characters they hold; what is not there is missing."""
    ids = [
        "test_kinds.py::TestGroup::test_odd[c::d]",
        "test_kinds.py::test_green",
        "test_kinds.py::TestGroup::test_odd[gr\\xf6\\xdfe]",
        "test_kinds.py::test_gone",
        "test_gone.py::test_gone",
    ]
    report = rig.run(*ids)
    assert [o.status.value for o in report.outcomes.values()] == ["failed", "passed", "passed", "missing", "missing"]
    assert list(report.outcomes) == ids
    assert report.unknown == ()


def test_a_failure_says_what_pytest_says(rig):
    """An assertion's failure holds its explanation, its frames inside the tree and the text of the report."""
    failure = rig.run("test_kinds.py::test_red").outcomes["test_kinds.py::test_red"].failure
    assert (failure.phase, failure.exception, failure.message) == ("call", "AssertionError", "assert (1 + 1) == 3")
    assert [(frame.path, frame.function) for frame in failure.frames] == [("test_kinds.py", "test_red")]
    assert "def test_red" in failure.text


def test_a_suite_of_nothing_is_complete_and_empty(rig):
    """Where no file of the chosen tests exists, all are missing and nothing passes."""
    report = rig.run("nowhere.py::test_x")
    assert (report.end, report.passing()) == (End.COMPLETE, frozenset())


def test_a_run_stops_at_its_first_failure_when_asked_to(rig):
    """After the first failure the rest are missing, and the end says why."""
    report = rig.run("test_kinds.py::test_red", "test_kinds.py::test_green", stop_at_first_failure=True)
    assert report.end is End.STOPPED
    assert report.outcomes["test_kinds.py::test_green"].status is Status.MISSING


def test_a_brief_trial_tells_the_same_of_every_test_as_a_full_one(rig):
    """Left early and without tracebacks drawn up: statuses, exceptions, messages and places are the same."""

    def places(failure):
        return [(frame.path, frame.line, frame.function) for frame in failure.frames]

    def told(report):
        return {
            test: (o.status, o.failure and (o.failure.signature, o.failure.message, places(o.failure)))
            for test, o in report.outcomes.items()
        }

    brief, full = rig.run(brief=True), rig.run()
    assert (brief.end, full.end) == (End.COMPLETE, End.COMPLETE)
    assert told(brief) == told(full)
    assert rig.run("test_kinds.py::test_red", brief=True, stop_at_first_failure=True).end is not End.DIED


def test_a_project_without_a_cache_and_with_strict_configuration_runs(make_rig):
    """Our own setting of the cache's folder must not be one that the project's pytest does not know."""
    rig = make_rig(
        {
            "pytest.ini": "[pytest]\naddopts = --strict-config -p no:cacheprovider\n",
            "test_a.py": "def test_a():\n    pass\n",
        }
    )
    assert rig.run("test_a.py::test_a").passing() == {"test_a.py::test_a"}
