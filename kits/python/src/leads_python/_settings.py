"""What a client was made with, read and checked."""

from __future__ import annotations

import math
import os
import ssl
from dataclasses import dataclass
from typing import Callable, Optional

from ._address import Address, read_address
from ._key import read_key
from ._route import Route
from ._secret import Secret
from ._version import __version__
from .errors import MisconfiguredError
from .watching import Clock, Observer

KIT = "leads-python"
USER_AGENT = f"{KIT}/{__version__}"


@dataclass(frozen=True)
class Settings:
    """Of a client; times are in seconds."""

    key: Secret
    address: Address
    route: Route
    tries: int
    try_timeout: float
    deadline: float
    connections: int
    observer: Optional[Observer]
    clock: Clock
    random: Callable[[], float]


def hidden(key: Optional[str]) -> Secret:
    """A key that was given, or else the environment's, so that no frame shows it from here on.

    Raises:
        MisconfiguredError: There is none, or it is not text.
    """
    given = os.environ.get("LEADS_API_KEY") if key is None else key
    if isinstance(given, str) and given:
        # What is no UTF-8 is no key either, and is refused as one.
        return Secret(given.encode(errors="replace"))
    raise MisconfiguredError("There is no key: give one, or set LEADS_API_KEY")


def read_settings(
    *,
    key: Secret,
    base_url: Optional[str],
    ssl_context: Optional[ssl.SSLContext],
    tries: int,
    try_timeout: float,
    deadline: float,
    connections: int,
    observer: Optional[Observer],
    clock: Clock,
    random: Callable[[], float],
) -> Settings:
    """Raises MisconfiguredError, for anything that cannot be meant."""
    address = read_address(_base_url(base_url))
    return Settings(
        key=read_key(key),
        address=address,
        route=Route(address, _context(ssl_context) if address.secure else None, USER_AGENT),
        tries=read_count("tries", tries),
        try_timeout=read_seconds("try_timeout", try_timeout),
        deadline=read_seconds("deadline", deadline),
        connections=read_count("connections", connections),
        observer=observer,
        clock=clock,
        random=random,
    )


def read_seconds(name: str, value: object) -> float:
    """A length of time. Raises MisconfiguredError."""
    if isinstance(value, (int, float)) and not isinstance(value, bool) and value > 0 and math.isfinite(value):
        return float(value)
    raise MisconfiguredError(f"{name} must be a number of seconds above 0")


def read_count(name: str, value: object) -> int:
    """A number of things. Raises MisconfiguredError."""
    if isinstance(value, int) and not isinstance(value, bool) and value >= 1:
        return value
    raise MisconfiguredError(f"{name} must be a whole number from 1")


def _base_url(given: Optional[str]) -> str:
    base_url = os.environ.get("LEADS_BASE_URL") if given is None else given
    if base_url:
        return base_url
    raise MisconfiguredError("There is no base address: give one, or set LEADS_BASE_URL")


def _context(given: Optional[ssl.SSLContext]) -> ssl.SSLContext:
    if given is not None:
        return given
    context = ssl.create_default_context()
    # Python 3.9 leaves this to how OpenSSL was built.
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.set_alpn_protocols(["http/1.1"])
    return context
