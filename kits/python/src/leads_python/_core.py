"""What `Client` and `AsyncClient` share: how calls are put together, and what outlives them."""

from __future__ import annotations

import os
import re
import secrets
from typing import Callable, NamedTuple, Optional, TypeVar, Union

from ._call import Call
from ._http1 import Answer
from ._judge import Done, Outcome, acknowledged, key_checked, vocabulary_read
from ._pool import Pool, Resolver
from ._secret import Secret
from ._settings import KIT, USER_AGENT, Settings, read_seconds
from .errors import MisconfiguredError
from .results import Acknowledgement, KeyCheck, Vocabulary

T = TypeVar("T")

_IDEMPOTENCY_KEY_MAX = 200
_REQUEST_ID_MAX = 64
_YEAR_SECONDS = 31_536_000
#: HTTP cuts blanks off at both ends: `a:1 ` would be the lead `a:1`.
_PRINTABLE = re.compile(r"[!-~](?:[ -~]*[!-~])?")
#: Of RFC 9110, 8.8.3.
_ETAG = re.compile(r'(?:W/)?"[!\x23-\x7e\x80-\xff]*"')
_MAX_AGE = re.compile(r"(?:^|,)\s*max-age=\"?([0-9]+)\"?\s*(?:,|$)", re.IGNORECASE)
_NO_STORE = re.compile(r"(?:^|,)\s*no-store\s*(?:,|$)", re.IGNORECASE)


def idempotency_key(namespace: str, item: Union[str, int]) -> str:
    """An idempotency key, such as ``acme:1842``: your own name before your record's.

    All sources of one customer share their idempotency keys, so that a bare id may be another source's.

    Args:
        namespace: Your name among all who post for this customer; always the same.
        item: Your record's id; always the same for a lead, however often it is posted.

    Raises:
        MisconfiguredError: A part is blank or not printable ASCII, or both together have over 200 characters.
    """
    parts = (namespace, str(item) if isinstance(item, int) else item)
    if not all(isinstance(part, str) and part.strip() for part in parts):
        raise MisconfiguredError("Both parts of an idempotency key must be text that is not blank")
    return _checked_key(":".join(parts))


def _checked_key(key: str) -> str:
    if not isinstance(key, str) or not key.strip():
        raise MisconfiguredError("The idempotency key must be text that is not blank")
    if len(key) > _IDEMPOTENCY_KEY_MAX:
        raise MisconfiguredError(f"The idempotency key must have {_IDEMPOTENCY_KEY_MAX} characters at most")
    if not _PRINTABLE.fullmatch(key):
        raise MisconfiguredError("The idempotency key must be printable ASCII without a blank at its ends")
    return key


def _checked_id(request_id: Optional[str]) -> str:
    if request_id is None:
        return f"{KIT}-{secrets.token_hex(8)}"
    if not isinstance(request_id, str) or not 0 < len(request_id) <= _REQUEST_ID_MAX:
        raise MisconfiguredError(f"The request id must be text of 1 to {_REQUEST_ID_MAX} characters")
    if not _PRINTABLE.fullmatch(request_id):
        raise MisconfiguredError("The request id must be printable ASCII without a blank at its ends")
    return request_id


def _own_etag(answer: Answer) -> Optional[str]:
    # It is sent back, so that one of another form, which may hold control characters, is none.
    etag = answer.headers.get("etag")
    return etag if etag is not None and _ETAG.fullmatch(etag) else None


class _Kept(NamedTuple):
    vocabulary: Vocabulary
    etag: Optional[str]
    #: Seconds; how long it may be kept from when it was read or renewed.
    max_age: int
    #: Of the clock's monotonic time.
    fresh_until: float


class _Outliving:
    """What calls share: connections, lookups and the vocabulary. A forked process has its own."""

    def __init__(self, connections: int) -> None:
        self.process = os.getpid()
        self.pool = Pool(connections)
        self.resolver = Resolver()
        self.kept: Optional[_Kept] = None


class Core:
    """A client without its ways of waiting."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.closed = False
        self._outliving = _Outliving(settings.connections)

    def outliving(self) -> _Outliving:
        """What calls share, made anew in a forked process.

        A connection is of one process alone, and a lock of the other one's may never be opened again.

        Raises:
            MisconfiguredError: The client is closed.
        """
        if self.closed:
            raise MisconfiguredError("The client is closed")
        if self._outliving.process != os.getpid():
            self._outliving.pool.abandon()
            self._outliving = _Outliving(self.settings.connections)
        return self._outliving

    def close(self) -> None:
        self.closed = True
        if self._outliving.process == os.getpid():
            self._outliving.pool.close()

    def check_key(self, request_id: Optional[str], deadline: Optional[float]) -> Call[KeyCheck]:
        """A call that gives whether the key is valid."""
        own_id = _checked_id(request_id)

        def judge(answer: Answer, said: object) -> Optional[Outcome[KeyCheck]]:
            valid = key_checked(answer, said)
            return None if valid is None else Done(KeyCheck(valid, own_id, call.tries + 1))

        request = self._posting(own_id, [], Secret(b"{}"))
        call = self._call("POST", request, request_id=own_id, deadline=deadline, judge=judge)
        return call

    def post_lead(
        self,
        body: Union[Secret, str],
        idempotency_key: str,
        request_id: Optional[str],
        deadline: Optional[float],
    ) -> Call[Acknowledgement]:
        """A call that posts a lead, or tells why it could not be written."""
        if isinstance(body, str):
            raise MisconfiguredError(body)
        own_key, own_id = _checked_key(idempotency_key), _checked_id(request_id)

        def judge(answer: Answer, said: object) -> Optional[Outcome[Acknowledgement]]:
            return acknowledged(answer, said, own_id, call.tries + 1)

        request = self._posting(own_id, [f"Idempotency-Key: {own_key}"], body)
        call = self._call("POST", request, request_id=own_id, deadline=deadline, judge=judge, posts_lead=True)
        return call

    def kept_vocabulary(self) -> Optional[Vocabulary]:
        """The vocabulary, as long as it may be kept."""
        kept = self.outliving().kept
        if kept is None or self.settings.clock.monotonic() >= kept.fresh_until:
            return None
        return kept.vocabulary

    def vocabulary(self, request_id: Optional[str], deadline: Optional[float]) -> Call[Vocabulary]:
        """A call that reads the vocabulary, or renews the one that is kept."""
        own_id = _checked_id(request_id)
        outliving = self.outliving()
        kept = outliving.kept
        etag = None if kept is None else kept.etag

        def judge(answer: Answer, said: object) -> Optional[Outcome[Vocabulary]]:
            outcome = vocabulary_read(answer, said)
            new_etag, max_age = _own_etag(answer), 0
            if answer.status == 304 and kept is not None and etag is not None:
                # What a 304 does not say is as it was.
                outcome, new_etag, max_age = Done(kept.vocabulary), new_etag or etag, kept.max_age
            if isinstance(outcome, Done):
                outliving.kept = self._keepable(outcome.value, new_etag, answer, max_age)
            return outcome

        lines = [] if etag is None else [f"If-None-Match: {etag}"]
        request = self._request("GET /v1/vocabulary", own_id, lines)
        return self._call("GET", request, request_id=own_id, deadline=deadline, judge=judge)

    def _keepable(self, vocabulary: Vocabulary, etag: Optional[str], answer: Answer, max_age: int) -> Optional[_Kept]:
        control = answer.headers.get("cache-control")
        if control is not None:
            if _NO_STORE.search(control):
                return None
            told = _MAX_AGE.search(control)
            # Digits too big to hold are for ever, which is a year in HTTP.
            max_age = 0 if told is None else _YEAR_SECONDS if len(told[1]) > 8 else int(told[1])
        return _Kept(vocabulary, etag, max_age, self.settings.clock.monotonic() + max_age)

    def _posting(self, request_id: str, lines: list[str], body: Secret) -> Secret:
        more = [*lines, "Content-Type: application/json", f"Content-Length: {len(body)}"]
        return Secret.joined(
            self._head("POST /v1/intake", request_id, more),
            b"X-API-Key: ",
            self.settings.key,
            b"\r\n\r\n",
            body,
        )

    def _request(self, what: str, request_id: str, lines: list[str]) -> Secret:
        return Secret.joined(self._head(what, request_id, lines), b"\r\n")

    def _head(self, what: str, request_id: str, lines: list[str]) -> bytes:
        method, path = what.split(" ")
        address = self.settings.address
        all_lines = [
            f"{method} {address.path}{path} HTTP/1.1",
            f"Host: {address.authority}",
            f"User-Agent: {USER_AGENT}",
            "Accept: application/json",
            # Nobody may compress an answer: a small body could become a very large one.
            "Accept-Encoding: identity",
            f"X-Request-Id: {request_id}",
            *lines,
        ]
        # What is not ASCII is an ETag's, and goes back as it came.
        return "".join(f"{line}\r\n" for line in all_lines).encode("latin-1")

    def _call(
        self,
        method: str,
        request: Secret,
        *,
        request_id: str,
        deadline: Optional[float],
        judge: Callable[[Answer, object], Optional[Outcome[T]]],
        posts_lead: bool = False,
    ) -> Call[T]:
        return Call(
            self.settings,
            method=method,
            request=request,
            request_id=request_id,
            deadline=self.settings.deadline if deadline is None else read_seconds("deadline", deadline),
            judge_specially=judge,
            posts_lead=posts_lead,
        )
