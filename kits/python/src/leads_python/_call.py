"""One call: its tries and waits, up to its result or its error."""

from __future__ import annotations

import logging
from typing import Callable, Generic, Optional, TypeVar, Union

from . import _retry
from ._exchange import Progress, exchange
from ._http1 import Answer
from ._io import Broken, Io, TimedOut
from ._judge import Done, Limited, Never, Outcome, Spent, judge, told_detail
from ._pool import Pool
from ._secret import Secret
from ._settings import Settings
from .errors import (
    CallCancelledError,
    InvalidLeadError,
    LeadsError,
    RefusedError,
    UnauthorizedError,
    UnavailableError,
)
from .lead import told_fields
from .watching import Event, TryEnded, WaitBegun

T = TypeVar("T")
E = TypeVar("E", bound=LeadsError)

_log = logging.getLogger("leads_python")

_NEVER: dict[str, type[LeadsError]] = {"unauthorized": UnauthorizedError, "refused": RefusedError}


class Call(Generic[T]):
    """A call and how far it has come; what is left of a cancelled one tells what became of it."""

    def __init__(
        self,
        settings: Settings,
        *,
        method: str,
        request: Secret,
        request_id: str,
        deadline: float,
        judge_specially: Callable[[Answer, object], Optional[Outcome[T]]],
        posts_lead: bool = False,
    ) -> None:
        self.request_id = request_id
        self.tries = 0
        self._settings = settings
        self._method = method
        self._request = request
        self._deadline = deadline
        self._judge_specially = judge_specially
        self._posts_lead = posts_lead
        self._answer: Optional[Answer] = None
        self._code: Optional[str] = None
        self._began = False
        self._unknown = False
        self._limited_in_a_row = 0
        self._progress = Progress()

    async def run(self, io: Io, pool: Pool) -> T:
        """Makes the call.

        Raises:
            LeadsError: It came to nothing. It is never raised in the midst of handling another exception, so that
                there is none behind it with a request or an answer in it.
        """
        clock = self._settings.clock
        until = clock.monotonic() + self._deadline
        while True:
            left = until - clock.monotonic()
            # Whose turn does not come has waited for connections, up to the deadline.
            if left <= 0 or not await io.take_turn(left):
                raise self._unavailable("the deadline came")
            try:
                outcome = await self._try(io, pool, until - clock.monotonic())
            finally:
                pool.end_turn()
            if isinstance(outcome, Done):
                return outcome.value
            if isinstance(outcome, Never):
                raise self._never(outcome)
            reason = outcome.reason if isinstance(outcome, Spent) else "the rate limit is reached"
            wait = self._wait_after(outcome)
            if wait is None:
                raise self._unavailable(reason)
            if clock.monotonic() + wait >= until:
                raise self._unavailable(f"{reason}, and the next try would come after the deadline")
            self._tell(WaitBegun(wait, isinstance(outcome, Limited), self.request_id))
            await io.sleep(wait)

    async def _try(self, io: Io, pool: Pool, left: float) -> Outcome[T]:
        clock = self._settings.clock
        began = clock.monotonic()
        self._answer = self._code = None
        self._began = True
        self._progress = Progress()
        try:
            outcome = await self._ask(io, pool, max(0.0, min(self._settings.try_timeout, left)))
            self._settle(outcome)
            return outcome
        finally:
            # Also of one that is cancelled.
            self._tell(TryEnded(self._method, self._status, clock.monotonic() - began, self.request_id))

    async def _ask(self, io: Io, pool: Pool, seconds: float) -> Outcome[T]:
        progress = self._progress
        work = exchange(io, pool, self._settings.route, self._request, seconds=seconds, progress=progress)
        try:
            self._answer = await io.within(seconds, work)
        except TimedOut:
            reason = "no whole answer came in time"
        except Broken as broken:
            reason = str(broken)
        if self._answer is None:
            return Spent(reason, unknown=progress.sent)
        outcome, self._code = judge(self._answer, self._judge_specially)
        return outcome

    def _settle(self, outcome: Outcome[T]) -> None:
        # From here on the outcome says what is unknown, and no longer how far the try had come.
        self._progress = Progress()
        self._unknown = self._unknown or (isinstance(outcome, (Spent, Never)) and outcome.unknown)
        if isinstance(outcome, Limited):
            self._limited_in_a_row += 1
        else:
            self._limited_in_a_row = 0
            self.tries += 1

    def _wait_after(self, outcome: Union[Spent, Limited]) -> Optional[float]:
        """Seconds; ``None`` when there is no further try."""
        settings = self._settings
        header = None if self._answer is None else self._answer.headers.get("retry-after")
        asked = _retry.read_retry_after(header, settings.clock.time())
        if isinstance(outcome, Limited):
            return _retry.after_rate_limit(self._limited_in_a_row, asked, settings.random())
        if self.tries >= settings.tries:
            return None
        floor = asked if self._status is not None and self._status >= 500 else None
        return _retry.after_failure(self.tries, floor, settings.random())

    @property
    def _status(self) -> Optional[int]:
        return None if self._answer is None else self._answer.status

    def _tell(self, event: Event) -> None:
        if self._settings.observer is None:
            return
        try:
            self._settings.observer(event)
        except Exception:
            # A lead is not lost, and an outcome not hidden, because somebody could not count it.
            _log.exception("The observer of a leads client failed")

    def cancelled(self) -> CallCancelledError:
        """What became of the call, when something ended `run` from outside."""
        return self._error(CallCancelledError, "The call was cancelled")

    def _unavailable(self, reason: str) -> UnavailableError:
        spent = "1 try was" if self.tries == 1 else f"{self.tries} tries were"
        return self._error(UnavailableError, f"The service is unavailable; {spent} spent: {reason}")

    def _never(self, outcome: Never) -> LeadsError:
        if outcome.fields is not None:
            message = f"The lead is not valid ({told_fields(outcome.fields)})"
            return self._error(InvalidLeadError, message, fields=outcome.fields)
        return self._error(_NEVER[outcome.kind], f"The call was refused: {outcome.reason}")

    def _error(self, kind: Callable[..., E], message: str, **more: object) -> E:
        answer = "" if self._status is None else f" [{self._status}{f' {self._code}' if self._code else ''}]"
        return kind(
            message + answer,
            status=self._status,
            code=self._code,
            # Not kept before: reporters of errors show what is.
            detail=None if self._answer is None else told_detail(self._answer),
            request_id=self.request_id if self._began else None,
            tries=self.tries,
            unknown_outcome=self._posts_lead and (self._unknown or self._progress.sent),
            **more,
        )
