"""Publishing to a GitHub on this machine, over real HTTP and real git: each operation, each refusal, each failure."""

from __future__ import annotations

import contextlib
import json
from dataclasses import replace
from pathlib import Path

import pytest
from action.github_server import BOT, PERSON, REPOSITORY, TOKEN, Fault, GitHubServer
from action.records_to_publish import FILES, RIGHT, green, patch_of, record

from pytest_noepicycle.adapters.forge import Wishes
from pytest_noepicycle.adapters.github import GitHubError
from pytest_noepicycle.adapters.pushing import GitFailed
from pytest_noepicycle.adapters.records import Record
from pytest_noepicycle.domain.patch import FileChange, Patch
from pytest_noepicycle.domain.publishing import IDENTITY, Policy
from pytest_noepicycle.errors import NoepiError, RecordError, UsageError
from pytest_noepicycle.inspection import Refused, Tampered, read
from pytest_noepicycle.publishing import Request, publish
from pytest_noepicycle.report.pull_request import Told, body
from pytest_noepicycle.settling import Published


@pytest.fixture
def send(github: GitHubServer, tmp_path: Path):
    """Return a function that publishes a record, by default of a complete fix at the head of main."""

    def send(folder: Path | None = None, **more) -> Published:
        folder = folder or record(tmp_path / "record", github.head("main"), patch_of())
        more = {"server": github.url, "api": github.api, "sleep": lambda seconds: None, **more}
        return publish(Request(folder, REPOSITORY, TOKEN, **more))

    return send


def test_a_pull_request_is_opened_on_the_proven_commit(github, send):
    """One draft, one commit of ours on the proven commit, the proven bytes in it, one header of authorization."""
    base = github.head("main")
    done = send(wishes=Wishes(labels=("noepi",), workflow="ci.yml"))
    (pull,) = github.open_pulls()
    assert (done.operation, done.number, done.url) == ("created", 1, pull["html_url"])
    assert pull["draft"]
    assert pull["user"] == BOT
    assert pull["title"] == "Mend 2 failing tests in calc.py"
    assert pull["head"] == done.branch
    assert github.head(done.branch) == done.head_sha
    assert github.git("rev-parse", f"{done.branch}^") == base
    assert RIGHT in github.git("show", f"{done.branch}:calc.py")
    assert github.git("diff", "--name-only", "main", done.branch) == "calc.py"
    assert github.git("show", "-s", "--format=%ae %ce", done.branch) == f"{IDENTITY[1]} {IDENTITY[1]}"
    assert github.labels == {1: ["noepi"]}
    assert github.dispatched == [("ci.yml", done.branch)]
    assert "Checks were started" in pull["body"]


def test_the_same_run_twice_changes_nothing(github, send):
    """The second time says that it is there already, and pushes nothing."""
    first = send()
    again = send()
    assert again.operation == "none"
    assert "exactly this patch already" in again.reason
    assert github.head(first.branch) == first.head_sha
    assert len(github.pulls) == 1


def test_a_newer_patch_updates_the_same_pull_request(github, send, tmp_path):
    """The base moved, the failure is the same: one pull request, with the newer patch on the newer commit."""
    first = send()
    github.commit("main", {"README": "news\n"})
    done = send(record(tmp_path / "second", github.head("main"), patch_of(right="return 2 * n")))
    assert (done.operation, done.number) == ("updated", first.number)
    assert done.branch == first.branch
    assert "2 * n" in github.git("show", f"{done.branch}:calc.py")
    assert github.git("rev-parse", f"{done.branch}^") == github.head("main")


def test_the_same_failure_has_one_branch_wherever_it_is_seen(github, tmp_path):
    """Numbers, the place of the checkout and flaky tests beside it make no other failure; another message does."""
    folders = [
        record(tmp_path / "one", github.head("main"), patch_of()),
        record(
            tmp_path / "two", github.head("main"), patch_of(), fingerprint="0123456789abcdef", message="assert 1 == 2"
        ),
        record(tmp_path / "three", github.head("main"), patch_of(), message="something else"),
    ]
    one, two, three = (read(Record(folder)).finished(REPOSITORY, "main").fingerprint for folder in folders)
    assert one == two != three


def test_a_persons_commit_is_never_overwritten(github, send, tmp_path):
    """A commit on the branch makes it the person's: a newer patch is a comment, once; a green base closes nothing."""
    done = send()
    theirs = github.commit(done.branch, {"calc.py": "by hand\n"})
    folder = record(tmp_path / "second", github.head("main"), patch_of(right="return 2 * n"))
    assert [send(folder).operation for _ in range(2)] == ["none", "none"]
    assert github.head(done.branch) == theirs
    (comment,) = github.comments[1]
    assert "2 * n" in comment["body"]
    assert send(green(tmp_path / "green", github.head("main"))).operation == "none"
    assert len(github.open_pulls()) == 1


def test_an_amended_commit_is_a_persons_commit(github, send, tmp_path):
    """Author and trailers of ours on another tree do not make it ours."""
    done = send()
    message, index = github.git("show", "-s", "--format=%B", done.branch), {"GIT_INDEX_FILE": str(tmp_path / "index")}
    github.git("read-tree", "main", **index)
    ours = {"GIT_COMMITTER_EMAIL": IDENTITY[1], "GIT_COMMITTER_NAME": IDENTITY[0], **index}
    amended = github.git("commit-tree", github.git("write-tree", **index), "-p", "main", "-m", message, **ours)
    github.git("update-ref", f"refs/heads/{done.branch}", amended)
    again = send(record(tmp_path / "second", github.head("main"), patch_of(right="return 2 * n")))
    assert again.operation == "none"
    assert github.head(done.branch) == amended


def test_what_a_person_closed_stays_closed(github, send):
    """No second pull request for a failure whose first one a person has closed."""
    send()
    github.close(1)
    done = send()
    assert done.operation == "none"
    assert "closed by a person" in done.reason
    assert len(github.pulls) == 1


def test_green_closes_with_a_note_and_a_failure_that_is_back_opens_anew(github, send, tmp_path):
    """A green base closes ours with a note; the failure again gets a new one; reopened by hand it is left alone."""
    send()
    closed = send(green(tmp_path / "green", github.head("main")))
    assert closed.operation == "closed"
    assert github.pulls[0]["state"] == "closed"
    assert "passes again" in github.comments[1][0]["body"]
    again = send()
    assert (again.operation, again.number) == ("created", 2)
    github.close(2)
    github.pulls[0]["state"] = "open"
    assert send(green(tmp_path / "green", github.head("main"))).operation == "none"
    assert github.pulls[0]["state"] == "open"


def test_green_at_an_older_commit_closes_nothing(github, send, tmp_path):
    """What passed before the base moved says nothing of the base."""
    send()
    old = github.head("main")
    github.commit("main", {"README": "news\n"})
    assert send(green(tmp_path / "green", old)).operation == "none"
    assert len(github.open_pulls()) == 1


def test_one_open_at_a_time(github, send, tmp_path):
    """Another failure of the same branch waits until the first pull request is gone."""
    send()
    other = record(tmp_path / "other", github.head("main"), patch_of(), message="something else")
    done = send(other)
    assert done.operation == "none"
    assert "#1 is open" in done.reason
    assert send(other, policy=Policy(most_open=2)).operation == "created"


def test_a_base_that_changed_the_same_file_is_left_to_the_next_run(github, send, tmp_path):
    """A patch for an older commit is published while it fits, and not when its files have changed."""
    folder = record(tmp_path / "record", github.head("main"), patch_of())
    github.commit("main", {"calc.py": FILES["calc.py"] + "\n\nX = 1\n"})
    done = send(folder)
    assert done.operation == "none"
    assert "changed the same files" in done.reason


def test_a_commit_beside_the_base_is_not_published(github, send, tmp_path):
    """A merge commit of a pull request belongs to no branch: the reason says what to check out."""
    beside = github.commit("refs-of-a-pull", FILES)
    done = send(record(tmp_path / "record", beside, patch_of()))
    assert done.operation == "none"
    assert "check out its head" in done.reason


def test_a_branch_that_appears_meanwhile_is_not_pushed_over(github, send, tmp_path):
    """A push is held to what was looked at; what came in between is looked at again, and left as it is."""
    folder = record(tmp_path / "record", github.head("main"), patch_of())
    branch = Policy().branch(read(Record(folder)).finished(REPOSITORY, "main"))
    github.meanwhile = lambda: github.commit(branch, {"calc.py": "by hand\n"})
    done = send(folder)
    assert done.operation == "none"
    assert "not ours" in done.reason
    assert github.git("show", f"{branch}:calc.py") == "by hand"


def test_two_runs_at_once_open_one_pull_request(github, send, tmp_path):
    """The second run publishes between a look and a push of the first; both end with a reason, and one is open."""
    other = record(tmp_path / "other", github.head("main"), patch_of(right="return 2 * n"))
    told: list[Published] = []
    github.meanwhile = lambda: told.append(send(other))
    told.append(send())
    assert [done.operation for done in told] == ["created", "updated"]
    assert len(github.open_pulls()) == 1


def test_a_partial_gain_is_published_as_one(github, send, tmp_path):
    """Title and first line say how many of how many, with a title of the user's too; ``solved`` turns it off."""
    folder = record(tmp_path / "record", github.head("main"), patch_of(), fixed=1)
    assert send(folder, policy=Policy(partial=False)).operation == "none"
    send(folder, title="Repair the build")
    assert github.pulls[0]["title"] == "Repair the build (1 of 2 failing tests)"
    assert github.pulls[0]["body"].startswith("**A partial gain: 1 of 2")


def test_without_drafts_an_ordinary_one_says_so(github, send):
    """A repository without drafts gets an ordinary pull request that says why."""
    github.drafts = False
    assert send().operation == "created"
    assert github.pulls[0]["draft"] is False
    assert "drafts are not to be had" in github.pulls[0]["body"]


def test_a_workflow_that_cannot_be_started_is_said(github, send):
    """The pull request tells what to add."""
    github.dispatchable = False
    send(wishes=Wishes(workflow="ci.yml"))
    assert "Add `workflow_dispatch` to `ci.yml`" in github.pulls[0]["body"]


def test_a_run_on_a_branch_of_ours_goes_in_no_circle(github, send, tmp_path):
    """The base of a repair is never a repair."""
    done = send()
    mended = patch_of().changes[0].after
    more = Patch.of([FileChange("calc.py", mended, mended.replace(b"n // 2", b"n / 2"))])
    again = send(record(tmp_path / "second", done.head_sha, more), base=done.branch)
    assert again.operation == "none"
    assert "circles" in again.reason


def change(folder: Path, name: str, old: str, new: str) -> None:
    """Change a file of the record."""
    path = folder / name
    text = path.read_text("utf-8")
    assert old in text
    path.write_text(text.replace(old, new), "utf-8")


@pytest.mark.parametrize(
    ("name", "old", "new", "error", "sentence"),
    [
        ("best.patch", "n + n", "n + 9", Tampered, "not the same patch"),
        ("patch.json", "calc.py", "setup.py", Tampered, "not the same patch"),
        ("result.json", '["calc.py"]', '["other.py"]', Tampered, "names other files"),
        ("decisions.jsonl", '"holds": true', '"holds": false', Tampered, "no verdict"),
        ("decisions.jsonl", '"verdict", "patch": "', '"verdict", "patch": "0', Tampered, "no verdict"),
        ("origin.json", '""', '"../x/"', Tampered, "a folder that is none"),
        ("result.json", '"base_commit": "', '"base_commit": "--upload-pack=x', RecordError, "base commit"),
    ],
)
def test_a_record_that_was_tampered_with_is_refused(github, send, tmp_path, name, old, new, error, sentence):
    """Each part of the record is held against the others; nothing is pushed."""
    folder = record(tmp_path / "record", github.head("main"), patch_of())
    change(folder, name, old, new)
    with pytest.raises(error, match=sentence):
        send(folder)
    assert github.git("for-each-ref", "--format=%(refname)") == "refs/heads/main"


def test_a_record_of_any_form_is_read_or_refused_and_never_a_crash(tmp_path):
    """Each value of the result and of each event in turn is another: an error of ours, or a body all the same."""
    folder = record(tmp_path / "record", "0123456789abcdef", patch_of())
    result = json.loads((folder / "result.json").read_text())
    lines = [json.loads(line) for line in (folder / "decisions.jsonl").read_text().splitlines()]
    read_all_the_same = 0
    changes = [(result, name) for name in result] + [(event, name) for event in lines for name in event]
    for place, name in changes:
        before = place[name]
        for odd in (None, 7, "x", [], {}, [{"test": []}], {"fixed": 3, "targets": "t", "real": [1]}):
            place[name] = odd
            (folder / "result.json").write_text(json.dumps(result))
            (folder / "decisions.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
            with contextlib.suppress(NoepiError):
                paper = read(Record(folder))
                run = paper.finished(REPOSITORY, "main")
                assert body(Told(paper.result, paper.patch, run.base, run.commit, paper.events))
                read_all_the_same += 1
        place[name] = before
    assert read_all_the_same > 100


def test_a_record_that_agrees_with_itself_is_held_against_the_first_job(github, send):
    """A whole record put in the place of another does not have the digest that the job named."""
    with pytest.raises(Tampered, match="not the one that the job named"):
        send(digest="0123456789abcdef0123")
    assert send(digest=patch_of().digest).operation == "created"


def test_a_patch_for_other_files_is_refused(github, send, tmp_path):
    """The old side of the patch must be what the commit holds."""
    github.commit("main", {"calc.py": "something = 'else'\n"})
    with pytest.raises(Tampered, match=r"calc\.py is not in"):
        send(record(tmp_path / "record", github.head("main"), patch_of()))


@pytest.mark.parametrize(
    ("patch", "rule"),
    [
        (patch_of("test_calc.py", "== 8", "== 7"), "test-file"),
        (patch_of("pytest.ini", "noepi", "xnoepi"), "configuration"),
        (patch_of("secret_keys.py", "1", "2"), "protected-by-user"),
    ],
)
def test_the_guard_judges_again(github, send, tmp_path, patch, rule):
    """Tests, configuration and what the project protects stay as they are, whatever the record says was proven."""
    with pytest.raises(Refused, match=rule):
        send(record(tmp_path / "record", github.head("main"), patch))
    assert not github.pulls


def test_nothing_of_the_project_runs(github, send, tmp_path):
    """A conftest and a configuration that would run code are read, not run."""
    trap = f"open({str(tmp_path / 'ran')!r}, 'w').close()\n"
    github.commit("main", {"conftest.py": trap, "sitecustomize.py": trap, "pytest_plugin.py": trap})
    github.commit("main", {"pytest.ini": "[pytest]\naddopts = -p pytest_plugin\npythonpath = .\n"})
    assert send(record(tmp_path / "record", github.head("main"), patch_of())).operation == "created"
    assert not (tmp_path / "ran").exists()


def test_a_tree_below_the_top_is_published_below_it(github, send, tmp_path):
    """A project in a folder of the repository: the patch's paths get that folder in front."""
    github.commit("main", {f"services/api/{path}": text for path, text in FILES.items()})
    folder = record(tmp_path / "record", github.head("main"), patch_of())
    (folder / "origin.json").write_text(json.dumps({"folder": "services/api/"}))
    done = send(folder)
    assert github.git("diff", "--name-only", "main", done.branch) == "services/api/calc.py"


def test_a_failure_that_is_inherited_is_said_to_be_so(github, send, tmp_path):
    """A pull request with the failure of its base gets no repair of its own: the one for the base is named."""
    send(above="trunk")
    feature = github.commit("feature", {**FILES, "README": "new\n"})
    done = send(record(tmp_path / "feature", feature, patch_of()), base="feature", above="main")
    assert done.operation == "none"
    assert "inherited from main, where #1 mends it" in done.reason


SWITCH = "GitHub Actions is not permitted to create or approve pull requests."


@pytest.mark.parametrize(
    ("fault", "said", "hint"),
    [
        (Fault("GET", "git/ref/heads/main", 401, "Bad credentials"), "401", "has it expired"),
        (Fault("POST", "/pulls$", 403, SWITCH), "not permitted", "Settings > Actions"),
        (Fault("POST", "/pulls$", 403, SWITCH), "not permitted", "a person can open the pull request"),
        (Fault("POST", "/pulls$", 403, "Resource not accessible by integration"), "403", "pull-requests: write"),
        (Fault("GET", "git/ref/heads/main", 404, "Not Found"), "404", "may not see it"),
        (Fault("GET", "/pulls$", 502, "Bad gateway", times=9), "in 4 tries (status 502 Bad gateway)", "githubstatus"),
        (Fault("GET", "/pulls$", 403, "secondary rate limit", times=9), "in 4 tries (status 403", "githubstatus"),
        (Fault("GET", "/pulls$", 429, "slow", {"Retry-After": "900"}), "asks to wait 900 s", "later"),
        (Fault("GET", "/pulls$", 301, "Moved", {"Location": "http://127.0.0.1:1/"}), "301", "new name"),
    ],
)
def test_each_failure_says_what_to_do(github, send, tmp_path, fault, said, hint):
    """Every refusal of GitHub is a named error with its hint, and it does not name the token."""
    github.faults.append(fault)
    looked = green(tmp_path / "green", github.head("main")) if fault.method == "GET" else None
    with pytest.raises(GitHubError) as caught:
        send(looked)
    assert said in str(caught.value)
    assert hint in caught.value.hint
    assert TOKEN not in caught.value.sentence()


@pytest.mark.parametrize(
    "fault",
    [
        Fault("GET", "/pulls$", 500),
        Fault("GET", "git/ref", 429, "slow", {"Retry-After": "0"}, times=3),
        Fault("GET", "git/ref", 403, "You have exceeded a secondary rate limit", times=2),
        Fault("POST", "/pulls$", 502, "Bad gateway", done=True),
        Fault("POST", "/pulls$", 502, "Bad gateway"),
        Fault("POST", "/pulls$", 409, "Conflict"),
        Fault("POST", "/labels$", 403, "no"),
    ],
    ids=lambda fault: f"{fault.method}{fault.path}-{fault.status}{'-done' if fault.done else ''}",
)
def test_what_passes_is_waited_for_and_nothing_is_made_twice(github, send, fault):
    """A server that stumbles gets another chance; where an answer was lost, GitHub is looked at again first."""
    github.faults.append(fault)
    send(wishes=Wishes(labels=("noepi",)))
    assert len(github.open_pulls()) == 1


def test_a_push_that_may_not_be_says_so(github, send):
    """A repository that takes no pushes: an error of git's with what to do, and no token in it."""
    github.git("config", "http.receivepack", "false")
    with pytest.raises(GitFailed) as caught:
        send()
    assert "contents: write" in caught.value.hint
    assert TOKEN not in caught.value.sentence()


def test_a_wrong_token_is_an_error_not_a_question(github, tmp_path):
    """Nothing waits for a password."""
    folder = record(tmp_path / "record", github.head("main"), patch_of())
    with pytest.raises(GitFailed, match="git fetch failed") as caught:
        publish(Request(folder, REPOSITORY, "ghs_wrong_wrong_wrong", "main", server=github.url, api=github.api))
    assert "has it expired" in caught.value.hint


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"repository": "acme"}, "no repository"),
        ({"token": ""}, "no token"),
        ({"base": "--all"}, "no branch"),
        ({"policy": Policy(prefix="a b")}, "no branch"),
        ({"api": "http://example.org"}, "no https address"),
        ({"server": "file:///etc"}, "no https address"),
    ],
)
def test_wrong_use_is_said_before_anything_is_sent(tmp_path, change, sentence):
    """What cannot work is refused at once."""
    request = Request(tmp_path, REPOSITORY, TOKEN)
    with pytest.raises(UsageError, match=sentence):
        publish(replace(request, **change))


def test_the_token_is_in_no_argument_and_in_no_file(github, send, tmp_path, monkeypatch):
    """Neither the arguments of git nor what it leaves on disk hold the token; a persisted header is not sent beside."""
    (tmp_path / "home").mkdir()
    (tmp_path / "home/.gitconfig").write_text('[http]\n\textraheader = "AUTHORIZATION: basic b2xkOm9sZA=="\n')
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    seen: list[str] = []
    real = __import__("subprocess").run

    def watched(command, **more):
        seen.append(" ".join(map(str, command)))
        clone = more.get("cwd")
        if clone and Path(clone, "config").is_file():
            seen.append(Path(clone, "config").read_text())
        return real(command, **more)

    monkeypatch.setattr("pytest_noepicycle.adapters.pushing.subprocess.run", watched)
    assert send().operation == "created"
    assert seen
    assert not [text for text in seen if TOKEN in text or "basic" in text.lower()]
    assert all(header.count("|") == 0 for _, _, header in github.requests)


def test_the_command_prints_one_document(story, github, tmp_path):
    """``noepi publish FOLDER --json`` is what a program reads; without a token it is wrong use."""
    folder = record(tmp_path / "record", github.head("main"), patch_of())
    words = ["publish", str(folder), "--repo", REPOSITORY, "--api-url", github.api, "--server-url", github.url]
    here = story({})
    told = here.noepi(*words, "--json", env={"GITHUB_TOKEN": TOKEN})
    assert told.status == 0, told.text
    done = json.loads(told.text)
    assert (done["operation"], done["number"]) == ("created", 1)
    assert done["head_sha"] == github.head(done["branch"])
    assert here.noepi(*words, env={"GITHUB_TOKEN": ""}).status == 2


def test_a_run_of_a_checkout_is_published_from_there(story, github):
    """Without an artifact between: the newest run, in a project below the top of its repository."""
    github.commit("main", {f"services/api/{path}": text for path, text in FILES.items()})
    here = story({})
    here.command("git", "clone", "-q", str(github.bare), "checkout")
    api = here.project / "checkout/services/api"
    folder = record(api / ".noepi/runs/20260101-000000-abcd", github.head("main"), patch_of(), root=api)
    (folder / "origin.json").unlink()
    (api / ".noepi/last").write_text("20260101-000000-abcd\n")
    words = ["publish", "--repo", REPOSITORY, "--api-url", github.api, "--server-url", github.url]
    told = here.noepi(*words, env={"GITHUB_TOKEN": TOKEN}, cwd="checkout/services/api")
    assert told.status == 0, told.text
    assert told.text.startswith("created: ")
    (pull,) = github.open_pulls()
    assert github.git("diff", "--name-only", "main", pull["head"]) == "services/api/calc.py"


def test_a_persons_token_opens_it_in_their_name(github, send, tmp_path):
    """With the token of a person the pull request is theirs."""
    folder = record(tmp_path / "record", github.head("main"), patch_of())
    person = "ghp_0123456789abcdefghijklmnop"
    publish(Request(folder, REPOSITORY, person, server=github.url, api=github.api))
    assert github.pulls[0]["user"] == PERSON
