"""The Messages adapter against a real server, through the real SDK: every end, every error, every token."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from pytest_noepicycle.adapters.messages import MessagesModel
from pytest_noepicycle.domain.budget import Usage
from pytest_noepicycle.domain.ladder import Rung
from pytest_noepicycle.errors import LadderError, ProviderError
from pytest_noepicycle.ports import Question

KEY = "sk-test"
SCHEMA = {
    "type": "object",
    "additionalProperties": False,
    "required": ["x"],
    "properties": {"x": {"type": "string"}},
}


def question(prompt="What is wrong?", max_output=700, stable=""):
    """Return a small question with a strict tool."""
    return Question("You repair.", stable, prompt, "propose_edits", "Hand in edits.", SCHEMA, max_output)


def model(server, key=KEY, **more):
    """Return a model that lives on the test's server."""
    name = more.pop("model", "claude-haiku-4-5")
    return MessagesModel(Rung("cheap", "model", model=name, base_url=server.url, **more), key)


def refused(server, key=KEY, seconds=20.0, **more):
    """Ask and return the error that came instead of an answer."""
    with pytest.raises(ProviderError) as caught:
        model(server, key, **more).ask(question(), seconds=seconds)
    return caught.value


def test_an_answer_carries_the_tools_input_and_all_kinds_of_tokens(server):
    """What the server reports as used is what the ledger gets, cache fields included, raw figures kept."""
    usage = {
        "input_tokens": 120,
        "output_tokens": 45,
        "cache_read_input_tokens": 900,
        "cache_creation_input_tokens": 30,
        "service_tier": "standard",
    }
    server.uses_tool({"x": "é\n→"}, usage=usage)
    answer = model(server).ask(question(), seconds=20)
    assert (answer.data, answer.end) == ({"x": "é\n→"}, "tool_use")
    assert answer.usage == Usage(input=120, output=45, cache_read=900, cache_write=30)
    assert answer.raw["usage"] == usage == server.served[0]


def test_a_request_has_a_strict_forced_tool_and_cached_stable_parts(server):
    """The system text and the prompt's stable part are marked for the cache; the answer is streamed."""
    server.uses_tool({"x": "1"})
    model(server).ask(question("changing", stable="stable"), seconds=20)
    body = server.requests[0].body
    assert body["tools"][0]["strict"] is True
    assert body["tool_choice"] == {"type": "tool", "name": "propose_edits", "disable_parallel_tool_use": True}
    assert body["system"][0]["cache_control"] == {"type": "ephemeral"}
    stable, changing = body["messages"][0]["content"]
    assert (stable["text"], "cache_control" in stable) == ("stable", True)
    assert (changing["text"], "cache_control" in changing) == ("changing", False)
    assert (body["stream"], body["max_tokens"], "temperature" in body) == (True, 700, False)


@pytest.mark.parametrize(
    ("end", "data"),
    [
        ("tool_use", {"x": "1"}),
        ("end_turn", {"x": "1"}),
        ("stop_sequence", {"x": "1"}),
        ("pause_turn", {"x": "1"}),
        ("a_reason_of_the_future", {"x": "1"}),
        ("max_tokens", None),
        ("model_context_window_exceeded", None),
        ("refusal", None),
    ],
)
def test_every_stop_reason_is_passed_on_and_unfinished_answers_carry_no_data(server, end, data):
    """Half a tool call is none, whatever could be read of it; its tokens count all the same."""
    server.uses_tool({"x": "1"}, end=end, usage={"input_tokens": 9, "output_tokens": 8})
    answer = model(server).ask(question(), seconds=20)
    assert (answer.end, answer.data, answer.usage) == (end, data, Usage(input=9, output=8))


@pytest.mark.parametrize(
    "step",
    [
        lambda server: server.says("I would rather talk."),
        lambda server: server.uses_tool('{"x": '),
        lambda server: server.uses_tool("[1, 2]"),
        lambda server: server.uses_tool({"x": "1"}, name="another_tool"),
    ],
    ids=["text only", "broken JSON", "no object", "another tool"],
)
def test_an_answer_without_a_usable_tool_call_has_no_data_but_its_usage(server, step):
    """Malformed input is no reason to lose count of what it cost."""
    step(server)
    answer = model(server).ask(question(), seconds=20)
    assert answer.data is None
    assert answer.usage.total > 0


def test_text_is_kept_with_the_reason_of_a_refusal(server):
    """A refusal explains itself in its details, and they are kept."""
    server.says("I cannot help with that.", end="refusal")
    answer = model(server).ask(question(), seconds=20)
    assert answer.text == "I cannot help with that."
    assert answer.raw["stop_details"]["explanation"] == "not this"


@pytest.mark.parametrize(
    ("status", "kind", "retryable"),
    [
        (400, "bad_request", False),
        (401, "auth", False),
        (402, "auth", False),
        (403, "auth", False),
        (404, "unknown_model", False),
        (413, "too_large", False),
        (422, "bad_request", False),
        (429, "rate_limited", True),
        (500, "server", True),
        (502, "server", True),
        (503, "overloaded", True),
        (529, "overloaded", True),
    ],
)
def test_every_error_status_has_a_kind_and_says_what_to_do(server, status, kind, retryable):
    """The SDK retries nothing on its own: one request was made."""
    server.fails(status, "because of the weather")
    error = refused(server)
    assert (error.kind, error.retryable) == (kind, retryable)
    assert "because of the weather" in str(error)
    assert error.hint
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    ("how", "kind"),
    [
        ("drop", "connection"),
        ("break_off", "connection"),
        ("error_midway", "server"),
        ("not_json", "malformed"),
    ],
)
def test_every_failure_of_the_wire_has_a_kind(server, how, kind):
    """A stream that ends early is no answer, even where the connection was closed politely."""
    server.breaks(how)
    assert refused(server).kind == kind


@pytest.mark.parametrize("how", ["stall", "trickle"])
def test_an_answer_that_takes_too_long_is_ended(server, how):
    """Silence is bounded, and so is a server that sends a byte now and then and never comes to an end."""
    server.breaks(how)
    assert refused(server, seconds=0.4).kind == "timeout"


def test_a_server_that_is_not_there_was_never_sent_anything(server):
    """Nobody listens at that address: another kind than a connection that breaks, for nothing can have been used."""
    server.close()
    error = refused(server, seconds=5)
    assert (error.kind, error.retryable) == ("never_connected", True)
    assert "cannot be reached" in str(error)


def test_a_wrong_key_names_the_variable_that_holds_it(server):
    """The hint names what to set, and the message does not show the key."""
    error = refused(server, key="sk-wrong", api_key_env="MY_KEY")
    assert (error.kind, "MY_KEY" in error.hint, "sk-wrong" in error.sentence()) == ("auth", True, False)


@pytest.mark.parametrize(
    ("sent", "seconds"), [({"retry_after": "7"}, 7.0), ({"retry_after": "soon"}, None), ({}, None)]
)
def test_retry_after_is_kept_in_seconds(server, sent, seconds):
    """The wait that the server asks for reaches whoever retries."""
    server.fails(429, **sent)
    assert refused(server).retry_after == seconds


@pytest.mark.parametrize(
    "usage", [{"input_tokens": -5, "output_tokens": 3}, {"input_tokens": "many", "output_tokens": 1}]
)
def test_usage_that_cannot_be_believed_makes_no_answer(server, usage):
    """An unknown number of tokens is never counted as none."""
    server.uses_tool({"x": "1"}, usage=usage)
    assert refused(server).kind == "malformed"


def test_a_temperature_is_sent_only_where_the_rung_sets_one(server):
    """It goes out under the version of the API that still takes it."""
    server.uses_tool({"x": "1"})
    model(server, temperature=0.2).ask(question(), seconds=20)
    request = server.requests[0]
    assert (request.body["temperature"], request.headers["anthropic-version"]) == (0.2, "2023-06-01")


@pytest.mark.parametrize(
    ("name", "choice"),
    [
        ("claude-haiku-4-5", "tool"),
        ("claude-opus-4-8", "tool"),
        ("qwen3-coder", "tool"),
        ("claude-haiku-5-5", "auto"),
        ("claude-sonnet-5-5", "auto"),
        ("claude-opus-5-5", "auto"),
    ],
)
def test_models_that_cannot_be_made_to_use_a_tool_are_only_offered_it(server, name, choice):
    """Claude from generation 5 on answers 400 to a forced tool."""
    server.uses_tool({"x": "1"})
    assert model(server, model=name).ask(question(), seconds=20).data == {"x": "1"}
    assert server.requests[0].body["tool_choice"]["type"] == choice


def test_a_model_that_turns_out_to_refuse_forced_tools_is_asked_again_without(server):
    """What the name does not tell, the error does: it is retryable, and the next call only offers the tool."""
    here = model(server, model="unforceable")
    with pytest.raises(ProviderError) as caught:
        here.ask(question(), seconds=20)
    assert (caught.value.kind, caught.value.retryable) == ("bad_request", True)
    server.uses_tool({"x": "1"})
    assert here.ask(question(), seconds=20).data == {"x": "1"}


def test_the_key_is_sent_in_both_headers_to_other_servers(server):
    """Servers that copy the API know the older header."""
    server.uses_tool({"x": "1"})
    model(server).ask(question(), seconds=20)
    headers = server.requests[0].headers
    assert (headers["x-api-key"], headers["authorization"]) == (KEY, f"Bearer {KEY}")


@pytest.mark.parametrize("prompt", ["plain", "äöü → 日本語 🙂" * 50, '"\\\n\t' * 200, "\ufdfa" * 100])
def test_the_input_bound_is_above_the_bytes_that_are_sent(server, prompt):
    """No tokenizer makes more tokens than bytes, so a bound above the bytes holds for every one of them."""
    server.uses_tool({"x": "1"})
    here = model(server)
    here.ask(question(prompt), seconds=20)
    body = dict(server.requests[0].body)
    assert here.input_bound(question(prompt)) > len(json.dumps(body, ensure_ascii=False).encode())
    assert here.input_bound(question(prompt + "x")) > here.input_bound(question(prompt))


def test_a_provider_that_nobody_knows_is_an_error_before_anything_is_asked():
    """The message says how to reach other servers."""
    with pytest.raises(LadderError, match="base_url"):
        MessagesModel(Rung("r", "model", provider="acme"), KEY)


def test_the_sdk_is_not_imported_before_something_is_asked():
    """Importing it takes longer than a small test run."""
    code = (
        "import sys\n"
        "from pytest_noepicycle.adapters.messages import MessagesModel\n"
        "from pytest_noepicycle.domain.ladder import Rung\n"
        "from pytest_noepicycle.ports import Question\n"
        "MessagesModel(Rung('r', 'model', model='m'), 'k').input_bound(Question('s', '', 'p', 't', 'd', {}, 9))\n"
        "sys.exit('anthropic' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False, timeout=60).returncode == 0
