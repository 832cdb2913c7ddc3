"""The relay: takes connections at a box's loopback and pipes each to the same port of this machine's own."""

from __future__ import annotations

import asyncio
import socket
import struct
import threading
from collections.abc import Coroutine, Sequence
from typing import Any

ADDRESSES = ((socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1"))
_CHUNK = 64 * 1024
_BREATH = 0.05  # seconds to wait where this process may open no more files
_END_SECONDS = 30.0
_MOST_WAITING = 256


class Relay:
    """One thread that serves ``listeners``, which are the relay's from here on; ``most`` connections at once.

    Further ones wait until one of these has ended. Nothing is kept but one chunk for each direction.
    """

    def __init__(self, listeners: Sequence[socket.socket], most: int) -> None:
        self._listeners, self._slots = tuple(listeners), asyncio.Semaphore(most)
        self._guards: set[asyncio.Task[None]] = set()
        self._connections: set[asyncio.Task[None]] = set()
        self._lock, self._closed = threading.Lock(), False
        for listener in self._listeners:
            listener.setblocking(False)
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="noepi-services", daemon=True)
        self._thread.start()
        self._do(self._begin())

    def cut(self) -> None:
        """End every connection, those that wait included: what comes after a trial meets none of its own."""
        with self._lock:
            if not self._closed:
                self._do(self._renew())

    def close(self) -> None:
        """End all connections, stop listening, and leave no thread and no socket; may be called twice."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
            try:
                self._do(self._stop())
            finally:
                self._loop.call_soon_threadsafe(self._loop.stop)
                self._thread.join(_END_SECONDS)
                for listener in self._listeners:
                    listener.close()
            self._loop.close()

    def _do(self, what: Coroutine[Any, Any, None]) -> None:
        asyncio.run_coroutine_threadsafe(what, self._loop).result(_END_SECONDS)

    async def _begin(self) -> None:
        self._guards = {asyncio.ensure_future(self._guard(listener)) for listener in self._listeners}

    async def _renew(self) -> None:
        await self._stop()
        for listener in self._listeners:
            _send_away(listener)
        await self._begin()

    async def _stop(self) -> None:
        for tasks in (self._guards, self._connections):
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _guard(self, listener: socket.socket) -> None:
        """Take one connection after the other, never more than there is room for."""
        port = listener.getsockname()[1]
        while True:
            await self._readable(listener)
            await self._slots.acquire()
            try:
                client, _ = listener.accept()
            except OSError:  # it has gone again, or no more files may be opened: it is asked for anew
                self._slots.release()
                await asyncio.sleep(_BREATH)
                continue
            self._take(client, port)

    def _take(self, client: socket.socket, port: int) -> None:
        task = self._loop.create_task(self._join(client, port))
        self._connections.add(task)
        task.add_done_callback(lambda done: self._let_go(done, client))

    def _let_go(self, done: asyncio.Task[None], client: socket.socket) -> None:
        client.close()  # here, because a task that is cancelled at once never runs
        self._connections.discard(done)
        self._slots.release()

    async def _join(self, client: socket.socket, port: int) -> None:
        try:
            client.setblocking(False)
            service = await self._reach(port)
        except OSError:
            _break_off(client)  # seen in the box as a connection that is reset
            return
        with service:
            await self._pipe(client, service)

    async def _reach(self, port: int) -> socket.socket:
        """Connect to the service on this machine.

        :raises OSError: where it does not answer.
        """
        for family, host in ADDRESSES:
            service = socket.socket(family, socket.SOCK_STREAM)
            try:
                service.setblocking(False)
                await self._loop.sock_connect(service, (host, port))
            except OSError:
                service.close()
            except BaseException:
                service.close()
                raise
            else:
                return service
        raise ConnectionRefusedError(f"nothing answers at port {port}")

    async def _pipe(self, client: socket.socket, service: socket.socket) -> None:
        for end in (client, service):
            end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        try:
            async with asyncio.TaskGroup() as both:
                both.create_task(self._pump(client, service))
                both.create_task(self._pump(service, client))
        except* OSError:
            for end in (client, service):
                _break_off(end)  # what one end did to the other, the other is to see

    async def _pump(self, source: socket.socket, target: socket.socket) -> None:
        while data := await self._loop.sock_recv(source, _CHUNK):
            await self._loop.sock_sendall(target, data)
        target.shutdown(socket.SHUT_WR)

    async def _readable(self, listener: socket.socket) -> None:
        ready: asyncio.Future[None] = self._loop.create_future()
        self._loop.add_reader(listener, _tell, ready)
        try:
            await ready
        finally:
            self._loop.remove_reader(listener)


def _tell(ready: asyncio.Future[None]) -> None:
    if not ready.done():
        ready.set_result(None)


def _send_away(listener: socket.socket) -> None:
    """Close the connections that wait; whoever made them is gone, so no more come."""
    for _ in range(_MOST_WAITING):
        try:
            listener.accept()[0].close()
        except ConnectionAbortedError:
            continue
        except OSError:  # none is left; or no more files may be opened, and they end as those of a trial do
            return


def _break_off(end: socket.socket) -> None:
    """Close so that the other side hears of it as a fault, not as an end."""
    end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    end.close()
