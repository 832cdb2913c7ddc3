"""Which files may leave the machine at all: by their names, and by what the project says."""

from __future__ import annotations

import fnmatch
from collections.abc import Iterable
from pathlib import PurePosixPath

from pytest_noepicycle.domain.territory import matches

NEVER_SENT = (
    ".env*", "*.env", "*.pem", "*.key", "*.p12", "*.pfx", "*.jks", "id_rsa*", "id_dsa*", "id_ecdsa*", "id_ed25519*",
    ".netrc", ".pypirc", ".npmrc", ".git-credentials", "credentials*", "secrets.*", "secret_*", "*.kdbx",
)  # fmt: skip


def may_send(path: str, never_send: Iterable[str] = ()) -> bool:
    """Whether a file may leave the machine at all.

    Nothing does that by its name holds a secret, or that fits a pattern of ``never_send``: by its path, by its name
    alone, or as a folder above it.
    """
    name = PurePosixPath(path).name
    if any(fnmatch.fnmatchcase(name.lower(), pattern) for pattern in NEVER_SENT):
        return False
    patterns = tuple(never_send)
    return not (matches(path, patterns) or matches(name, patterns))
