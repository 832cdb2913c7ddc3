"""Awaitables of the caller's, waited for from a thread that has no event loop."""

from __future__ import annotations

import asyncio
import concurrent.futures
import threading
from collections.abc import Awaitable
from types import TracebackType
from typing import Any

_PATIENCE = 10.0


class Waiting:
    """Runs awaitables on the caller's loop, or on one of its own that lasts as long as the run.

    All of a run's awaitables see the same loop, so that what belongs to it (a client's connections) stays usable.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop | None = None) -> None:
        self._loop = loop
        self._own: _Loop | None = None
        self._pending: concurrent.futures.Future[Any] | None = None
        self.cancelled = False

    @property
    def given(self) -> bool:
        """Whether the caller has an event loop of its own."""
        return self._own is None and self._loop is not None

    def __enter__(self) -> Waiting:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._own is not None:
            self._own.close()

    def __call__(self, awaitable: Awaitable[Any], seconds: float | None = None) -> Any:
        """Wait and return the result.

        :raises TimeoutError: after ``seconds``; the awaitable is cancelled then.
        :raises KeyboardInterrupt: where the run was cancelled, which ends it like an interrupted one.
        """
        if self._loop is None:
            self._own = _Loop()
            self._loop = self._own.loop
        future = asyncio.run_coroutine_threadsafe(_coroutine(awaitable), self._loop)
        self._pending = future
        if self.cancelled:  # asked after it is known to cancel(), so that one of the two sees the other
            future.cancel()
        try:
            return future.result(seconds)
        except concurrent.futures.CancelledError as error:
            if self.cancelled:
                raise KeyboardInterrupt from None
            raise RuntimeError("it was cancelled by code of its own") from error
        except BaseException:
            future.cancel()
            raise
        finally:
            self._pending = None

    def cancel(self) -> None:
        """Cancel what is waited for, and have the run end at its next decision."""
        self.cancelled = True
        if self._pending is not None:
            self._pending.cancel()


class _Loop:
    """An event loop in a thread of its own."""

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, name="noepi-loop", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Cancel what still runs and end the thread."""
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join(_PATIENCE)

    def _run(self) -> None:
        asyncio.set_event_loop(self.loop)
        try:
            self.loop.run_forever()
            left = asyncio.all_tasks(self.loop)
            for task in left:
                task.cancel()
            self.loop.run_until_complete(asyncio.gather(*left, return_exceptions=True))
            self.loop.run_until_complete(self.loop.shutdown_asyncgens())
        finally:
            self.loop.close()


async def _coroutine(awaitable: Awaitable[Any]) -> Any:
    return await awaitable
