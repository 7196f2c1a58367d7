"""Where the service is."""

from __future__ import annotations

import ipaddress
import re
from dataclasses import dataclass
from typing import Optional, Union

from ._secret import Secret
from .errors import MisconfiguredError

_ADDRESS = re.compile(
    r"""(?P<scheme>https?)://
        (?P<host> \[[0-9a-f:.]+\] | [a-z0-9._-]+ )
        (?: :(?P<port>[0-9]{1,5}) )?
        (?P<path> (?:/[!-~]*)? )""",
    re.VERBOSE | re.IGNORECASE,
)
_DEFAULT_PORTS = {"https": 443, "http": 80}


@dataclass(frozen=True)
class Address:
    """A base address, taken apart.

    Attributes:
        secure: Whether it is ``https``.
        host: A name or an IP address, without brackets.
        authority: Host and port as the header ``Host`` has them.
        path: What stands before ``/v1/…``; empty, or it starts with a slash and does not end with one.
    """

    secure: bool
    host: str
    port: int
    authority: str
    path: str

    def __str__(self) -> str:
        return f"{'https' if self.secure else 'http'}://{self.authority}{self.path}"


def read_address(hidden: Secret) -> Address:
    """Takes a base address apart.

    It is hidden, and no message shows it, because one that is refused may have a password before an @.

    Raises:
        MisconfiguredError: It is not one that a key may be sent to.
    """
    taken = _taken_apart(bytes(hidden.view()).decode())
    if isinstance(taken, str):
        raise MisconfiguredError(taken)
    return taken


def _taken_apart(text: str) -> Union[Address, str]:
    """The address, or what is wrong with it."""
    authority = re.split("[/?#]", text.partition("://")[2], maxsplit=1)[0]
    for where, sign, what in ((authority, "@", "user information"), (text, "?", "a query"), (text, "#", "a fragment")):
        if sign in where:
            return f"The base address must not have {what}"
    match = _ADDRESS.fullmatch(text)
    if match is None:
        return "The base address must be like https://intake.example"
    scheme, host = match["scheme"].lower(), match["host"].lower()
    port = int(match["port"] or _DEFAULT_PORTS[scheme])
    bare = host.strip("[]")
    ip = _ip(bare)
    if not 0 < port < 65536 or (host.startswith("[") and ip is None):
        return "The base address has no valid host and port"
    if scheme == "http" and not (bare == "localhost" or (ip is not None and _is_own_machine(ip))):
        return "The base address must be https://, because the key travels with every post"
    authority = host if port == _DEFAULT_PORTS[scheme] else f"{host}:{port}"
    return Address(scheme == "https", bare, port, authority, match["path"].rstrip("/"))


_Ip = Union[ipaddress.IPv4Address, ipaddress.IPv6Address]


def _ip(host: str) -> Optional[_Ip]:
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        return None


def _is_own_machine(ip: _Ip) -> bool:
    return str(ip) == "::1" or (ip.version == 4 and ip.is_loopback)
