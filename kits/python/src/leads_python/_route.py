"""The way to the service: straight, or through a proxy; plain, or by TLS."""

from __future__ import annotations

import base64
import socket
import ssl
import time
import urllib.request
from dataclasses import dataclass
from typing import Optional
from urllib.parse import SplitResult, unquote, urlsplit

from ._address import Address
from ._http1 import AnswerReader
from ._io import Broken, Io, TimedOut, told
from ._secret import Secret
from ._stream import PlainStream, Stream, TlsStream
from .errors import MisconfiguredError

_ADDRESSES_MAX = 8
_ADDRESS_SECONDS_MIN = 2.0
"""Each address has its share of the time that is left, so that a dead one does not take it all; but this at least."""


@dataclass(frozen=True)
class Proxy:
    """An HTTP proxy, which takes us to the service by CONNECT.

    Attributes:
        secure: Whether the proxy itself is spoken to by TLS.
        authorization: The header ``Proxy-Authorization``, with the end of its line.
    """

    secure: bool
    host: str
    port: int
    authorization: Optional[Secret]


@dataclass(frozen=True)
class Route:
    """How connections are opened. Nothing is opened, and no environment read, before the first one.

    Attributes:
        context: How the service is known; ``None`` for plain HTTP, which never leaves the machine.
    """

    address: Address
    context: Optional[ssl.SSLContext]
    user_agent: str

    async def open(self, io: Io, try_until: float) -> Stream:
        """A connection on which requests can be sent.

        Raises:
            Broken: There is none to be had.
            MisconfiguredError: The proxy that is set up, or the context, cannot be used.
        """
        context = self.context
        if context is None:
            return PlainStream(await _connect(io, self.address.host, self.address.port, try_until))
        check_context(context)
        proxy = proxy_for(self.address)
        near = self.address if proxy is None else proxy
        stream: Stream = PlainStream(await _connect(io, near.host, near.port, try_until))
        try:
            if proxy is not None:
                if proxy.secure:
                    stream = await _by_tls(io, stream, context, proxy.host)
                await self._through(io, stream, proxy)
            return await _by_tls(io, stream, context, self.address.host)
        except BaseException:
            stream.close()
            raise

    async def _through(self, io: Io, stream: Stream, proxy: Proxy) -> None:
        host = f"[{self.address.host}]" if ":" in self.address.host else self.address.host
        place = f"{host}:{self.address.port}"
        head = f"CONNECT {place} HTTP/1.1\r\nHost: {place}\r\nUser-Agent: {self.user_agent}\r\n"
        request = Secret.joined(head.encode(), proxy.authorization or b"", b"\r\n")
        await stream.send(io, request.view(), lambda: None)
        reader = AnswerReader(bodyless=True)
        while reader.answer is None:
            reader.feed(await stream.receive(io))
        if not (200 <= reader.answer.status < 300 and reader.answer.reusable):
            raise Broken(f"the proxy answered {reader.answer.status}")


def check_context(context: ssl.SSLContext) -> None:
    """Raises MisconfiguredError for a context that would speak to anybody. It can be changed, so it is asked often."""
    if context.verify_mode != ssl.CERT_REQUIRED or not context.check_hostname:
        raise MisconfiguredError("The ssl_context must verify certificates and host names")


def proxy_for(address: Address) -> Optional[Proxy]:
    """The proxy that the environment, or the platform's settings, name for an address.

    Raises:
        MisconfiguredError: It is of a kind that is not spoken here.
    """
    url = urllib.request.getproxies().get("https")
    if not url or urllib.request.proxy_bypass(address.authority):
        return None
    try:
        parts = urlsplit(url if "://" in url else f"http://{url}")
        port = parts.port
    except ValueError:
        parts, port = urlsplit(""), None
    secure = parts.scheme == "https"
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise MisconfiguredError("The proxy for https must be like http://proxy.example:3128")
    return Proxy(secure, parts.hostname, port or (443 if secure else 80), _authorization(parts))


def _authorization(parts: SplitResult) -> Optional[Secret]:
    if parts.username is None:
        return None
    pair = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
    return Secret(b"Proxy-Authorization: Basic " + base64.b64encode(pair.encode()) + b"\r\n")


async def _by_tls(io: Io, inner: Stream, context: ssl.SSLContext, host: str) -> TlsStream:
    try:
        stream = TlsStream(inner, context, host)
    except ValueError:
        # So says Python of a name that cannot be one, such as one that starts with a dot.
        raise Broken("the name of the host is not valid") from None
    await stream.handshake(io)
    return stream


async def _connect(io: Io, host: str, port: int, try_until: float) -> socket.socket:
    endpoints = (await io.look_up(host, port))[:_ADDRESSES_MAX]
    reason = "the host has no address"
    for n, endpoint in enumerate(endpoints):
        left = max(0.0, try_until - time.monotonic())
        share = max(left / (len(endpoints) - n), min(left, _ADDRESS_SECONDS_MIN))
        try:
            return await io.within(share, io.connect(endpoint))
        except TimedOut:
            if n + 1 == len(endpoints):
                raise
            reason = "an address did not answer"
        except OSError as error:
            reason = told(error)
    raise Broken(reason)
