"""An MCP server on standard input and output: coding assistants may mend, prove, read and apply, and nothing else.

Each tool is one command of ``noepi`` in a process of its own, so that an assistant gets what a person would get.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import json
import os
import signal
import sys
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any, Literal, TypeVar

from pytest_noepicycle.errors import NoepiError, UsageError

T = TypeVar("T")
_INSTRUCTIONS = (
    "Mends failing pytest suites and proves patches. Call fix to find a proven patch for failing tests (free unless a "
    "budget is given), report to read what was found, apply to write it into the files. Call verify to have any patch "
    "proved or refuted, your own included, before you call it done. project is the absolute path of the folder in "
    "which pytest is run."
)
_GRACE = 120.0  # seconds beyond a run's own limit, for the ordinary test run and the proof


def serve() -> None:
    """Answer an assistant until it hangs up.

    :raises NoepiError: where the MCP SDK is not installed.
    """
    try:
        from mcp.server import MCPServer
    except ImportError as error:
        hint = "pip install 'pytest-noepicycle[mcp]'"
        raise NoepiError("the MCP SDK is not installed in this environment", hint=hint) from error
    server = MCPServer("noepi", instructions=_INSTRUCTIONS)
    tools: tuple[Callable[..., Any], ...] = (fix, verify, report, apply)
    for tool in tools:
        server.tool()(_saying_why(tool))
    server.run("stdio")


def _saying_why(tool: Callable[..., Awaitable[T]]) -> Callable[..., Awaitable[T]]:
    """Let an assistant read why a call was refused: of any other error the SDK passes on no word."""
    from mcp.server.mcpserver.exceptions import ToolError

    @functools.wraps(tool)
    async def called(*arguments: Any, **named: Any) -> T:
        try:
            return await tool(*arguments, **named)
        except NoepiError as error:
            raise ToolError(error.sentence()) from error

    return called


async def fix(
    project: str,
    pytest_args: list[str] | None = None,
    budget_tokens: int = 0,
    ladder: str = "default",
    time_limit_seconds: float = 600.0,
    python: str | None = None,
) -> dict[str, Any]:
    """Run a project's tests and look for a proven fix of what fails; no file is changed (see apply).

    Without budget_tokens only the local search is used, which costs nothing and sends nothing anywhere. python is the
    interpreter in which the tests run (the server's own, if it is left out). Returns the result with its run_id.
    """
    words = ["fix", "--json", "--apply", "never", "--time-limit", str(time_limit_seconds)]
    words += ["--budget", str(budget_tokens), "--ladder", ladder if budget_tokens else "offline"]
    words += ["--python", python] if python else []
    return await _document(project, [*words, "--", *(pytest_args or [])], time_limit_seconds + _GRACE)


async def verify(
    project: str,
    diff: str | None = None,
    base: str | None = None,
    pytest_args: list[str] | None = None,
    time_limit_seconds: float = 600.0,
    python: str | None = None,
) -> dict[str, Any]:
    """Prove or refute a patch: a unified diff, or, without one, the work tree against the revision base.

    Tests that the patch changes are named and not used: the base's tests judge. The verdict is proved, partial,
    refuted or nothing_to_prove, with the evidence for it.
    """
    words = ["verify", "--json", "--time-limit", str(time_limit_seconds)]
    words += ["-"] if diff is not None else []
    words += ["--base", base] if base else []
    words += ["--python", python] if python else []
    return await _document(project, [*words, "--", *(pytest_args or [])], time_limit_seconds + _GRACE, diff)


async def report(project: str, run: str | None = None, form: Literal["md", "json"] = "md") -> dict[str, Any]:
    """Read a run's report, the newest if none is named: what failed, what would change, what proves it."""
    if form == "json":
        return await _document(project, ["report", "--json", *([run] if run else [])], _GRACE)
    _, text, said = await _noepi(project, ["report", *([run] if run else [])], _GRACE, None)
    return {"report": text or said}


async def apply(project: str, run: str | None = None) -> dict[str, Any]:
    """Write the proven patch of a run into the project's files; refused where one has changed since."""
    return await _document(project, ["apply", "--json", *([run] if run else [])], _GRACE)


async def _document(project: str, words: Sequence[str], seconds: float, given: str | None = None) -> dict[str, Any]:
    """Run a command that prints JSON, and return it with its exit status."""
    status, text, said = await _noepi(project, words, seconds, given)
    try:
        return {"exit_status": status, **json.loads(text)}
    except ValueError:
        return {"exit_status": status, "error": said.strip()[-2000:] or "noepi printed no result"}


async def _noepi(project: str, words: Sequence[str], seconds: float, given: str | None) -> tuple[int, str, str]:
    """Run a command in a project; return its status, its output and its messages. Nothing of it outlives its time."""
    if not Path(project).is_dir():
        raise UsageError(f"{project!r} is not a folder", hint="project is the absolute path in which pytest is run.")
    before = newest(project)
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-P", "-m", "pytest_noepicycle.cli", *words),
        cwd=project,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        start_new_session=True,
    )
    try:
        out, err = await asyncio.wait_for(process.communicate((given or "").encode()), seconds)
    except BaseException as error:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGTERM)  # taken for Ctrl-C: its record is written, its boxes are closed
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(process.wait(), 30)
        if process.returncode is None:
            os.killpg(process.pid, signal.SIGKILL)
        if isinstance(error, TimeoutError):
            raise too_long(words[0], seconds, before, newest(project)) from None
        raise
    return process.returncode or 0, out.decode("utf-8", "replace"), err.decode("utf-8", "replace")


def newest(project: str) -> Path | None:
    """Return the folder of the newest run that is recorded in a project or above it, where one is."""
    for folder in (Path(project), *Path(project).absolute().parents):
        last = folder / ".noepi" / "last"
        if last.is_file():
            return folder / ".noepi" / "runs" / last.read_text("utf-8", "replace").strip()
    return None


def too_long(command: str, seconds: float, before: Path | None, after: Path | None) -> NoepiError:
    """Return the error of a call that took too long; it names the run that the call had begun, if it had."""
    begun = after is not None and after != before
    found = f"what it had found until then is recorded in {after}" if begun else "it had recorded nothing yet"
    hint = "Give it more with time_limit_seconds, or select fewer tests with pytest_args."
    return NoepiError(f"noepi {command} was ended after {seconds:g} seconds; {found}", hint=hint)
