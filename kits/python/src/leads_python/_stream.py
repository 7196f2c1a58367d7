"""Bytes over a connection, plain or by TLS.

TLS is done in memory, so that one text serves threads and asyncio, and a proxy that is itself spoken to by TLS.
"""

from __future__ import annotations

import socket
import ssl
from typing import Callable, Protocol

from ._io import Broken, Io

_RECORD_BYTES = 65_536


class Stream(Protocol):
    """A connection on which one request after the other goes."""

    async def send(self, io: Io, data: memoryview, went_out: Callable[[], None]) -> None:
        """Sends all; `went_out` is called as soon as the first bytes are sent. Raises OSError."""

    async def receive(self, io: Io) -> bytes:
        """Some bytes; none at the end. Raises OSError."""

    def is_quiet(self) -> bool:
        """Whether it is open and nothing came that nobody asked for."""

    def close(self) -> None:
        """Closes it at once."""


class PlainStream:
    def __init__(self, sock: socket.socket) -> None:
        self._sock = sock

    async def send(self, io: Io, data: memoryview, went_out: Callable[[], None]) -> None:
        at = 0
        while at < len(data):
            at += await io.send(self._sock, data[at:])
            went_out()

    async def receive(self, io: Io) -> bytes:
        return await io.receive(self._sock)

    def is_quiet(self) -> bool:
        try:
            self._sock.recv(1, socket.MSG_PEEK)
        except (BlockingIOError, InterruptedError):
            return True
        except OSError:
            pass
        return False

    def close(self) -> None:
        self._sock.close()


class TlsStream:
    def __init__(self, inner: Stream, context: ssl.SSLContext, host: str) -> None:
        self._inner = inner
        self._incoming = ssl.MemoryBIO()
        self._outgoing = ssl.MemoryBIO()
        self._tls = context.wrap_bio(self._incoming, self._outgoing, server_hostname=host)

    async def handshake(self, io: Io) -> None:
        """Raises OSError, of which an SSLError is one."""
        while not self._steps_handshake():
            await self._flush(io, _nothing)
            await self._fill(io)
        await self._flush(io, _nothing)

    def _steps_handshake(self) -> bool:
        try:
            self._tls.do_handshake()
        except ssl.SSLWantReadError:
            return False
        return True

    async def send(self, io: Io, data: memoryview, went_out: Callable[[], None]) -> None:
        at = 0
        while at < len(data):
            at += self._tls.write(data[at : at + _RECORD_BYTES])
            await self._flush(io, went_out)

    async def receive(self, io: Io) -> bytes:
        while True:
            try:
                return self._tls.read(_RECORD_BYTES)
            except ssl.SSLWantReadError:
                pass
            except ssl.SSLZeroReturnError:
                return b""
            await self._flush(io, _nothing)
            await self._fill(io)

    async def _flush(self, io: Io, went_out: Callable[[], None]) -> None:
        if self._outgoing.pending:
            await self._inner.send(io, memoryview(self._outgoing.read()), went_out)

    async def _fill(self, io: Io) -> None:
        data = await self._inner.receive(io)
        if data:
            self._incoming.write(data)
        else:
            # An end without TLS's own goodbye may be anybody's doing: it does not end an answer, it cuts it short.
            raise Broken("the connection was cut short")

    def is_quiet(self) -> bool:
        return not self._incoming.pending and not self._tls.pending() and self._inner.is_quiet()

    def close(self) -> None:
        # Without TLS's goodbye, as ssl.SSLSocket: to send one might block, and a forked child must not.
        self._inner.close()


def _nothing() -> None:
    return None
