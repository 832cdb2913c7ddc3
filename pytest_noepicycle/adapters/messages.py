"""Ask a model over the Messages API; the one module that knows the SDK."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterator, Mapping
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any

from pytest_noepicycle.adapters.message_stream import BrokenOff, Reply, Watch
from pytest_noepicycle.domain.ladder import PROVIDERS, Rung
from pytest_noepicycle.errors import LadderError, ProviderError
from pytest_noepicycle.ports import Answer, Question

if TYPE_CHECKING:
    import anthropic

# What the server adds unseen to a request that uses a tool: its own instructions (below 1,000 tokens for every
# model in the API's documentation) and the framing of turns and blocks.
_UNSEEN_TOKENS = 1536
_WITH_SAMPLING = "2023-06-01"  # later versions of the API answer 400 to a temperature, whatever its value


class MessagesModel:
    """A model behind any server that speaks the Messages API: one call, one answer, no retries of its own."""

    def __init__(self, rung: Rung, api_key: str) -> None:
        if rung.provider not in PROVIDERS:
            raise LadderError(
                f"{rung.name}.provider: {rung.provider!r} is none of {', '.join(PROVIDERS)}; 'anthropic' together "
                "with a base_url reaches every server that speaks the Messages API"
            )
        self._rung = rung
        self._api_key = api_key or "not-needed"
        self._forces_tool = _takes_forced_tool(rung.model)

    def input_bound(self, question: Question) -> int:
        """Return a number of tokens that the question cannot exceed, from its bytes.

        Tokenizers read UTF-8 and every token stands for one byte at least, so no text has more tokens than bytes.
        The bound is the bytes of the whole request, once more those of the tool (a strict tool is described to
        the model as well as enforced), and what the server adds unseen. A text that grows when it is normalised
        counts as grown.
        """
        body = self._request(question)
        return _bytes(body) + _bytes(body["tools"]) + _UNSEEN_TOKENS

    def ask(self, question: Question, *, seconds: float) -> Answer:
        """Send the question and read the answer as it is written, for at most ``seconds``.

        :raises ProviderError: where no answer came; its ``kind`` is auth, unknown_model, too_large, rate_limited,
            overloaded, server, bad_request, never_connected (nothing was sent), connection, timeout or malformed.
        """
        import anthropic
        import httpx2

        others = frozenset(tool.name for tool in question.more_tools)
        reply, watch = Reply(question.tool_name, others), Watch(seconds)
        try:
            with (
                self._client(seconds) as client,
                client.messages.create(**self._request(question), **self._sampling(), stream=True) as stream,
                watch.over(stream.response),
            ):
                for event in stream:
                    reply.add(_as_mapping(event))
            return reply.answer()
        except (anthropic.AnthropicError, httpx2.HTTPError, OSError, ValueError, KeyError, TypeError) as error:
            raise self._explained(error, begun=reply.begun, expired=watch.expired) from error
        except Exception as error:
            if not _of_a_cloud(error):
                raise
            raise self._explained(error, begun=reply.begun, expired=watch.expired) from error

    def _client(self, seconds: float) -> anthropic.Anthropic | anthropic.AnthropicBedrock | anthropic.AnthropicVertex:
        """Open a client for one call: no connection outlives its answer."""
        import anthropic

        wire: dict[str, Any] = {
            "base_url": self._rung.base_url,
            "max_retries": 0,
            "timeout": anthropic.Timeout(max(seconds, 0.1), connect=max(0.1, min(seconds, 15.0))),
            # A redirect could carry the key and the project's code to another host.
            "http_client": anthropic.DefaultHttpxClient(follow_redirects=False),
            "open_telemetry": False,
        }
        if self._rung.provider == "bedrock":
            return anthropic.AnthropicBedrock(**wire)
        if self._rung.provider == "vertex":
            return anthropic.AnthropicVertex(**wire)
        # The SDK sends the key as a bearer token; other servers of this API look for the older header.
        elsewhere = {"x-api-key": self._api_key} if self._rung.base_url else {}
        return anthropic.Anthropic(api_key=self._api_key, default_headers=elsewhere, **wire)

    def _request(self, question: Question) -> dict[str, Any]:
        named = {"type": "tool", "name": question.tool_name}
        forced = {"type": "any"} if question.more_tools else named
        return {
            "model": self._rung.model,
            "max_tokens": question.max_output,
            "system": [_cached(question.system)],
            "tools": [
                _tool(question.tool_name, question.tool_description, question.tool),
                *(_tool(tool.name, tool.description, tool.schema) for tool in question.more_tools),
            ],
            "tool_choice": {
                **(forced if self._forces_tool else {"type": "auto"}),
                "disable_parallel_tool_use": True,
            },
            "messages": [{"role": "user", "content": _blocks(question)}, *_conversation(question)],
        }

    def _sampling(self) -> dict[str, Any]:
        if self._rung.temperature is None:
            return {}
        return {
            "extra_body": {"temperature": self._rung.temperature},
            "extra_headers": {"anthropic-version": _WITH_SAMPLING},
        }

    def _explained(self, error: Exception, *, begun: bool, expired: bool) -> ProviderError:
        kind, retryable = ("timeout", True) if expired else _classify(error)
        if begun and kind in ("rate_limited", "overloaded", "bad_request"):
            kind = "server"  # it had begun to answer before it broke off, so tokens were used
        if kind == "bad_request" and self._forces_tool and "tool_choice" in str(error):
            # A model that cannot be made to use a tool; the system text asks for it as well.
            self._forces_tool, retryable = False, True
        key = self._rung.api_key_env or "the key"
        credentials = key if self._rung.provider == "anthropic" else f"the credentials for {self._rung.provider}"
        hint = _HINTS[kind].format(key=credentials, model=self._rung.model)
        said = f"{self._rung.name}: {_SAYS[kind]} ({_short(error)})"
        return ProviderError(said, kind=kind, retryable=retryable, retry_after=_retry_after(error), hint=hint)


_BY_STATUS = {
    400: ("bad_request", False),
    401: ("auth", False),
    402: ("auth", False),
    403: ("auth", False),
    404: ("unknown_model", False),
    408: ("timeout", True),
    413: ("too_large", False),
    422: ("bad_request", False),
    429: ("rate_limited", True),
    503: ("overloaded", True),
    529: ("overloaded", True),
}
_BY_TYPE = {
    "authentication_error": 401,
    "billing_error": 402,
    "permission_error": 403,
    "not_found_error": 404,
    "request_too_large": 413,
    "rate_limit_error": 429,
    "api_error": 500,
    "timeout_error": 504,
    "overloaded_error": 529,
}
_SAYS = {
    "auth": "the server does not accept the API key",
    "unknown_model": "the server does not know the model",
    "too_large": "the request is larger than the server takes",
    "rate_limited": "too many requests for this key",
    "overloaded": "the server has no capacity at the moment",
    "server": "the server failed",
    "bad_request": "the server refuses the request",
    "never_connected": "the server cannot be reached",
    "connection": "the connection broke",
    "timeout": "the answer took longer than there was time for",
    "malformed": "the server's answer cannot be read",
}
_HINTS = {
    "auth": "Check {key}: is it set, valid, and allowed to use this model?",
    "unknown_model": "Check that the model {model!r} exists there and that the key may use it.",
    "too_large": "Fewer failing tests at once make a smaller request: select some with -k.",
    "rate_limited": "Wait a little, or raise the limit of the key.",
    "overloaded": "Try again later, or with a ladder that names another model.",
    "server": "Try again later; the provider's status page may say more.",
    "bad_request": "If base_url names another server, it may not support strict tools; else please report this.",
    "never_connected": "Check the network, HTTPS_PROXY and the rung's base_url.",
    "connection": "Check the network, HTTPS_PROXY and the rung's base_url.",
    "timeout": "Raise --noepi-time-limit, or lower the rung's max_output.",
    "malformed": "Does base_url name a server that speaks the Messages API, streamed?",
}


def _classify(error: Exception) -> tuple[str, bool]:
    """Return the kind of an error of the SDK or of the wire, and whether another try may help."""
    import anthropic
    import httpx2

    if isinstance(error, anthropic.APIStatusError):
        # In the middle of a stream the status is still 200, and only the error's own type tells.
        status = _BY_TYPE.get(str(error.type), error.status_code) if error.status_code < 400 else error.status_code
        unknown = ("server", True) if status >= 500 or status == 409 else ("bad_request", False)
        return _BY_STATUS.get(status, unknown)
    if isinstance(error, httpx2.ConnectError) or isinstance(error.__cause__, httpx2.ConnectError):
        return "never_connected", True
    if isinstance(error, anthropic.APITimeoutError | httpx2.TimeoutException):
        return "timeout", True
    if isinstance(error, anthropic.APIConnectionError | httpx2.HTTPError | BrokenOff | OSError):
        return "connection", True
    return ("auth" if _of_a_cloud(error) else "malformed"), False


def _of_a_cloud(error: Exception) -> bool:
    """Whether it comes from the libraries that find a cloud's credentials, or says that there are none."""
    library = type(error).__module__.partition(".")[0]
    return library in ("boto3", "botocore", "google") or (isinstance(error, RuntimeError) and "resolve" in str(error))


def _takes_forced_tool(model: str) -> bool:
    """Whether a model can be made to use a tool: Claude from generation 5 on thinks first and answers 400."""
    named = re.search(r"claude-[a-z]+-(\d+)", model)
    return named is None or int(named.group(1)) < 5


def _retry_after(error: Exception) -> float | None:
    headers = getattr(getattr(error, "response", None), "headers", None) or {}
    value, sent = headers.get("retry-after"), headers.get("date")
    if value is None:
        return None
    try:
        return max(0.0, float(value))
    except ValueError:
        pass
    try:  # an HTTP date: taken against the server's own clock, not ours
        return max(0.0, (parsedate_to_datetime(value) - parsedate_to_datetime(sent or "")).total_seconds())
    except (ValueError, TypeError):
        return None


def _short(error: Exception) -> str:
    text = getattr(error, "api_message", None) or str(error) or type(error).__name__
    return " ".join(str(text).split())[:300]


def _as_mapping(event: Any) -> Mapping[str, Any]:
    to_dict = getattr(event, "to_dict", None)
    found = to_dict(mode="json", warnings=False) if to_dict is not None else event
    if not isinstance(found, Mapping):
        raise ValueError(f"an event of the stream is no object: {found!r}")
    return found


def _cached(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text, "cache_control": {"type": "ephemeral"}}


def _blocks(question: Question) -> list[dict[str, Any]]:
    stable = [_cached(question.stable)] if question.stable else []
    return [*stable, {"type": "text", "text": question.prompt}]


def _tool(name: str, description: str, schema: Mapping[str, Any]) -> dict[str, Any]:
    return {"name": name, "description": description, "input_schema": dict(schema), "strict": True}


def _conversation(question: Question) -> Iterator[dict[str, Any]]:
    """Yield the turns so far: what the model said, and what its call came to; the last of them may be cached."""
    for turn in question.turns:
        yield {"role": "assistant", "content": [dict(block) for block in turn.said]}
        result: dict[str, Any] = {"type": "tool_result", "tool_use_id": turn.call, "content": turn.result}
        if turn is question.turns[-1]:
            result["cache_control"] = {"type": "ephemeral"}
        yield {"role": "user", "content": [result]}


def _bytes(value: object) -> int:
    text = json.dumps(value, ensure_ascii=False)
    return max(len(form.encode("utf-8", "surrogatepass")) for form in (text, unicodedata.normalize("NFKC", text)))
