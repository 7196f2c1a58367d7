"""The lead, and how it is written for the wire."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from decimal import Decimal
from json.encoder import encode_basestring
from typing import Callable, Optional, Union

from ._secret import Secret

_REASONS = frozenset(("required", "too_long", "out_of_range"))
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True, repr=False)
class Lead:
    """One sales lead. What is ``None`` is left out; a mapping of names to values serves as well.

    The service normalizes and checks; here nothing is changed. Lengths are in characters.

    Attributes:
        first_name, last_name, phone: Required by the service. The telephone number may have any format.
        cost: US dollars, from 0.01 to 999.99. Leave it out when there is no charge. A ``Decimal`` reaches the service
            digit for digit.
        more: Further fields, kept as they are with the lead. A lead that has a field both by its name and here is
            refused when it is posted.

    The other fields are text and optional; the service's brief says what each one is.
    """

    first_name: Optional[str] = None
    last_name: Optional[str] = None
    phone: Optional[str] = None
    email: Optional[str] = None
    street_address: Optional[str] = None
    city: Optional[str] = None
    state: Optional[str] = None
    zip: Optional[str] = None
    country: Optional[str] = None
    project_area: Optional[str] = None
    project_service: Optional[str] = None
    project_material: Optional[str] = None
    project_details: Optional[str] = None
    external_id: Optional[str] = None
    cost: Union[Decimal, int, float, None] = None
    more: Mapping[str, object] = field(default_factory=dict)

    def __repr__(self) -> str:
        # A lead is a person's address: no log, no traceback and no debugger's view may have it by accident.
        return "Lead(...)"

    def _members(self) -> Mapping[str, object]:
        own = ((each.name, getattr(self, each.name)) for each in fields(self) if each.name != "more")
        return {**{name: value for name, value in own if value is not None}, **self.more}


def told_fields(failing: Mapping[str, str]) -> str:
    """The failing fields for a message: only names and reasons that are known.

    Whoever answers instead of the service might put anything there, also what was sent.
    """
    known_names = {each.name for each in fields(Lead)}
    known = [f"{name}: {why}" for name, why in failing.items() if name in known_names and why in _REASONS]
    others = len(failing) - len(known)
    return ", ".join(known + ([f"{others} more"] if others else []))


class _Unwritable(Exception):
    """A value that JSON does not have; the text says which type, and never shows it."""


def written(lead: Union[Lead, Mapping[str, object]]) -> Union[Secret, str]:
    """The lead as JSON in UTF-8, each number digit for digit; or why it cannot be written.

    This never raises, because its callers still have the open lead then, and reporters of errors show what they have.
    """
    if not isinstance(lead, (Lead, Mapping)):
        return "The lead must be a Lead or a mapping"
    if isinstance(lead, Lead) and any(getattr(lead, name, None) is not None for name in lead.more if name != "more"):
        return "A field of the lead is given twice: by its name and in more"
    parts: list[str] = []
    try:
        _write(lead._members() if isinstance(lead, Lead) else lead, parts.append)
        return Secret(_bytes_of("".join(parts)))
    except _Unwritable as unwritable:
        return f"The lead cannot be written as JSON: {unwritable}"
    except RecursionError:
        return "The lead cannot be written as JSON: it is nested too deeply, or holds itself"


def _bytes_of(text: str) -> bytes:
    # Not escaped, because the service's cap counts bytes, and "é" has two of them and "\\u00e9" six.
    try:
        return text.encode()
    except UnicodeEncodeError:
        pass
    # Half of a pair is no character; JSON has it as an escape only.
    return _LONE_SURROGATE.sub(lambda half: f"\\u{ord(half.group()):04x}", text).encode()


def _write(value: object, put: Callable[[str], object]) -> None:
    if isinstance(value, str):
        put(encode_basestring(str.__str__(value)))
    elif value is None:
        put("null")
    elif isinstance(value, bool):
        put("true" if value else "false")
    elif isinstance(value, (int, float, Decimal)):
        put(_number(value))
    elif isinstance(value, Mapping):
        _write_object(value, put)
    elif isinstance(value, (list, tuple)):
        before = "["
        for item in value:
            put(before)
            _write(item, put)
            before = ","
        put("[]" if before == "[" else "]")
    else:
        raise _Unwritable(f"there is no such thing as a {type(value).__name__} in JSON")


def _write_object(value: Mapping[object, object], put: Callable[[str], object]) -> None:
    before = "{"
    for name, member in value.items():
        if not isinstance(name, str):
            raise _Unwritable("the name of a field must be text")
        put(before)
        put(encode_basestring(str.__str__(name)))
        put(":")
        _write(member, put)
        before = ","
    put("{}" if before == "{" else "}")


def _number(value: Union[int, float, Decimal]) -> str:
    # Not str(): an IntEnum's, for example, is its name.
    if isinstance(value, int):
        try:
            return int.__repr__(value)
        except ValueError:
            # Python refuses to write more than some thousand digits of an int, not of a Decimal.
            return Decimal.__str__(Decimal(value))
    if not (value.is_finite() if isinstance(value, Decimal) else math.isfinite(value)):
        raise _Unwritable("a number must be finite")
    return Decimal.__str__(value) if isinstance(value, Decimal) else float.__repr__(value)
