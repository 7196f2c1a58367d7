"""What an answer means: the rules of the service, in their order."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Callable, Generic, NoReturn, Optional, TypeVar, Union

from ._http1 import Answer
from .results import Acknowledgement, Area, Vocabulary

if TYPE_CHECKING:
    # Known to type checkers, and to Python itself from 3.10 on.
    from typing_extensions import TypeGuard

T = TypeVar("T")

_CODE = re.compile("[a-z_]{1,64}")


@dataclass(frozen=True, repr=False)
class Done(Generic[T]):
    """The call has its result."""

    value: T


@dataclass(frozen=True, repr=False)
class Spent:
    """A try came to nothing, and another may follow."""

    reason: str
    #: Whether the service may have taken the lead all the same.
    unknown: bool


@dataclass(frozen=True, repr=False)
class Limited:
    """A 429: wait, and no try is spent."""


@dataclass(frozen=True, repr=False)
class Never:
    """An answer that must not be repeated."""

    kind: str
    reason: str
    #: For `invalid_lead`.
    fields: Optional[dict[str, str]] = None
    #: Whether the service may have taken the lead all the same.
    unknown: bool = False


Outcome = Union[Done[T], Spent, Limited, Never]

_Special = Callable[[Answer, object], Optional[Outcome[T]]]
"""What a call makes of an answer before the rules for all calls; ``None`` leaves it to them."""


def judge(answer: Answer, special: _Special[T]) -> tuple[Outcome[T], Optional[str]]:
    """The outcome of a try, and the service's code for it."""
    if not answer.whole:
        return Never("refused", _incomplete(answer), unknown=True), None
    said = read_json(answer.body)
    code = _code(said)
    return special(answer, said) or _judge_status(answer.status), code


def told_detail(answer: Answer) -> Optional[str]:
    """What an error of the service says is wrong."""
    said = read_json(answer.body) if answer.whole else None
    detail = said.get("detail") if isinstance(said, dict) and _code(said) else None
    return detail if isinstance(detail, str) else None


def _incomplete(answer: Answer) -> str:
    if answer.status == 101:
        return "a change of protocol, which was not asked for"
    return "interim answers without an end" if answer.status < 200 else "an answer that is too long"


def _judge_status(status: int) -> Outcome[T]:
    if 200 <= status < 300:
        return Spent("an answer that cannot be the service's", unknown=True)
    if status == 401:
        return Never("unauthorized", "the service does not know the key")
    if status == 429:
        return Limited()
    if 500 <= status < 600:
        return Spent("the service is not available", unknown=False)
    if 300 <= status < 400:
        return Never("refused", "a redirect, which is not followed")
    return Never("refused", "an answer that must not be repeated")


def acknowledged(answer: Answer, said: object, request_id: str, tries: int) -> Optional[Outcome[Acknowledgement]]:
    """Of a post: an acknowledgement, and a lead that is not valid."""
    if not isinstance(said, dict):
        return None
    if answer.status in (200, 202):
        texts = [said.get(name) for name in ("event_id", "status", "received_at", "source")]
        flags = said.get("flags")
        if _is_strings(texts) and _is_strings(flags) and texts[0] and texts[1] in ("accepted", "duplicate"):
            event_id, status, received_at, source = texts
            return Done(Acknowledgement(event_id, status, received_at, source, tuple(flags), request_id, tries))
    fields = said.get("fields")
    if answer.status == 422 and isinstance(fields, dict) and _is_strings(list(fields.values())):
        return Never("invalid_lead", "the lead is not valid", fields=fields)
    return None


def key_checked(answer: Answer, said: object) -> Optional[bool]:
    """Of a key check: whether the key is valid; ``None`` when the answer does not tell."""
    if answer.status == 422 and _code(said) == "validation_failed":
        return True
    return False if answer.status == 401 else None


def vocabulary_read(answer: Answer, said: object) -> Optional[Outcome[Vocabulary]]:
    """Of a reading of the vocabulary: the terms."""
    if answer.status != 200 or not isinstance(said, dict):
        return None
    areas, services, required = said.get("project_area"), said.get("project_service"), said.get("required")
    if not (isinstance(areas, list) and _is_strings(services) and _is_strings(required)):
        return None
    if not all(isinstance(each, dict) and _is_strings([each.get("area"), each.get("status")]) for each in areas):
        return None
    return Done(
        Vocabulary(
            tuple(Area(each["area"], each["status"]) for each in areas),
            tuple(services),
            tuple(required),
        )
    )


def _is_strings(value: object) -> TypeGuard[list[str]]:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


def _code(said: object) -> Optional[str]:
    # A stranger's answer may hold anything, also what was sent; only what can be a code of ours is told.
    error = said.get("error") if isinstance(said, dict) else None
    return error if isinstance(error, str) and _CODE.fullmatch(error) else None


def read_json(body: bytes) -> object:
    """What a body says; ``None`` when it is no JSON, and so is the JSON ``null``.

    Numbers are not made out: no rule looks at one, and a million digits would take long.
    """
    try:
        return json.loads(body.decode(), parse_int=_number, parse_float=_number, parse_constant=_no_constant)
    except (ValueError, RecursionError):
        # The parser's error holds the whole text, so it must not become the context of another one.
        return None


def _number(_: str) -> int:
    return 0


def _no_constant(_: str) -> NoReturn:
    raise ValueError
