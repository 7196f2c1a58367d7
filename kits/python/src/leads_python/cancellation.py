"""Ends a call of `Client` from another thread or from a signal handler."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Callable


class Cancellation:
    """Given to calls, it ends them: `cancel` ends every wait and every try under way at once.

    It may be shared by many calls and cancelled from any thread, and also from a signal handler. Once cancelled it
    stays so, and calls that are given it raise `CallCancelledError` before anything is sent.

    A call in the main thread also ends with ``KeyboardInterrupt``, as everything else in Python does, and tasks of
    asyncio have ``Task.cancel``; neither needs one of these.
    """

    def __init__(self) -> None:
        # Reentrant, because a signal handler runs in the midst of what the main thread does.
        self._lock = threading.RLock()
        self._rings: dict[object, Callable[[], None]] = {}
        self._cancelled = False

    @property
    def cancelled(self) -> bool:
        """Whether `cancel` was called."""
        return self._cancelled

    def cancel(self) -> None:
        """Ends the calls that were given this, now and later. A second time changes nothing."""
        self._cancelled = True
        with self._lock:
            for ring in list(self._rings.values()):
                ring()

    @contextmanager
    def _ringing(self, ring: Callable[[], None]) -> Iterator[None]:
        """Calls `ring`, which must neither block nor raise, when `cancel` is called meanwhile."""
        mark = object()
        with self._lock:
            self._rings[mark] = ring
        try:
            yield
        finally:
            with self._lock:
                del self._rings[mark]
