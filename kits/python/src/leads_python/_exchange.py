"""One request and its answer, over a connection that is kept or a new one."""

from __future__ import annotations

import time
from typing import Optional

from ._http1 import Answer, AnswerReader, NotHttp
from ._io import Broken, Io, told
from ._pool import Pool
from ._route import Route
from ._secret import Secret
from ._stream import Stream


class Progress:
    """How far a try has come; it can be read whatever ends the try."""

    def __init__(self) -> None:
        self.sent = False

    def went_out(self) -> None:
        """Bytes of the request were sent on an established connection."""
        self.sent = True


async def exchange(io: Io, pool: Pool, route: Route, request: Secret, *, seconds: float, progress: Progress) -> Answer:
    """Sends a request, and reads its answer to the end.

    It may take so many seconds. That is only for giving addresses their shares of it; the caller ends what is longer.

    Raises:
        Broken: No whole answer came.
    """
    until = time.monotonic() + seconds
    try:
        while True:
            kept = pool.take_idle()
            stream = kept or await route.open(io, until)
            answer = await _ask(io, pool, stream, request, progress, is_kept=kept is not None)
            if answer is not None:
                return answer
    except OSError as error:
        reason = told(error)
    except NotHttp as error:
        reason = str(error)
    raise Broken(reason)


async def _ask(
    io: Io, pool: Pool, stream: Stream, request: Secret, progress: Progress, *, is_kept: bool
) -> Optional[Answer]:
    """``None`` when a kept connection turned out to be closed before anything was sent on it."""
    keep_seconds: Optional[float] = None
    try:
        lost = await _send(io, stream, request, progress)
        if lost is not None and not progress.sent:
            if is_kept:
                return None
            raise lost
        # Also when only a part went out: who does not read on may have said why before closing.
        answer = await _receive(io, stream)
        if answer.reusable and lost is None:
            keep_seconds = answer.idle_seconds
        return answer
    finally:
        if keep_seconds is None:
            stream.close()
        else:
            pool.keep(stream, keep_seconds)


async def _send(io: Io, stream: Stream, request: Secret, progress: Progress) -> Optional[OSError]:
    try:
        await stream.send(io, request.view(), progress.went_out)
    except OSError as error:
        return error
    return None


async def _receive(io: Io, stream: Stream) -> Answer:
    reader = AnswerReader()
    while reader.answer is None:
        reader.feed(await stream.receive(io))
    return reader.answer
