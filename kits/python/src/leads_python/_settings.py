"""What a client was made with, read and checked."""

from __future__ import annotations

import math
import os
import ssl
from dataclasses import dataclass
from typing import Callable, Optional

from ._address import Address, read_address
from ._key import read_key
from ._route import Route, check_context
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


def hidden(given: Optional[str], variable: str) -> Secret:
    """What was given, or else stands in the environment, so that no frame shows it from here on.

    Nothing and what is no text are empty. This never raises, because its callers still have the open text then.
    """
    found = os.environ.get(variable) if given is None else given
    # What is no UTF-8 is no key and no address either, and will be refused as one.
    return Secret(found.encode(errors="replace") if isinstance(found, str) else b"")


def read_settings(
    *,
    key: Secret,
    base_url: Secret,
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
    for secret, what, variable in ((key, "key", "LEADS_API_KEY"), (base_url, "base address", "LEADS_BASE_URL")):
        if len(secret) == 0:
            raise MisconfiguredError(f"There is no {what}: give one as text, or set {variable}")
    address = read_address(base_url)
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


def _context(given: Optional[ssl.SSLContext]) -> ssl.SSLContext:
    if given is not None:
        check_context(given)
        return given
    context = ssl.create_default_context()
    # Python 3.9 leaves this to how OpenSSL was built.
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.set_alpn_protocols(["http/1.1"])
    return context
