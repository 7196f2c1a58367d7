"""What an observer hears of, and the clock that a client goes by."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Callable, Optional, Protocol, Union


@dataclass(frozen=True)
class TryEnded:
    """A try is over.

    Attributes:
        method: ``POST`` or ``GET``.
        status: The HTTP status of its answer; ``None`` when no whole answer came.
        duration: Seconds, from the first packet of connecting to the last byte of the answer.
        request_id: The ``X-Request-Id`` of the call, equal for all of its tries.
    """

    method: str
    status: Optional[int]
    duration: float
    request_id: str


@dataclass(frozen=True)
class WaitBegun:
    """A wait before the next try begins.

    Attributes:
        seconds: How long it will be.
        rate_limited: Whether it is for a 429; otherwise it is for a try that failed.
        request_id: The ``X-Request-Id`` of the call.
    """

    seconds: float
    rate_limited: bool
    request_id: str


Event = Union[TryEnded, WaitBegun]

Observer = Callable[[Event], None]
"""Called in the thread or task of the call, and to be quick. What it raises is logged and changes nothing."""


class Clock(Protocol):
    """The time that a client goes by. The module ``time`` is one; tests bring their own."""

    def time(self) -> float:
        """Seconds since 1970, for a ``Retry-After`` that is a date."""

    def monotonic(self) -> float:
        """Seconds since any fixed moment, for deadlines and for what is kept."""
