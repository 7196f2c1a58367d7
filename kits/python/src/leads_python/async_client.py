"""The client for asyncio."""

from __future__ import annotations

import asyncio
import random as _random
import ssl
import time
from collections.abc import Awaitable, Mapping
from types import TracebackType
from typing import Callable, Optional, TypeVar, Union

from ._async_io import AsyncIo
from ._call import Call
from ._core import Core
from ._settings import hidden, read_settings
from .lead import Lead, written
from .results import Acknowledgement, KeyCheck, Vocabulary
from .watching import Clock, Observer

T = TypeVar("T")


class AsyncClient:
    """A client of the intake, which many tasks may share. It opens nothing before the first call.

    An asynchronous context manager: leaving it closes its connections. It belongs to no event loop and may be used by
    one after the other. What it does is what `Client` does, for both run the same text.

    A task that is cancelled ends its call at once, with ``asyncio.CancelledError`` as ever. Its ``__cause__`` is a
    `CallCancelledError`, which tells whether the lead may have been taken.

    Args:
        key: Starts with ``lead_live_`` or ``lead_test_``. Without one, that of the environment variable
            ``LEADS_API_KEY``.
        base_url: Such as ``https://intake.example``. Without one, that of ``LEADS_BASE_URL``. ``http://`` is taken
            only for this machine, because the key travels with every post.
        tries: How many tries a call has, at least 1; 1 never repeats anything but what a 429 asks for.
        try_timeout: Seconds for a try, from the first packet of connecting to the last byte of the answer.
        deadline: Seconds for a call with all of its tries and waits. A call may have its own.
        connections: How many connections there are at most; more calls at once wait for one another.
        ssl_context: Knows further authorities, for example, or has a certificate of your own. Without one, a default
            context, which also heeds ``SSL_CERT_FILE``. One that does not verify is refused.
        observer: Hears of every try and every wait; see `TryEnded` and `WaitBegun`.
        clock: For tests: the time to go by.
        sleep: For tests: waits so many seconds, or does not.
        random: For tests: gives the jitter of waits, from 0 to 1.

    Raises:
        MisconfiguredError: The key or the address cannot be right, or an option cannot be meant.
    """

    def __init__(
        self,
        key: Optional[str] = None,
        base_url: Optional[str] = None,
        *,
        tries: int = 5,
        try_timeout: float = 20.0,
        deadline: float = 120.0,
        connections: int = 8,
        ssl_context: Optional[ssl.SSLContext] = None,
        observer: Optional[Observer] = None,
        clock: Clock = time,
        sleep: Optional[Callable[[float], Awaitable[None]]] = None,
        random: Callable[[], float] = _random.random,
    ) -> None:
        secrets = hidden(key, "LEADS_API_KEY"), hidden(base_url, "LEADS_BASE_URL")
        # No frame of ours is to show them to whoever reports an error with its local variables.
        del key, base_url
        self._sleep = sleep
        self._core = Core(
            read_settings(
                key=secrets[0],
                base_url=secrets[1],
                ssl_context=ssl_context,
                tries=tries,
                try_timeout=try_timeout,
                deadline=deadline,
                connections=connections,
                observer=observer,
                clock=clock,
                random=random,
            )
        )

    async def check_key(
        self,
        *,
        request_id: Optional[str] = None,
        deadline: Optional[float] = None,
    ) -> KeyCheck:
        """Asks whether the key is valid, without posting a lead. It is safe in production.

        Args:
            request_id: Printable ASCII, up to 64 characters; without one, a new one is made.
            deadline: Seconds for this call with all of its tries and waits.

        Raises:
            LeadsError: What kept it from finding out.
        """
        return await self._run(self._core.check_key(request_id, deadline))

    async def post_lead(
        self,
        lead: Union[Lead, Mapping[str, object]],
        *,
        idempotency_key: str,
        request_id: Optional[str] = None,
        deadline: Optional[float] = None,
    ) -> Acknowledgement:
        """Posts a lead, and gives back the service's acknowledgement.

        What failed for a time is tried again, always with the same bytes and the same key: a lead is taken once.

        Args:
            lead: A `Lead`, or a mapping of names to values. It is sent as given; the service normalizes and checks.
            idempotency_key: Equal for all posts of one lead; see `idempotency_key`. Printable ASCII, up to 200
                characters.
            request_id: Printable ASCII, up to 64 characters; without one, a new one is made.
            deadline: Seconds for this call with all of its tries and waits.

        Raises:
            UnauthorizedError: The service does not know the key.
            InvalidLeadError: The lead has fields that must be corrected.
            RefusedError: Any other answer that must not be repeated.
            UnavailableError: Tries or deadline are spent.
            MisconfiguredError: An argument cannot be right; nothing was sent.
        """
        body = written(lead)
        # No frame of ours is to show the lead to whoever reports an error with its local variables.
        del lead
        return await self._run(self._core.post_lead(body, idempotency_key, request_id, deadline))

    async def vocabulary(
        self,
        *,
        request_id: Optional[str] = None,
        deadline: Optional[float] = None,
    ) -> Vocabulary:
        """Reads the terms that the service knows. They are kept as long as the service allows, then asked for again.

        Args:
            request_id: Printable ASCII, up to 64 characters; without one, a new one is made.
            deadline: Seconds for this call with all of its tries and waits.

        Raises:
            LeadsError: They could not be read.
        """
        call = self._core.vocabulary(request_id, deadline)
        kept = self._core.kept_vocabulary()
        return await self._run(call) if kept is None else kept

    async def aclose(self) -> None:
        """Closes the connections: idle ones now, others when their call is over. Later calls are refused."""
        self._core.close()

    async def __aenter__(self) -> AsyncClient:
        return self

    async def __aexit__(
        self,
        kind: Optional[type[BaseException]],
        error: Optional[BaseException],
        traceback: Optional[TracebackType],
    ) -> None:
        await self.aclose()

    def __repr__(self) -> str:
        # There is no core yet when a debugger looks at a client whose key is just being refused.
        core: Optional[Core] = getattr(self, "_core", None)
        return f"<leads_python.AsyncClient{'' if core is None else f' for {core.settings.address}'}>"

    async def _run(self, call: Call[T]) -> T:
        outliving = self._core.outliving()
        io = AsyncIo(outliving.pool, outliving.resolver, self._sleep)
        try:
            return await call.run(io, outliving.pool)
        except asyncio.CancelledError as cancelled:
            cancelled.__cause__ = call.cancelled()
            raise
