"""What a call needs of the outside, in threads and in asyncio.

All that a call decides is written once, in coroutines over this protocol. For `Client` its methods block and never
suspend, so that one step runs such a coroutine to its end; for `AsyncClient` they wait for the event loop.
"""

from __future__ import annotations

import ssl
from collections.abc import Coroutine
from socket import socket
from typing import Any, Protocol, TypeVar

T = TypeVar("T")

Endpoint = tuple[int, Any]
"""An address family, and an address of it."""


class TimedOut(Exception):
    """The time that `Io.within` gave is over."""


class Broken(Exception):
    """No whole answer came. The text says why in words of our own, and quotes nothing."""


class Io(Protocol):
    """The outside. Every method ends at once when the call is cancelled."""

    async def sleep(self, seconds: float) -> None:
        """Waits before the next try."""

    async def take_turn(self, seconds: float) -> bool:
        """Waits until there may be one connection more; False when that takes too long."""

    async def within(self, seconds: float, work: Coroutine[Any, Any, T]) -> T:
        """Runs some work, for so long of real time at most.

        Raises:
            TimedOut: It took longer, and was ended.
        """

    async def look_up(self, host: str, port: int) -> list[Endpoint]:
        """The addresses of a host. Raises OSError."""

    async def connect(self, endpoint: Endpoint) -> socket:
        """A connected socket that does not block. Raises OSError."""

    async def send(self, sock: socket, data: memoryview) -> int:
        """Sends some of the bytes, and says how many. Raises OSError."""

    async def receive(self, sock: socket) -> bytes:
        """Some bytes; none at the end. Raises OSError."""


def told(error: OSError) -> str:
    """What went wrong, in the platform's words for the kind and never in those of an answer."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"the certificate is not trusted ({error.verify_message})"
    if isinstance(error, ssl.SSLError):
        return f"TLS failed ({error.reason or 'no reason is known'})"
    return (error.strerror or type(error).__name__).lower()
