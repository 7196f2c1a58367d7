"""Posts sales leads to the Lead Intake Service.

    from leads_python import Client, Lead

    with Client() as client:  # LEADS_API_KEY, LEADS_BASE_URL
        taken = client.post_lead(Lead("Ada", "Lovelace", "+15550104477"), idempotency_key="acme:1842")
        print(taken.event_id)

`Client` is for threads and `AsyncClient` for asyncio. Everything that they raise is a `LeadsError`.
"""

from ._core import idempotency_key
from ._version import __version__
from .async_client import AsyncClient
from .cancellation import Cancellation
from .client import Client
from .errors import (
    CallCancelledError,
    InvalidLeadError,
    LeadsError,
    MisconfiguredError,
    RefusedError,
    UnauthorizedError,
    UnavailableError,
)
from .lead import Lead
from .results import Acknowledgement, Area, KeyCheck, Vocabulary
from .watching import Clock, Event, Observer, TryEnded, WaitBegun

__all__ = [
    "Acknowledgement",
    "Area",
    "AsyncClient",
    "CallCancelledError",
    "Cancellation",
    "Client",
    "Clock",
    "Event",
    "InvalidLeadError",
    "KeyCheck",
    "Lead",
    "LeadsError",
    "MisconfiguredError",
    "Observer",
    "RefusedError",
    "TryEnded",
    "UnauthorizedError",
    "UnavailableError",
    "Vocabulary",
    "WaitBegun",
    "__version__",
    "idempotency_key",
]
