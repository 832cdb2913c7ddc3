"""What an inner loop handed in: its candidate, and what the messages say that it took."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pytest_noepicycle.domain.budget import Usage

_FENCED = re.compile(r"\s*```[^\n`]*\n(?P<body>.*?)\n?```\s*", re.DOTALL)


class NotACandidate(Exception):
    """Nothing that could be scored; the message continues the words "inner_loop"."""


@dataclass(frozen=True, slots=True)
class HandedIn:
    """A candidate; ``usages`` are what it took by its own figures, each with the id of its message (or empty)."""

    text: str
    usages: tuple[tuple[str, Usage], ...] = ()
    note: str = ""


def from_callable(answer: object) -> HandedIn:
    """Read the answer of a plain callable: the candidate, or ``(candidate, tokens)``.

    :raises NotACandidate: where it is neither.
    """
    if isinstance(answer, str):
        return HandedIn(answer)
    if isinstance(answer, tuple) and len(answer) == 2 and isinstance(answer[0], str):
        text, tokens = answer
        if isinstance(tokens, int) and not isinstance(tokens, bool) and tokens >= 0:
            # One figure for all kinds is booked as output, the dearest of them.
            return HandedIn(text, (("", Usage(output=tokens)),))
        raise NotACandidate(f"returned {tokens!r} as its tokens; that must be a whole number from 0")
    if _messages(answer) is not None or hasattr(answer, "content"):
        return from_runnable(answer)
    raise NotACandidate(f"returned {type(answer).__name__}; a candidate is a string, or (string, tokens)")


def from_runnable(answer: object) -> HandedIn:
    """Read the answer of a LangGraph runnable: the last message is the candidate, usage is that of all of them.

    :raises NotACandidate: where there is no message with text.
    """
    if isinstance(answer, str):
        return HandedIn(_unfenced(answer))
    messages = _messages(answer)
    if messages is None and hasattr(answer, "content"):
        messages = [answer]
    if not messages:
        raise NotACandidate(f"returned {type(answer).__name__} without messages; its last message is the candidate")
    text = _text(_value(messages[-1], "content"))
    if not text.strip():
        raise NotACandidate("ended with a message that has no text; its last message is the candidate")
    found = [(str(_value(one, "id") or ""), _usage(_value(one, "usage_metadata"))) for one in messages if _is_ai(one)]
    return HandedIn(_unfenced(text), tuple((key, usage) for key, usage in found if usage is not None))


def _messages(answer: object) -> Sequence[Any] | None:
    found = answer.get("messages") if isinstance(answer, Mapping) else getattr(answer, "messages", None)
    return found if isinstance(found, Sequence) and not isinstance(found, str) else None


def _value(message: object, name: str) -> Any:
    return message.get(name) if isinstance(message, Mapping) else getattr(message, name, None)


def _is_ai(message: object) -> bool:
    kind = str(_value(message, "type") or _value(message, "role") or "")
    return kind.lower() in ("ai", "assistant", "aimessagechunk")


def _text(content: object) -> str:
    """Return a message's text; of content in blocks, that of the text blocks."""
    if isinstance(content, str):
        return content
    if not isinstance(content, Sequence):
        return ""
    blocks = [block if isinstance(block, str) else _value(block, "text") for block in content]
    return "".join(block for block in blocks if isinstance(block, str))


def _usage(data: object) -> Usage | None:
    """Return usage metadata as LangChain has it, where ``input_tokens`` holds what came from and went to the cache."""
    if not isinstance(data, Mapping):
        return None
    details = data.get("input_token_details")
    details = details if isinstance(details, Mapping) else {}
    read, write = _count(details.get("cache_read")), _count(details.get("cache_creation"))
    plain = max(0, _count(data.get("input_tokens")) - read - write)
    usage = Usage(plain, _count(data.get("output_tokens")), read, write)
    unnamed = max(0, _count(data.get("total_tokens")) - usage.total)
    return usage + Usage(output=unnamed)


def _count(value: object) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0


def _unfenced(text: str) -> str:
    """Return a message that is one fenced block without its fence; any other text as it is."""
    fenced = _FENCED.fullmatch(text)
    return fenced["body"] if fenced and "```" not in fenced["body"] else text
