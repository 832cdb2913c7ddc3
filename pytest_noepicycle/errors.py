"""What can go wrong, as a tree: each leaf knows what to do next and how the command should end."""

from __future__ import annotations


class NoepiError(Exception):
    """The root. ``str()`` says what happened; ``hint`` says what to do; ``exit_status`` ends the command."""

    exit_status = 1
    hint = ""

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(message)
        if hint is not None:
            self.hint = hint

    def sentence(self) -> str:
        """Return the message and the hint as one text for people."""
        return f"{self}\n  {self.hint}" if self.hint else str(self)


class UsageError(NoepiError):
    """The call itself is wrong: pytest ends with 4, ``noepi`` with 2."""

    exit_status = 2


class LadderError(UsageError):
    """A ladder that cannot be walked; the message names the key and, for a file, the line."""

    hint = "See the section 'Ladders' of the README, or run: noepi ladder show default"


class EngineUnavailable(UsageError):
    """Docker was asked for by name and no engine answers."""

    hint = "Start Docker, or choose --noepi-sandbox process (it prints what it does not protect)."


class SandboxError(NoepiError):
    """The sandbox could not be opened or was lost; nothing of the project was changed."""

    hint = "Run 'noepi check' to see what works on this machine."


class TreeLocked(NoepiError):
    """Another run holds this work tree."""

    hint = "Wait until it has ended, or end that process."


class TreeChanged(NoepiError):
    """A file is not as it was when the patch was made; nothing was written."""

    hint = "Commit or undo your change, or run the repair again on the tree as it is now."


class PatchError(NoepiError):
    """A patch that cannot be read or does not fit the tree."""


class RecordError(NoepiError):
    """A run's record is missing or cannot be read."""

    hint = "Runs lie in .noepi/runs; .noepi/last names the newest."


class ScoreError(NoepiError):
    """A scorer raised, or returned what is no score. ``result`` is the run so far, with its best."""

    hint = "score_fn takes the candidate as a string and returns a number from 0.0 to 1.0."
    result: object = None


class ProviderError(NoepiError):
    """A model's server could not answer.

    ``retryable`` says whether waiting may help, ``retry_after`` for how many seconds, where the server said so.
    """

    def __init__(
        self,
        message: str,
        *,
        kind: str,
        retryable: bool = False,
        retry_after: float | None = None,
        hint: str | None = None,
    ) -> None:
        super().__init__(message, hint=hint)
        self.kind = kind
        self.retryable = retryable
        self.retry_after = retry_after
