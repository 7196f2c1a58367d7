"""Tells a key that can be right from one that cannot, before anything is sent."""

from __future__ import annotations

import string
import zlib
from typing import Optional

from ._secret import Secret
from .errors import MisconfiguredError

_DIGITS = string.digits + string.ascii_uppercase + string.ascii_lowercase
_PREFIXES = ("lead_live_", "lead_test_")
_FORMS_PREFIXES = ("form_live_", "form_test_")
_RANDOM_LENGTH = 32
_CHECKSUM_LENGTH = 6


def read_key(hidden: Secret) -> Secret:
    """The key, when its prefix, length, characters and checksum are right.

    Raises:
        MisconfiguredError: They are not; the message says which, and shows nothing of the key.
    """
    fault = _fault(hidden)
    if fault is not None:
        raise MisconfiguredError(fault)
    return hidden


def _fault(hidden: Secret) -> Optional[str]:
    key = bytes(hidden.view()).decode()
    if key.startswith(_FORMS_PREFIXES):
        return "This is a forms key; leads are posted with a key that starts with lead_live_ or lead_test_"
    if not key.startswith(_PREFIXES):
        return "The key must start with lead_live_ or lead_test_"
    body, checksum = key[:-_CHECKSUM_LENGTH], key[-_CHECKSUM_LENGTH:]
    whole = len(key) == len(_PREFIXES[0]) + _RANDOM_LENGTH + _CHECKSUM_LENGTH
    if not whole or checksum != _checksum(body):
        return "The key is mistyped or cut off"
    return None


def _checksum(text: str) -> str:
    rest = zlib.crc32(text.encode())
    digits = ""
    for _ in range(_CHECKSUM_LENGTH):
        rest, digit = divmod(rest, len(_DIGITS))
        digits = _DIGITS[digit] + digits
    return digits
