"""Runs one test over `Client` and over `AsyncClient`, which are to be one client."""

from __future__ import annotations

import asyncio
import functools
import unittest
from typing import Any, Callable, Optional, TypeVar, Union

import leads_python as leads

from .scripted_server import KEY

LEAD = {"first_name": "Canaryada", "last_name": "Canarylovelace", "phone": "(555) 010-4477"}

Test = TypeVar("Test", bound=unittest.TestCase)


class Threads:
    """`Client` with a key."""

    def __init__(self, base_url: Optional[str], key: Optional[str] = KEY, **options: Any) -> None:
        self.client: Any = leads.Client(key, base_url, **options)

    def __enter__(self) -> Threads:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self.client.close()

    def check_key(self, **options: Any) -> leads.KeyCheck:
        return self._run(lambda: self.client.check_key(**options))

    def post(self, lead: Any = LEAD, idempotency_key: str = "acme:1", **options: Any) -> leads.Acknowledgement:
        return self._run(lambda: self.client.post_lead(lead, idempotency_key=idempotency_key, **options))

    def vocabulary(self, **options: Any) -> leads.Vocabulary:
        return self._run(lambda: self.client.vocabulary(**options))

    def _run(self, call: Callable[[], Any]) -> Any:
        return call()


class Tasks(Threads):
    """`AsyncClient` with a key. Each call has an event loop of its own, which shows that the client belongs to none."""

    def __init__(
        self,
        base_url: Optional[str],
        key: Optional[str] = KEY,
        sleep: Optional[Callable[[float], None]] = None,
        **options: Any,
    ) -> None:
        async def sleep_async(seconds: float) -> None:
            if sleep is not None:
                sleep(seconds)

        self.client = leads.AsyncClient(key, base_url, sleep=None if sleep is None else sleep_async, **options)

    def close(self) -> None:
        asyncio.run(self.client.aclose())

    def _run(self, call: Callable[[], Any]) -> Any:
        async def run() -> Any:
            return await call()

        return asyncio.run(run())


Kind = Union[type[Threads], type[Tasks]]


def both(test: Callable[[Test, Kind], None]) -> Callable[[Test], None]:
    """A test that is run with each kind of client."""

    @functools.wraps(test)
    def run(self: Test) -> None:
        for kind in (Threads, Tasks):
            with self.subTest(client=kind.__name__):
                test(self, kind)

    return run


class FakeClock:
    """Time that goes on only when a client sleeps."""

    def __init__(self) -> None:
        self.now = 1_800_000_000.0
        self.slept: list[float] = []

    def time(self) -> float:
        return self.now

    def monotonic(self) -> float:
        return self.now - 1_000_000_000.0

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds
