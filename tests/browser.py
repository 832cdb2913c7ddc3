"""A headless browser for pages that were made here: what it complains of, what it asks for, what axe finds."""

from __future__ import annotations

import html
import json
import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
AXE = os.environ.get("AXE_CORE")
"""The path of axe.min.js, where there is one (``npm pack axe-core``)."""

_QUIET = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-extensions",
    "--hide-scrollbars",
    "--enable-logging=stderr",
    "--proxy-server=127.0.0.1:9",  # whatever is asked for, nothing is answered
)
_ITS_OWN = re.compile(r"https?://[\w.-]+\.(google|googleapis)\.com/")  # what the browser asks for by itself
_CSP = re.compile(r'<meta http-equiv="Content-Security-Policy"[^>]*>')


@dataclass(frozen=True)
class Opened:
    """What came of opening a page: its document, what the console said, and the addresses that were asked for."""

    document: str
    console: tuple[str, ...]
    asked: tuple[str, ...]


def opened(page: Path, scratch: Path, *, dark: bool = False, seconds: float = 120) -> Opened:
    """Open a page in a browser of its own, and wait until it is loaded."""
    log = scratch / "net.json"
    words = [str(CHROMIUM), *_QUIET, f"--user-data-dir={scratch / 'profile'}", f"--log-net-log={log}"]
    words += ["--force-dark-mode"] if dark else []
    words += ["--virtual-time-budget=60000", "--dump-dom", page.as_uri()]
    done = subprocess.run(words, capture_output=True, timeout=seconds, check=False)
    console = [line for line in done.stderr.decode("utf-8", "replace").splitlines() if "CONSOLE" in line]
    asked = re.findall(r'"url":\s*"([^"]*)"', log.read_text("utf-8", "replace")) if log.exists() else []
    return Opened(
        done.stdout.decode("utf-8", "replace"),
        tuple(console),
        tuple(url for url in dict.fromkeys(asked) if not _ITS_OWN.match(url)),
    )


def opened_together(pages: Mapping[str, str], scratch: Path) -> tuple[dict[str, str], Opened]:
    """Open pages in the frames of one browser, and return the heading that each of them shows, and what came of it."""
    driver = scratch / "together.html"
    data = json.dumps(pages).replace("<", "\\u003c")
    driver.write_text(_TOGETHER.replace("DATA", data), "utf-8")
    seen = opened(driver, scratch)
    told = re.search(r'<pre id="told">(.*?)</pre>', seen.document, re.DOTALL)
    assert told, "the browser said nothing"
    return json.loads(html.unescape(told[1])), seen


def violations(pages: Mapping[str, str], scratch: Path, *, dark: bool = False) -> dict[str, list[Any]]:
    """Return what axe finds in each page, all of them looked at in one browser, with everything unfolded."""
    axe = Path(str(AXE)).read_text("utf-8")
    frames = {name: _CSP.sub("", page).replace("<details", "<details open") for name, page in pages.items()}
    driver = scratch / "axe.html"
    data = json.dumps({"axe": axe, "pages": frames}).replace("<", "\\u003c")
    driver.write_text(_DRIVER.replace("DATA", data), "utf-8")
    told = re.search(r'<pre id="told">(.*?)</pre>', opened(driver, scratch, dark=dark, seconds=300).document, re.DOTALL)
    assert told, "axe said nothing"
    return json.loads(told[1].replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&"))


_TOGETHER = """<!doctype html><meta charset="utf-8"><title>together</title><body><script>
(async () => {
  const told = {};
  for (const [name, page] of Object.entries(DATA)) {
    const frame = document.createElement("iframe");
    const loaded = new Promise(resolve => { frame.onload = resolve; });
    frame.srcdoc = page;
    document.body.append(frame);
    await loaded;
    told[name] = (frame.contentDocument.querySelector("h1") || {textContent: ""}).textContent;
  }
  const pre = document.createElement("pre");
  pre.id = "told"; pre.textContent = JSON.stringify(told);
  document.body.append(pre);
})();
</script>"""
_DRIVER = """<!doctype html><meta charset="utf-8"><title>axe</title><body><script>
const data = DATA;
async function look(page) {
  const frame = document.createElement("iframe");
  frame.width = 1100; frame.height = 900; frame.srcdoc = page;
  const loaded = new Promise(resolve => { frame.onload = resolve; });
  document.body.append(frame);
  await loaded;
  const script = frame.contentDocument.createElement("script");
  script.textContent = data.axe;
  frame.contentDocument.head.append(script);
  const found = await frame.contentWindow.axe.run(frame.contentDocument);
  frame.remove();
  const told = node => node.html.slice(0, 200) + " " + node.failureSummary;
  return found.violations.map(one => [one.id, one.nodes.slice(0, 3).map(told)]);
}
(async () => {
  const told = {};
  for (const [name, page] of Object.entries(data.pages)) {
    try { told[name] = await look(page); } catch (error) { told[name] = [["broken", [String(error)]]]; }
  }
  const pre = document.createElement("pre");
  pre.id = "told"; pre.textContent = JSON.stringify(told);
  document.body.append(pre);
})();
</script>"""
