"""The tests' own server, as the SDK sees it: it objects to what the API objects to."""

from __future__ import annotations

import anthropic
import pytest

HELLO = [{"role": "user", "content": "Hello"}]


@pytest.fixture
def client(server):
    """Return the SDK's client on the test's server."""
    with anthropic.Anthropic(api_key="sk-test", base_url=server.url, max_retries=0) as client:
        yield client


def test_plain_answers_and_streamed_ones_say_the_same(server, client):
    """The two ways of answering carry the same text and the same usage, cache fields included."""
    usage = {"input_tokens": 5, "output_tokens": 3, "cache_read_input_tokens": 7}
    server.says("Hi there", usage=usage)
    server.says("Hi there", usage=usage)
    plain = client.messages.create(model="m", max_tokens=9, messages=HELLO)
    with client.messages.stream(model="m", max_tokens=9, messages=HELLO) as stream:
        streamed = stream.get_final_message()
    assert plain.content[0].text == streamed.content[0].text == "Hi there"
    assert plain.usage.to_dict() == streamed.usage.to_dict() == usage


def test_tokens_can_be_counted(client):
    """A larger message counts more."""
    small = client.messages.count_tokens(model="m", messages=HELLO).input_tokens
    large = client.messages.count_tokens(model="m", messages=[{"role": "user", "content": "x" * 4000}]).input_tokens
    assert 0 < small < large


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"messages": [*HELLO, *HELLO]}, "alternate"),
        ({"extra_body": {"temperature": 1.0}}, "temperature"),
        ({"extra_body": {"nonsense": 1}}, "nonsense"),
        ({"tool_choice": {"type": "tool", "name": "t"}}, "no such tool"),
        ({"tools": [{"name": "t", "strict": True, "input_schema": {"type": "object"}}]}, "additionalProperties"),
    ],
    ids=["roles", "temperature", "unknown field", "unknown tool", "open schema"],
)
def test_it_refuses_what_the_api_refuses(client, wrong, says):
    """A test that sends the wrong thing is told, as it would be by the API."""
    with pytest.raises(anthropic.BadRequestError, match=says):
        client.messages.create(**{"model": "m", "max_tokens": 9, "messages": HELLO, **wrong})
