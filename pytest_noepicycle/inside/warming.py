"""What a worker imports before it meets the project, so that no child has to: pytest, its plugins, what they need."""

from __future__ import annotations

import gc
import importlib
import importlib.metadata
import os
import re
import sys
import threading
import traceback
from typing import Any, Dict, Iterable, Iterator, Tuple

_EARLY = """
    pytest _pytest.config unittest unittest.mock doctest pdb difflib decimal asyncio concurrent.futures queue
    faulthandler multiprocessing xml.etree.ElementTree importlib.resources email.message json logging pprint
"""
_OURS = "pytest-noepicycle"


def preload(setup: Dict[str, Any]) -> bool:
    """Import pytest from outside the tree; False where every trial must start cold.

    That is so where the project is pytest itself or something that pytest needs, and where an import has started a
    thread, which a fork would leave behind in the middle of its work.
    """
    outside = _Outside(setup["root"], setup["keep"])
    before = list(sys.path)
    sys.path += [path for path in setup["sys_path"] if path not in before and outside.holds(path)]
    try:
        for name in _EARLY.split():
            importlib.import_module(name)
        for name in sys.modules["_pytest.config"].default_plugins:
            importlib.import_module("_pytest." + name)
        importlib.import_module(".child", __package__)
        _preload_plugins(setup["plugins"])
    except ImportError:
        return False
    finally:
        sys.path[:] = before
    gc.collect()
    gc.freeze()
    return threading.active_count() == 1 and all(outside.has_module(module) for module in list(sys.modules.values()))


class _Outside:
    """What does not belong to the tree: all that lies outside it, or in a part of it that is mounted."""

    def __init__(self, root: str, keep: Iterable[str]) -> None:
        self._root = root + os.sep
        self._keep = tuple(path + os.sep for path in keep)

    def holds(self, path: str) -> bool:
        """Whether a path lies outside; an empty one is the folder of the call."""
        path = os.path.abspath(path) + os.sep if path else self._root
        return not path.startswith(self._root) or path.startswith(self._keep)

    def has_module(self, module: Any) -> bool:
        """Whether a module's file, if it has one, lies outside."""
        file = getattr(module, "__file__", None)
        return not isinstance(file, str) or self.holds(file)


def _preload_plugins(distributions: Iterable[str]) -> None:
    """Import the plugins that were active, with their assertions rewritten as pytest itself would do it.

    Pytest is asked through names that are its own affair: where they have changed, a child imports them instead.
    """
    modules = list(_plugin_modules({_plain(name) for name in distributions}))
    if not modules:
        return
    try:
        from _pytest.assertion import install_importhook
        from _pytest.config import get_config

        hook = install_importhook(get_config([]))
        try:
            for package, module in modules:
                hook.mark_rewrite(package)
                importlib.import_module(module)
        finally:
            sys.meta_path.remove(hook)
    except Exception:  # noqa: BLE001 - a plugin's own code runs here; its failure belongs to the trial, where it shows
        traceback.print_exc()


def _plugin_modules(wanted: Iterable[str]) -> Iterator[Tuple[str, str]]:
    """Yield the package and the module of each wanted distribution's pytest plugins."""
    for distribution in importlib.metadata.distributions():
        name = _plain(distribution.metadata["Name"] or "")
        if name in wanted and name != _OURS:
            for entry in distribution.entry_points:
                if entry.group == "pytest11":
                    module = entry.value.partition(":")[0].strip()
                    yield module.partition(".")[0], module


def _plain(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()
