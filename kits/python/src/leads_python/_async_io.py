"""The outside for `AsyncClient`: the event loop's own way with sockets, which every loop has."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Awaitable, Coroutine
from typing import Any, Callable, Optional, TypeVar

from ._io import Endpoint, TimedOut
from ._pool import Pool, Resolver

T = TypeVar("T")

_RECEIVE_BYTES = 65_536


class AsyncIo:
    """An `Io` of one call."""

    def __init__(self, pool: Pool, resolver: Resolver, sleep: Optional[Callable[[float], Awaitable[None]]]) -> None:
        self._pool = pool
        self._resolver = resolver
        self._sleep = sleep or asyncio.sleep
        self._loop = asyncio.get_running_loop()

    async def sleep(self, seconds: float) -> None:
        await self._sleep(seconds)

    async def take_turn(self, seconds: float) -> bool:
        rung: asyncio.Future[None] = self._loop.create_future()
        turn = self._pool.take_turn(self._ringing(rung))
        if turn.has_come:
            return True
        came = False
        try:
            await asyncio.wait({rung}, timeout=seconds)
            came = turn.has_come
            return came
        finally:
            if not came:
                self._pool.leave(turn)

    async def within(self, seconds: float, work: Coroutine[Any, Any, T]) -> T:
        # Not wait_for(): before Python 3.12 it may swallow a cancelling that comes together with the end of the work.
        task = self._loop.create_task(work)
        task.add_done_callback(_retrieved)
        try:
            await asyncio.wait({task}, timeout=seconds)
        finally:
            if not task.done():
                task.cancel()
                await asyncio.wait({task})
        if task.cancelled():
            raise TimedOut
        return task.result()

    async def look_up(self, host: str, port: int) -> list[Endpoint]:
        rung: asyncio.Future[None] = self._loop.create_future()
        lookup = self._resolver.look_up(host, port, self._ringing(rung))
        if not lookup.done:
            await rung
        if lookup.error is not None:
            raise OSError(lookup.error.errno, lookup.error.strerror)
        return lookup.found

    async def connect(self, endpoint: Endpoint) -> socket.socket:
        family, address = endpoint
        sock = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        try:
            sock.setblocking(False)
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            await self._loop.sock_connect(sock, address)
        except BaseException:
            sock.close()
            raise
        return sock

    async def send(self, sock: socket.socket, data: memoryview) -> int:
        # At once and not by the loop, which does not tell how much of it went out when it fails.
        try:
            return sock.send(data)
        except BlockingIOError:
            pass
        some = data[:_RECEIVE_BYTES]
        await self._loop.sock_sendall(sock, some)
        return len(some)

    async def receive(self, sock: socket.socket) -> bytes:
        return await self._loop.sock_recv(sock, _RECEIVE_BYTES)

    def _ringing(self, rung: asyncio.Future[None]) -> Callable[[], None]:
        def settle() -> None:
            if not rung.done():
                rung.set_result(None)

        def ring() -> None:
            self._loop.call_soon_threadsafe(settle)

        return ring


def _retrieved(task: asyncio.Task[Any]) -> None:
    # An error that nobody asked for, because the call was cancelled meanwhile, would be logged otherwise.
    if not task.cancelled():
        task.exception()
