"""The outside for `Client`: sockets that are waited for with a deadline, and with a bell for cancelling."""

from __future__ import annotations

import errno
import math
import os
import select
import socket
import threading
import time
from collections.abc import Coroutine
from typing import Any, Callable, Optional, Protocol, TypeVar

from ._io import Endpoint, TimedOut
from ._pool import Pool, Resolver
from .cancellation import Cancellation

T = TypeVar("T")

_RECEIVE_BYTES = 65_536
_PAUSE_SECONDS_MAX = 1.0
"""Of one wait of the platform; what is longer is waited for in several.

A signal that comes just before the platform begins to wait does not wake it, and Python runs the signal's handler (of
Ctrl-C, or one that cancels) only after the wait.
"""

_CONNECTING = (0, errno.EINPROGRESS, errno.EWOULDBLOCK, errno.EINTR)


class Interrupted(Exception):
    """The call's `Cancellation` was cancelled."""


def finish(work: Coroutine[Any, Any, T]) -> T:
    """Runs a coroutine that never suspends, because all it waits for are the methods of a `BlockingIo`."""
    try:
        work.send(None)
    except StopIteration as stop:
        value: T = stop.value
        return value
    work.close()
    raise RuntimeError("A call suspended where nothing can resume it")


class _Bell(Protocol):
    """Wakes the thread of a call out of a wait."""

    def ring(self) -> None: ...

    def mute(self) -> None:
        """Forgets that it rang."""

    def wait(self, seconds: float) -> None:
        """Until it rings."""

    def close(self) -> None: ...


class _EventBell:
    def __init__(self) -> None:
        self._event = threading.Event()
        self.ring = self._event.set
        self.mute = self._event.clear

    def wait(self, seconds: float) -> None:
        self._event.wait(seconds)

    def close(self) -> None:
        return None


class _SocketBell:
    """A bell that can be waited for together with a connection, and that a signal handler may ring."""

    def __init__(self) -> None:
        self.hears, self._rings = socket.socketpair()
        self.hears.setblocking(False)
        self._rings.setblocking(False)

    def ring(self) -> None:
        try:
            self._rings.send(b"!")
        except OSError:
            # It is full of rings that nobody has heard yet, or closed because the call is over.
            return

    def mute(self) -> None:
        try:
            while self.hears.recv(4_096):
                pass
        except BlockingIOError:
            return

    def wait(self, seconds: float) -> None:
        _wait([(self.hears, False)], seconds)

    def close(self) -> None:
        self.hears.close()
        self._rings.close()


class BlockingIo:
    """An `Io` of one call."""

    def __init__(
        self,
        pool: Pool,
        resolver: Resolver,
        sleep: Optional[Callable[[float], None]],
        cancellation: Optional[Cancellation],
    ) -> None:
        self._pool = pool
        self._resolver = resolver
        self._sleep = sleep
        self._cancellation = cancellation
        self._until = math.inf
        self._hears: list[socket.socket] = []
        self._bell: _Bell
        if cancellation is None:
            self._bell = _EventBell()
        else:
            self._bell = bell = _SocketBell()
            self._hears.append(bell.hears)

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Runs a call.

        Raises:
            Interrupted: It was cancelled.
        """
        try:
            if self._cancellation is None:
                return finish(work)
            with self._cancellation._ringing(self._bell.ring):
                return finish(work)
        finally:
            self._bell.close()

    async def sleep(self, seconds: float) -> None:
        self._listen()
        if self._sleep is not None:
            self._sleep(seconds)
            self._listen()
        else:
            self._pause(lambda: False, seconds)

    async def take_turn(self, seconds: float) -> bool:
        self._listen()
        turn = self._pool.take_turn(self._bell.ring)
        if turn.has_come:
            return True
        came = False
        try:
            came = self._pause(lambda: turn.has_come, seconds)
            return came
        finally:
            if not came:
                self._pool.leave(turn)

    async def within(self, seconds: float, work: Coroutine[Any, Any, T]) -> T:
        before = self._until
        self._until = min(before, time.monotonic() + seconds)
        try:
            return await work
        finally:
            self._until = before

    async def look_up(self, host: str, port: int) -> list[Endpoint]:
        lookup = self._resolver.look_up(host, port, self._bell.ring)
        if not self._pause(lambda: lookup.done, self._until - time.monotonic()):
            raise TimedOut
        if lookup.error is not None:
            raise OSError(lookup.error.errno, lookup.error.strerror)
        return lookup.found

    async def connect(self, endpoint: Endpoint) -> socket.socket:
        family, address = endpoint
        sock = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        try:
            sock.setblocking(False)
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            code = sock.connect_ex(address)
            if code in _CONNECTING:
                self._wait_for(sock, to_send=True)
                code = sock.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
            if code:
                raise OSError(code, os.strerror(code))
        except BaseException:
            sock.close()
            raise
        return sock

    async def send(self, sock: socket.socket, data: memoryview) -> int:
        self._listen()
        while True:
            try:
                return sock.send(data)
            except BlockingIOError:
                pass
            self._wait_for(sock, to_send=True)

    async def receive(self, sock: socket.socket) -> bytes:
        while True:
            # Waited for first: an answer is never there already when somebody asks for it.
            self._wait_for(sock, to_send=False)
            try:
                return sock.recv(_RECEIVE_BYTES)
            except BlockingIOError:
                continue

    def _wait_for(self, sock: socket.socket, to_send: bool) -> None:
        while True:
            self._listen()
            left = self._until - time.monotonic()
            if left <= 0:
                raise TimedOut
            if sock in _wait([(sock, to_send), *((bell, False) for bell in self._hears)], left):
                return

    def _pause(self, is_over: Callable[[], bool], seconds: float) -> bool:
        """Waits until something is over; False when that takes too long."""
        end = time.monotonic() + seconds
        while True:
            # Muted before it is looked at, so that a ring in between is heard by the next wait.
            self._bell.mute()
            self._listen()
            if is_over():
                return True
            left = end - time.monotonic()
            if left <= 0:
                return False
            self._bell.wait(min(left, _PAUSE_SECONDS_MAX))

    def _listen(self) -> None:
        if self._cancellation is not None and self._cancellation.cancelled:
            raise Interrupted


if hasattr(select, "poll"):

    def _wait(sockets: list[tuple[socket.socket, bool]], seconds: float) -> list[socket.socket]:
        """Those of the sockets that are ready to send, or else to receive."""
        poll = select.poll()
        by_number = {}
        for sock, to_send in sockets:
            poll.register(sock, select.POLLOUT if to_send else select.POLLIN)
            by_number[sock.fileno()] = sock
        ready = poll.poll(math.ceil(min(seconds, _PAUSE_SECONDS_MAX) * 1_000))
        return [by_number[number] for number, _ in ready]

else:

    def _wait(sockets: list[tuple[socket.socket, bool]], seconds: float) -> list[socket.socket]:
        """Those of the sockets that are ready to send, or else to receive."""
        to_send = [sock for sock, sends in sockets if sends]
        to_receive = [sock for sock, sends in sockets if not sends]
        # Windows tells of a connecting that failed in the third list.
        ready = select.select(to_receive, to_send, to_send, min(seconds, _PAUSE_SECONDS_MAX))
        return [sock for each in ready for sock in each]
