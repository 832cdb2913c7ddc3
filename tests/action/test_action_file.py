"""``action.yml`` and the code behind it, held against each other both ways, and against what must never be in it."""

from __future__ import annotations

import ast
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[2]
ACTION: dict[str, Any] = yaml.safe_load((ROOT / "action.yml").read_text("utf-8"))
STEPS: list[dict[str, Any]] = ACTION["runs"]["steps"]
SCRIPTS = {name: step for step in STEPS for name in re.findall(r"action/(\w+)\.py", step.get("run", ""))}
PROMISED = """
anthropic-api-key token mode publish pytest-args working-directory python ladder budget budget-usd time-limit image
branch base title commit-message labels draft artifact
"""
PROMISED_OUTPUTS = """
stop-reason solved score tokens-spent cost-usd patch report pull-request-number pull-request-url
pull-request-operation pull-request-branch pull-request-head-sha
"""


def read(name: str) -> ast.Module:
    """Return a script as a tree."""
    return ast.parse((ROOT / "action" / f"{name}.py").read_text("utf-8"))


def names_read(name: str) -> set[str]:
    """Return the inputs that a script asks for: by name, or from its table of settings."""
    tree, found = read(name), set[str]()
    for node in ast.walk(tree):
        called = isinstance(node, ast.Call) and ast.unparse(node.func) in ("console.setting", "given")
        if called and isinstance(node.args[0], ast.Constant):
            found.add(node.args[0].value)
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "_SETTINGS":
            found |= set(ast.literal_eval(node.value))
    return found


def names_set(name: str) -> set[str]:
    """Return the outputs that a script sets."""
    calls = [n for n in ast.walk(read(name)) if isinstance(n, ast.Call) and ast.unparse(n.func) == "console.output"]
    return {str(keyword.arg).replace("_", "-") for call in calls for keyword in call.keywords}


def expressions() -> str:
    """Return everything in which the file may name an input or a step."""
    return (ROOT / "action.yml").read_text("utf-8")


def test_every_input_is_used_and_every_used_one_is_declared():
    """No input without an effect, none that is not documented; the promised ones are all there."""
    used = set(re.findall(r"inputs\.([a-z-]+)", expressions()))
    assert used == set(ACTION["inputs"])
    assert used >= set(PROMISED.split())
    assert all(given["description"] and "default" in given for given in ACTION["inputs"].values())


@pytest.mark.parametrize("name", sorted(SCRIPTS))
def test_a_step_is_given_what_its_script_reads_and_nothing_else(name):
    """The environment of each step names exactly the inputs that its script asks for."""
    given = {key for key in SCRIPTS[name].get("env", {}) if key.startswith("NOEPI_INPUT_")}
    assert given == {"NOEPI_INPUT_" + read.upper().replace("-", "_") for read in names_read(name)}


def test_every_output_is_set_by_the_step_it_names():
    """Each output comes from a step whose script sets it, and each is promised or documented."""
    ids = {step["id"]: name for name, step in SCRIPTS.items()}
    for output, told in ACTION["outputs"].items():
        sources = re.findall(r"steps\.([\w-]+)\.outputs\.([\w-]+)", told["value"])
        assert sources, output
        for step, name in sources:
            assert name in names_set(ids[step]), (output, step)
    assert set(ACTION["outputs"]) >= set(PROMISED_OUTPUTS.split())


def test_every_condition_asks_for_an_output_that_exists():
    """What steps ask of each other is set somewhere."""
    ids = {step["id"]: name for name, step in SCRIPTS.items()}
    for step, name in re.findall(r"steps\.([\w-]+)\.outputs\.([\w-]+)", expressions()):
        assert name in names_set(ids[step]), (step, name)


def test_no_expression_stands_in_a_shell_line():
    """What a person or an event names reaches a shell by its environment only."""
    lines = [step["run"] for step in STEPS if "run" in step]
    assert lines
    assert not [line for line in lines if "${{" in line]


def test_key_and_token_are_each_in_one_step():
    """The key is in the step that repairs, the token in the one that publishes; neither is where project code runs."""
    key = [name for name, step in SCRIPTS.items() if "anthropic-api-key" in str(step.get("env"))]
    token = [name for name, step in SCRIPTS.items() if "NOEPI_INPUT_TOKEN" in step.get("env", {})]
    assert (key, token) == (["fix"], ["publish"])


def test_other_actions_are_pinned_by_commit():
    """A tag can be moved; a commit cannot."""
    used = [step["uses"] for step in STEPS if "uses" in step]
    assert len(used) == 2
    assert all(re.fullmatch(r"[\w-]+/[\w-]+@[0-9a-f]{40}", name) for name in used)


def test_the_record_is_an_artifact_before_github_is_called():
    """Whatever becomes of the pull request, patch and report are kept."""
    names = [step.get("uses", step.get("id", "")).partition("@")[0] for step in STEPS]
    assert names.index("actions/upload-artifact") < names.index("publish")


def test_the_readme_names_every_input_and_output():
    """What a user may set or read is documented."""
    text = (ROOT / "action/README.md").read_text("utf-8")
    assert not [name for name in (*ACTION["inputs"], *ACTION["outputs"]) if f"`{name}`" not in text]


def test_the_first_steps_can_be_read_by_an_older_python():
    """The event is judged, and a newer Python looked for, by whatever Python the runner has."""
    for name in ("console", "gate", "bootstrap"):
        ast.parse((ROOT / "action" / f"{name}.py").read_text("utf-8"), feature_version=(3, 9))


def tool(name: str) -> str:
    """Return a linter's program, or skip where it is not installed."""
    found = shutil.which(name, path=str(Path(sys.executable).parent)) or shutil.which(name)
    if found is None:
        pytest.skip(f"{name} is not installed; the dev extra brings it, so CI runs this")
    return found


EXAMPLES = sorted((ROOT / "action/examples").glob("*.yml"))


def lint(*words: str) -> None:
    """Run a linter, which must find nothing."""
    done = subprocess.run(words, capture_output=True, text=True, cwd=ROOT, timeout=120, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_schemas_hold():
    """The Action and the examples have the form that GitHub publishes."""
    program = tool("check-jsonschema")
    lint(program, "--builtin-schema", "vendor.github-actions", "action.yml")
    lint(program, "--builtin-schema", "vendor.github-workflows", *map(str, EXAMPLES))


def test_zizmor_finds_nothing():
    """No injection, no unpinned action, no persisted credentials, no excessive permission."""
    lint(tool("zizmor"), "--offline", "--quiet", "--no-progress", "action.yml", *map(str, EXAMPLES))


def test_actionlint_finds_nothing():
    """Expressions, contexts and the names of inputs are right."""
    lint(tool("actionlint"), "-shellcheck=", "-pyflakes=", *map(str, EXAMPLES))


def test_examples_give_only_inputs_that_exist_and_pin_what_they_use():
    """Each example uses this Action by its released tag, with inputs that it has."""
    assert len(EXAMPLES) >= 10
    for example in EXAMPLES:
        document = yaml.safe_load(example.read_text("utf-8"))
        steps = [step for job in document["jobs"].values() for step in job["steps"] if "uses" in step]
        ours = [step for step in steps if "pytest-noepicycle" in step["uses"]]
        assert ours, example.name
        assert all(set(step.get("with", {})) <= set(ACTION["inputs"]) for step in ours), example.name
        writers = [job for job in document["jobs"].values() if "write" in str(job.get("permissions"))]
        keyed = [job for job in writers if "ANTHROPIC" in str(job)]
        if len(document["jobs"]) > 1:
            assert not keyed, f"{example.name}: the job that may write holds the key"
