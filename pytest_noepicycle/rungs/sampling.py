"""Several answers to one question at once: each in a thread of its own, none waited for after Ctrl-C."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterator
from typing import TypeVar

T = TypeVar("T")


def side_by_side(ask: Callable[[], T], count: int) -> Iterator[T]:
    """Yield what ``count`` calls return, in the order in which they end.

    One call is made in this very thread. Of several, those that fail are passed over as long as one succeeds; where
    none does, the first failure is raised.
    """
    if count == 1:
        yield ask()
        return
    done: queue.SimpleQueue[tuple[T | None, BaseException | None]] = queue.SimpleQueue()
    for _ in range(count):
        # Daemons: an interrupted run must not wait until a server has answered questions that nobody asks any more.
        threading.Thread(target=_into, args=(done, ask), name="noepi-sample", daemon=True).start()
    failed: list[BaseException] = []
    succeeded = 0
    for _ in range(count):
        result, error = done.get()
        if error is not None:
            failed.append(error)
        else:
            succeeded += 1
            yield result  # type: ignore[misc]
    if failed and not succeeded:
        raise failed[0]


def _into(done: queue.SimpleQueue[tuple[T | None, BaseException | None]], ask: Callable[[], T]) -> None:
    try:
        done.put((ask(), None))
    except BaseException as error:  # noqa: BLE001 - it is raised where the answers are read
        done.put((None, error))
