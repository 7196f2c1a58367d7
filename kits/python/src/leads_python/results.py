"""What the calls give back."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Acknowledgement:
    """The service has the lead, for good.

    Attributes:
        event_id: The service's name for the lead. Keep it with your record of the lead; never parse it.
        status: ``accepted``, or ``duplicate`` when a lead with this idempotency key was accepted before.
        received_at: When the lead was received, in UTC and ISO 8601.
        source: The label of the key.
        flags: Observations such as ``phone_unnormalized``; there may be ones that are not documented yet. Never a
            reason to post again.
        request_id: The ``X-Request-Id`` that was sent.
        tries: How many tries were spent, this one among them. One that was answered with a 429 is not.
    """

    event_id: str
    status: str
    received_at: str
    source: str
    flags: tuple[str, ...]
    request_id: str
    tries: int

    @property
    def duplicate(self) -> bool:
        """Whether a lead with this idempotency key had been accepted before."""
        return self.status == "duplicate"


@dataclass(frozen=True)
class KeyCheck:
    """What the service says of the key. It is true in a condition when the key is valid.

    Attributes:
        valid: Whether the key is known and active.
        request_id: The ``X-Request-Id`` that was sent.
        tries: How many tries were spent, this one among them.
    """

    valid: bool
    request_id: str
    tries: int

    def __bool__(self) -> bool:
        return self.valid


@dataclass(frozen=True)
class Area:
    """A part of the home. A lead may name any, and also one that is not listed.

    Attributes:
        area: The term, for a lead's ``project_area``.
        status: ``confirmed`` or ``proposed``; both are accepted alike.
    """

    area: str
    status: str


@dataclass(frozen=True)
class Vocabulary:
    """The terms that the service knows.

    Attributes:
        areas: For ``project_area``.
        services: For ``project_service``.
        required: The fields that every lead has.
    """

    areas: tuple[Area, ...]
    services: tuple[str, ...]
    required: tuple[str, ...]
