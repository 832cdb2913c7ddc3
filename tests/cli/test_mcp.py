"""A coding assistant drives noepi through the MCP SDK's own client: mend, read, apply, verify."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from typing import Any

import pytest
from mending import RIGHT, TOTAL, WRONG, checks_of

from pytest_noepicycle.adapters import mcp_server
from pytest_noepicycle.errors import NoepiError

pytestmark = pytest.mark.slow

pytest.importorskip("mcp", reason="needs the MCP SDK: pip install 'pytest-noepicycle[mcp]'; CI has it")

INI = "[pytest]\naddopts = -p no:langsmith_plugin -p no:anyio\nnoepi_reruns = 1\n"


def talk(conversation: Any) -> Any:
    """Start the server, let a client talk to it, and return what the conversation returned."""
    from mcp import Client, StdioServerParameters, stdio_client

    async def through() -> Any:
        command = StdioServerParameters(
            command=sys.executable, args=["-m", "pytest_noepicycle.cli", "mcp"], env=dict(os.environ)
        )
        async with Client(stdio_client(command)) as client:
            return await conversation(client)

    return asyncio.run(asyncio.wait_for(through(), 300))


def test_an_assistant_mends_reads_and_applies(story):
    """Nothing is written before it says so, and without a budget no model is asked."""
    place = story({"pytest.ini": INI, "bread.py": TOTAL, "test_bread.py": checks_of("bread")})
    project = str(place.project)

    async def conversation(client: Any) -> Any:
        names = sorted(tool.name for tool in (await client.list_tools()).tools)
        fixed = (await client.call_tool("fix", {"project": project})).structured_content
        between = place.read("bread.py")
        told = (await client.call_tool("report", {"project": project})).structured_content
        applied = (await client.call_tool("apply", {"project": project})).structured_content
        return names, fixed, between, told, applied

    names, fixed, between, told, applied = talk(conversation)
    assert names == ["apply", "fix", "report", "verify"]
    assert fixed["solved"], fixed
    assert fixed["tokens"]["spent"] == 0
    assert WRONG in between
    assert RIGHT in told["report"]
    assert applied["applied"] == ["bread.py"]
    assert RIGHT in place.read("bread.py")


def test_an_assistant_has_its_own_patch_proved_or_refuted(story):
    """A right patch is proved; a wrong one is refuted, and a folder that is none is said."""
    place = story({"pytest.ini": INI, "bread.py": TOTAL, "test_bread.py": checks_of("bread")})
    project = str(place.project)

    def diff(new: str) -> str:
        old = place.read("bread.py")
        (place.project / "new.py").write_text(old.replace(WRONG, new))
        words = ["diff", "-u", "--label", "a/bread.py", "--label", "b/bread.py", "bread.py", "new.py"]
        made = subprocess.run(words, cwd=place.project, capture_output=True, text=True, check=False).stdout
        (place.project / "new.py").unlink()
        return made

    async def conversation(client: Any) -> Any:
        good = (await client.call_tool("verify", {"project": project, "diff": diff(RIGHT)})).structured_content
        bad = (await client.call_tool("verify", {"project": project, "diff": diff("15")})).structured_content
        nowhere = await client.call_tool("fix", {"project": project + "/none"})
        return good, bad, nowhere

    good, bad, nowhere = talk(conversation)
    assert (good["verdict"], good["exit_status"]) == ("proved", 0), good
    assert (bad["verdict"], bad["exit_status"]) == ("refuted", 1), bad
    assert nowhere.is_error
    assert "is not a folder" in str(nowhere.content)


def test_a_call_that_takes_too_long_is_a_sentence(story, monkeypatch):
    """The assistant is told what was ended and where the record lies, or that there is none yet."""
    place = story({"pytest.ini": INI, "test_slow.py": "import time\n\n\ndef test_slow():\n    time.sleep(300)\n"})
    monkeypatch.setattr(mcp_server, "_GRACE", 0.0)
    with pytest.raises(NoepiError, match=r"noepi fix was ended after 3 seconds; it had recorded nothing yet"):
        asyncio.run(mcp_server.fix(str(place.project), time_limit_seconds=3.0))


def test_a_run_that_had_begun_is_named_with_its_folder(tmp_path):
    """The newest record counts only where it was not there before the call."""
    (tmp_path / ".noepi").mkdir()
    assert mcp_server.newest(str(tmp_path / "pkg")) is None
    (tmp_path / ".noepi/last").write_text("20260101-000000-abcd\n")
    run = mcp_server.newest(str(tmp_path / "pkg"))
    assert run == tmp_path / ".noepi/runs/20260101-000000-abcd"
    assert f"recorded in {run}" in str(mcp_server.too_long("fix", 9.0, None, run))
    assert "recorded nothing yet" in str(mcp_server.too_long("fix", 9.0, run, run))
