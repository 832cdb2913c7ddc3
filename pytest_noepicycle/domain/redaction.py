"""Secrets taken out of foreign text, by their forms and by their values, before it is shown, sent or written down."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

HIDDEN = "[redacted]"
_SHORTEST = 8  # characters; shorter values stand in ordinary text too often
_NAMES = re.compile(r"(KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIAL|AUTH)", re.IGNORECASE)
_FORMS = re.compile(
    r"""
      sk-[A-Za-z0-9_-]{16,}                                   # Anthropic, OpenAI and their like
    | (?:gh[pousr]_|github_pat_)[A-Za-z0-9_]{20,}             # GitHub
    | glpat-[A-Za-z0-9_-]{16,}                                # GitLab
    | (?:AKIA|ASIA)[A-Z0-9]{16}                               # AWS
    | xox[abeoprs]-[A-Za-z0-9-]{10,}                          # Slack
    | pypi-[A-Za-z0-9_-]{16,} | npm_[A-Za-z0-9]{30,} | hf_[A-Za-z0-9]{30,} | AIza[A-Za-z0-9_-]{30,}
    | eyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]+   # a JSON web token
    | -----BEGIN[ ][A-Z ]*PRIVATE[ ]KEY-----.*?(?:-----END[ ][A-Z ]*PRIVATE[ ]KEY-----|\Z)
    | (?<=://)[^/\s:@]+:[^/\s@]+(?=@)                         # user and password in an address
    """,
    re.VERBOSE | re.DOTALL,
)


def redacted(text: str, values: Iterable[str] = ()) -> str:
    """Return the text without what has the form of a secret, and without the given values."""
    for value in sorted({value for value in values if len(value) >= _SHORTEST}, key=len, reverse=True):
        text = text.replace(value, HIDDEN)
    return _FORMS.sub(HIDDEN, text)


def secrets_in(environment: Mapping[str, str]) -> tuple[str, ...]:
    """Return the values of the variables whose names say that they are secret."""
    return tuple(value for name, value in environment.items() if _NAMES.search(name) and len(value) >= _SHORTEST)
