"""The connections of a client, and whose turn it is to have one."""

from __future__ import annotations

import socket
import threading
import time
from collections import deque
from typing import Callable, Optional

from ._io import Endpoint
from ._stream import Stream

IDLE_SECONDS_MAX = 60.0
"""Chosen: under what firewalls forget silently after (four minutes and more)."""


class Turn:
    """A place in the line; `ring` is called, in any thread, when it is this one's turn."""

    def __init__(self, ring: Callable[[], None]) -> None:
        self.ring = ring
        self.has_come = False


class _Idle:
    """A connection that nobody uses at the moment."""

    def __init__(self, stream: Stream, seconds_max: float) -> None:
        self.stream = stream
        self._seconds_max = seconds_max
        # Two clocks, because the first one stands still while the machine sleeps.
        self._since = time.monotonic(), time.time()

    def is_fresh(self) -> bool:
        age = max(time.monotonic() - self._since[0], time.time() - self._since[1])
        return age < self._seconds_max


class Pool:
    """Connections for so many calls at once; the others stand in line. Thread-safe, and never blocks."""

    def __init__(self, connections_max: int) -> None:
        self._lock = threading.Lock()
        self._free = connections_max
        self._line: deque[Turn] = deque()
        self._idle: list[_Idle] = []
        self._closed = False

    def take_turn(self, ring: Callable[[], None]) -> Turn:
        """A turn that has come, or will."""
        turn = Turn(ring)
        with self._lock:
            if self._free > 0:
                self._free -= 1
                turn.has_come = True
            else:
                self._line.append(turn)
        return turn

    def leave(self, turn: Turn) -> None:
        """Gives a turn up, whether it has come or not."""
        with self._lock:
            if not turn.has_come:
                self._line.remove(turn)
                return
        self.end_turn()

    def end_turn(self) -> None:
        """Lets the next one in the line have its turn."""
        while True:
            with self._lock:
                if not self._line:
                    self._free += 1
                    return
                turn = self._line.popleft()
                turn.has_come = True
            try:
                turn.ring()
                return
            except RuntimeError:
                # The event loop of the one who waited is closed, so nobody would use the turn or end it.
                continue

    def take_idle(self) -> Optional[Stream]:
        """The connection that was used last and is still open, if there is one."""
        while True:
            with self._lock:
                if not self._idle:
                    return None
                idle = self._idle.pop()
            if idle.is_fresh() and idle.stream.is_quiet():
                return idle.stream
            idle.stream.close()

    def keep(self, stream: Stream, seconds_max: float = IDLE_SECONDS_MAX) -> None:
        """Keeps a connection whose last answer was read to its end, for so long at most."""
        with self._lock:
            if not self._closed:
                self._idle.append(_Idle(stream, min(seconds_max, IDLE_SECONDS_MAX)))
                return
        stream.close()

    def abandon(self) -> None:
        """Closes this process's copies of what is idle; those of the process that it was forked from stay open.

        Without the lock, because a thread that the fork left behind may have it.
        """
        for each in self._idle:
            each.stream.close()

    def close(self) -> None:
        """Closes what is idle now, and what is in use when it is given back."""
        with self._lock:
            self._closed = True
            idle, self._idle = self._idle, []
        for each in idle:
            each.stream.close()


class Lookup:
    """The addresses of a host, asked for in a thread because the platform's call can neither be ended nor bounded."""

    def __init__(self) -> None:
        self.done = False
        self.found: list[Endpoint] = []
        self.error: Optional[OSError] = None
        self.rings: list[Callable[[], None]] = []


class Resolver:
    """Looks up hosts; whoever asks for one that is being looked up shares that answer, so threads do not pile up."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._under_way: dict[tuple[str, int], Lookup] = {}

    def look_up(self, host: str, port: int, ring: Callable[[], None]) -> Lookup:
        """A lookup that is done, or calls `ring` in another thread when it is."""
        with self._lock:
            lookup = self._under_way.get((host, port))
            if lookup is not None:
                lookup.rings.append(ring)
                return lookup
            lookup = Lookup()
        try:
            lookup.found = _addresses(host, port, socket.AI_NUMERICHOST)
            lookup.done = True
            return lookup
        except OSError:
            pass
        with self._lock:
            lookup = self._under_way.setdefault((host, port), lookup)
            lookup.rings.append(ring)
            if len(lookup.rings) > 1:
                return lookup
        thread = threading.Thread(target=self._run, args=(host, port, lookup), name="leads-lookup", daemon=True)
        try:
            thread.start()
        except RuntimeError:
            # No more threads are to be had, or the program is ending.
            self._run(host, port, lookup)
        return lookup

    def _run(self, host: str, port: int, lookup: Lookup) -> None:
        try:
            lookup.found = _addresses(host, port, 0)
        except OSError as error:
            lookup.error = error.with_traceback(None)
        except UnicodeError:
            lookup.error = OSError(0, "the name of the host is not valid")
        with self._lock:
            del self._under_way[host, port]
            lookup.done = True
        for ring in lookup.rings:
            try:
                ring()
            except RuntimeError:
                # The event loop of the one who asked is closed.
                continue


def _addresses(host: str, port: int, flags: int) -> list[Endpoint]:
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, proto=socket.IPPROTO_TCP, flags=flags)
    return [(family, address) for family, _, _, _, address in found]
