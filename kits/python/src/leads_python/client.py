"""The client for programs of threads."""

from __future__ import annotations

import random as _random
import ssl
import time
from collections.abc import Mapping
from types import TracebackType
from typing import Callable, Optional, TypeVar, Union

from ._blocking import BlockingIo, Interrupted
from ._call import Call
from ._core import Core
from ._settings import hidden, read_settings
from .cancellation import Cancellation
from .lead import Lead, written
from .results import Acknowledgement, KeyCheck, Vocabulary
from .watching import Clock, Observer

T = TypeVar("T")


class Client:
    """A client of the intake, which many threads may share. It opens nothing before the first call.

    A context manager: leaving it closes its connections. It may be made before a fork; the child opens connections of
    its own. For asyncio there is `AsyncClient`.

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
        sleep: Optional[Callable[[float], None]] = None,
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

    def check_key(
        self,
        *,
        request_id: Optional[str] = None,
        deadline: Optional[float] = None,
        cancellation: Optional[Cancellation] = None,
    ) -> KeyCheck:
        """Asks whether the key is valid, without posting a lead. It is safe in production.

        Args:
            request_id: Printable ASCII, up to 64 characters; without one, a new one is made.
            deadline: Seconds for this call with all of its tries and waits.
            cancellation: Ends the call when it is cancelled.

        Raises:
            LeadsError: What kept it from finding out.
        """
        return self._run(self._core.check_key(request_id, deadline), cancellation)

    def post_lead(
        self,
        lead: Union[Lead, Mapping[str, object]],
        *,
        idempotency_key: str,
        request_id: Optional[str] = None,
        deadline: Optional[float] = None,
        cancellation: Optional[Cancellation] = None,
    ) -> Acknowledgement:
        """Posts a lead, and gives back the service's acknowledgement.

        What failed for a time is tried again, always with the same bytes and the same key: a lead is taken once.

        Args:
            lead: A `Lead`, or a mapping of names to values. It is sent as given; the service normalizes and checks.
            idempotency_key: Equal for all posts of one lead; see `idempotency_key`. Printable ASCII, up to 200
                characters.
            request_id: Printable ASCII, up to 64 characters; without one, a new one is made.
            deadline: Seconds for this call with all of its tries and waits.
            cancellation: Ends the call when it is cancelled.

        Raises:
            UnauthorizedError: The service does not know the key.
            InvalidLeadError: The lead has fields that must be corrected.
            RefusedError: Any other answer that must not be repeated.
            UnavailableError: Tries or deadline are spent.
            CallCancelledError: The call was cancelled.
            MisconfiguredError: An argument cannot be right; nothing was sent.
        """
        body = written(lead)
        # No frame of ours is to show the lead to whoever reports an error with its local variables.
        del lead
        return self._run(self._core.post_lead(body, idempotency_key, request_id, deadline), cancellation)

    def vocabulary(
        self,
        *,
        request_id: Optional[str] = None,
        deadline: Optional[float] = None,
        cancellation: Optional[Cancellation] = None,
    ) -> Vocabulary:
        """Reads the terms that the service knows. They are kept as long as the service allows, then asked for again.

        Args:
            request_id: Printable ASCII, up to 64 characters; without one, a new one is made.
            deadline: Seconds for this call with all of its tries and waits.
            cancellation: Ends the call when it is cancelled.

        Raises:
            LeadsError: They could not be read.
        """
        call = self._core.vocabulary(request_id, deadline)
        kept = self._core.kept_vocabulary()
        return self._run(call, cancellation) if kept is None else kept

    def close(self) -> None:
        """Closes the connections: idle ones now, others when their call is over. Later calls are refused."""
        self._core.close()

    def __enter__(self) -> Client:
        return self

    def __exit__(
        self,
        kind: Optional[type[BaseException]],
        error: Optional[BaseException],
        traceback: Optional[TracebackType],
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        # There is no core yet when a debugger looks at a client whose key is just being refused.
        core: Optional[Core] = getattr(self, "_core", None)
        return f"<leads_python.Client{'' if core is None else f' for {core.settings.address}'}>"

    def _run(self, call: Call[T], cancellation: Optional[Cancellation]) -> T:
        outliving = self._core.outliving()
        io = BlockingIo(outliving.pool, outliving.resolver, self._sleep, cancellation)
        try:
            return io.run(call.run(io, outliving.pool))
        except Interrupted:
            pass
        raise call.cancelled()
