"""What can go wrong, and what to do about it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Optional


class LeadsError(Exception):
    """The base of every error of this package; what is raised is always one of its subclasses.

    No message or string form has the key, a value of the lead or the service's own words in it.

    Attributes:
        kind: The kind in the words that all kits share: ``unauthorized``, ``invalid_lead``, ``refused``,
            ``unavailable``, ``cancelled`` or ``misconfigured``.
        status: The HTTP status of the last try's answer; ``None`` where none came.
        code: The service's code for it, such as ``not_accepting``; ``None`` where none came or the answer is not one
            of the service.
        detail: What that answer says is wrong, in a sentence for people; ``None`` where it says nothing. Do not
            parse it.
        request_id: The ``X-Request-Id`` that was sent, for the service's support; ``None`` when nothing was sent.
        tries: How many tries were spent. One that was answered with a 429 is not.
        unknown_outcome: Whether the lead may have been taken although no acknowledgement came. Post it again with the
            same idempotency key, and it is taken once.
    """

    kind: ClassVar[str] = "refused"

    def __init__(
        self,
        message: str,
        *,
        status: Optional[int] = None,
        code: Optional[str] = None,
        detail: Optional[str] = None,
        request_id: Optional[str] = None,
        tries: int = 0,
        unknown_outcome: bool = False,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.detail = detail
        self.request_id = request_id
        self.tries = tries
        self.unknown_outcome = unknown_outcome

    def __reduce__(self) -> tuple[Any, ...]:
        # Task queues send errors from process to process; keyword arguments need this much of help.
        return _made_again, (type(self), self.args, self.__dict__)


def _made_again(kind: type, args: tuple[Any, ...], members: dict[str, Any]) -> LeadsError:
    error: LeadsError = kind.__new__(kind, *args)
    error.args = args
    error.__dict__.update(members)
    return error


class UnauthorizedError(LeadsError):
    """The service does not know the key, or no longer (401). Alert a person; no retry helps."""

    kind: ClassVar[str] = "unauthorized"


class InvalidLeadError(LeadsError):
    """The service refused the lead (422). Correct the fields and post it with the same idempotency key.

    Attributes:
        fields: Each failing field and its reason: ``required``, ``too_long`` or ``out_of_range``.
    """

    kind: ClassVar[str] = "invalid_lead"

    def __init__(self, message: str, *, fields: Mapping[str, str], **more: Any) -> None:
        super().__init__(message, **more)
        self.fields = dict(fields)


class RefusedError(LeadsError):
    """An answer that must not be repeated: read ``status`` and ``code``."""

    kind: ClassVar[str] = "refused"


class UnavailableError(LeadsError):
    """Tries or deadline are spent. Try later, with the same idempotency key."""

    kind: ClassVar[str] = "unavailable"


class CallCancelledError(LeadsError):
    """The call was ended by its `Cancellation`. What holds for `UnavailableError` holds here.

    A task of asyncio that is cancelled raises ``asyncio.CancelledError`` as ever, with one of these as its
    ``__cause__``.
    """

    kind: ClassVar[str] = "cancelled"


class MisconfiguredError(LeadsError):
    """Found before anything was sent: mend the key, the address or the argument that the message names."""

    kind: ClassVar[str] = "misconfigured"
