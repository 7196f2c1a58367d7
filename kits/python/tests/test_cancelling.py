from __future__ import annotations

import asyncio
import os
import signal
import threading
import unittest
from typing import Any, Callable, Optional
from unittest import mock

import leads_python as leads
from leads_python._pool import Turn

from .both_clients import LEAD, Kind, both
from .scripted_server import ACCEPTED, KEY, PATIENCE_SECONDS, SILENCE, Server, answer

MUCH_LATER = answer(503, {"error": "not_accepting"}, Retry_After="3000")
VERY_PATIENT: dict[str, Any] = {"deadline": 10_000, "try_timeout": 5_000}
"""So long that a test which is not ended by what it tests would never end."""


class CancellationTest(unittest.TestCase):
    def cancelled(self, client: leads.Client, cancellation: leads.Cancellation) -> leads.CallCancelledError:
        with self.assertRaises(leads.CallCancelledError) as caught:
            client.post_lead(LEAD, idempotency_key="acme:1", cancellation=cancellation)
        return caught.exception

    def test_a_wait_is_ended_at_once(self) -> None:
        cancellation = leads.Cancellation()

        def cancel_soon(event: leads.Event) -> None:
            if isinstance(event, leads.WaitBegun):
                threading.Thread(target=cancellation.cancel).start()

        with Server(MUCH_LATER) as server:
            with leads.Client(KEY, server.url, observer=cancel_soon, **VERY_PATIENT) as client:
                error = self.cancelled(client, cancellation)
        self.assertEqual((error.status, error.code, error.tries), (503, "not_accepting", 1))
        self.assertFalse(error.unknown_outcome)

    def test_a_try_is_ended_at_once_and_its_outcome_is_unknown(self) -> None:
        cancellation = leads.Cancellation()
        with Server(SILENCE) as server, leads.Client(KEY, server.url, **VERY_PATIENT) as client:
            canceller = threading.Thread(target=lambda: (server.next_request(), cancellation.cancel()))
            canceller.start()
            error = self.cancelled(client, cancellation)
            canceller.join()
        self.assertEqual(error.request_id, server.requests[0].headers["x-request-id"])
        self.assertEqual((error.status, error.tries, error.unknown_outcome), (None, 0, True))

    def test_standing_in_line_is_ended_at_once_and_the_turn_goes_to_the_next(self) -> None:
        holding, waiting = leads.Cancellation(), leads.Cancellation()
        with (
            Server(SILENCE, ACCEPTED) as server,
            leads.Client(KEY, server.url, connections=1, **VERY_PATIENT) as client,
        ):
            holder = threading.Thread(target=self.cancelled, args=(client, holding))
            holder.start()
            server.next_request()
            pool, in_line = client._core.outliving().pool, threading.Event()
            take_turn = pool.take_turn

            def take_and_tell(ring: Callable[[], None]) -> Turn:
                turn = take_turn(ring)
                in_line.set()
                return turn

            with mock.patch.object(pool, "take_turn", take_and_tell):
                waiter = threading.Thread(target=self.cancelled, args=(client, waiting))
                waiter.start()
                in_line.wait(PATIENCE_SECONDS)
            waiting.cancel()
            waiter.join(PATIENCE_SECONDS)
            self.assertFalse(waiter.is_alive())
            self.assertTrue(holder.is_alive())
            holding.cancel()
            holder.join()
            self.assertEqual(len(server.requests), 1)
            self.assertEqual(client.post_lead(LEAD, idempotency_key="acme:1").status, "accepted")

    def test_one_that_is_cancelled_already_sends_nothing(self) -> None:
        cancellation = leads.Cancellation()
        cancellation.cancel()
        self.assertTrue(cancellation.cancelled)
        with Server(ACCEPTED) as server, leads.Client(KEY, server.url) as client:
            error = self.cancelled(client, cancellation)
        self.assertEqual(server.connections, 0)
        self.assertEqual((error.request_id, error.tries, error.unknown_outcome), (None, 0, False))

    def test_it_ends_all_calls_that_were_given_it_and_no_others(self) -> None:
        cancellation = leads.Cancellation()
        errors: list[leads.CallCancelledError] = []
        with Server(SILENCE, SILENCE, SILENCE, ACCEPTED) as server:
            with leads.Client(KEY, server.url, **VERY_PATIENT) as client:
                calls = [
                    threading.Thread(target=lambda: errors.append(self.cancelled(client, cancellation)))
                    for _ in range(3)
                ]
                for call in calls:
                    call.start()
                for _ in calls:
                    server.next_request()
                cancellation.cancel()
                for call in calls:
                    call.join()
                other = client.post_lead(LEAD, idempotency_key="acme:2", cancellation=leads.Cancellation())
        self.assertEqual(len(errors), 3)
        self.assertEqual(other.status, "accepted")

    @unittest.skipUnless(hasattr(signal, "SIGUSR1"), "Needs signals")
    def test_a_signal_handler_may_cancel(self) -> None:
        cancellation = leads.Cancellation()
        before = signal.signal(signal.SIGUSR1, lambda *_: cancellation.cancel())
        self.addCleanup(signal.signal, signal.SIGUSR1, before)
        with Server(SILENCE) as server, leads.Client(KEY, server.url, **VERY_PATIENT) as client:
            sender = threading.Thread(target=lambda: (server.next_request(), os.kill(os.getpid(), signal.SIGUSR1)))
            sender.start()
            self.cancelled(client, cancellation)
            sender.join()

    @unittest.skipUnless(hasattr(signal, "SIGINT") and os.name == "posix", "Needs signals")
    def test_an_interrupt_stays_an_interrupt_and_gives_up_its_connection(self) -> None:
        def interrupt_soon(event: leads.Event) -> None:
            if isinstance(event, leads.WaitBegun):
                threading.Timer(0, os.kill, (os.getpid(), signal.SIGINT)).start()

        before = signal.signal(signal.SIGINT, signal.default_int_handler)
        self.addCleanup(signal.signal, signal.SIGINT, before)
        for answers, observer in (((SILENCE, ACCEPTED), None), ((MUCH_LATER, ACCEPTED), interrupt_soon)):
            with self.subTest(during="wait" if observer else "try"):
                self.interrupted(answers, observer)

    def interrupted(self, answers: Any, observer: Optional[Callable[[leads.Event], None]]) -> None:
        with Server(*answers) as server:
            options = {"connections": 1, "observer": observer, **VERY_PATIENT}
            with leads.Client(KEY, server.url, **options) as client:
                if observer is None:
                    wait = threading.Thread(target=lambda: (server.next_request(), os.kill(os.getpid(), signal.SIGINT)))
                    wait.start()
                with self.assertRaises(KeyboardInterrupt):
                    client.post_lead(LEAD, idempotency_key="acme:1")
                self.assertEqual(client.post_lead(LEAD, idempotency_key="acme:1").status, "accepted")


class TaskTest(unittest.TestCase):
    def test_a_task_in_a_wait_is_cancelled_as_ever_and_tells_what_became_of_the_call(self) -> None:
        async def run(url: str) -> BaseException:
            begun = asyncio.Event()

            def hear(event: leads.Event) -> None:
                if isinstance(event, leads.WaitBegun):
                    begun.set()

            async with leads.AsyncClient(KEY, url, observer=hear, **VERY_PATIENT) as client:
                task = asyncio.create_task(told(client))
                await begun.wait()
                task.cancel()
                return await task

        with Server(MUCH_LATER) as server:
            error = asyncio.run(run(server.url))
        self.assertIsInstance(error, leads.CallCancelledError)
        assert isinstance(error, leads.CallCancelledError)
        self.assertEqual((error.status, error.tries, error.unknown_outcome), (503, 1, False))

    def test_a_task_in_a_try_is_cancelled_and_its_outcome_is_unknown(self) -> None:
        async def run(server: Server) -> BaseException:
            async with leads.AsyncClient(KEY, server.url, **VERY_PATIENT) as client:
                task = asyncio.create_task(told(client))
                await asyncio.get_running_loop().run_in_executor(None, server.next_request)
                task.cancel()
                error = await task
                self.assertEqual((await client.post_lead(LEAD, idempotency_key="acme:1")).status, "accepted")
                return error

        with Server(SILENCE, ACCEPTED) as server:
            error = asyncio.run(run(server))
        assert isinstance(error, leads.CallCancelledError)
        self.assertEqual((error.tries, error.unknown_outcome), (0, True))
        self.assertEqual(server.connections, 2)

    def test_a_task_in_line_is_cancelled_and_its_turn_goes_to_the_next(self) -> None:
        async def run(server: Server) -> str:
            async with leads.AsyncClient(KEY, server.url, connections=1, **VERY_PATIENT) as client:
                holder = asyncio.create_task(told(client))
                await asyncio.get_running_loop().run_in_executor(None, server.next_request)
                waiter = asyncio.create_task(told(client))
                # Once around the loop, and it stands in line.
                await asyncio.sleep(0)
                waiter.cancel()
                error = await waiter
                assert isinstance(error, leads.CallCancelledError)
                self.assertEqual((error.request_id, error.unknown_outcome), (None, False))
                holder.cancel()
                await holder
                return (await client.post_lead(LEAD, idempotency_key="acme:1")).status

        with Server(SILENCE, ACCEPTED) as server:
            self.assertEqual(asyncio.run(run(server)), "accepted")

    def test_a_time_out_of_asyncio_ends_a_call(self) -> None:
        async def run(url: str) -> None:
            async with leads.AsyncClient(KEY, url, **VERY_PATIENT) as client:
                await asyncio.wait_for(client.post_lead(LEAD, idempotency_key="acme:1"), 0.05)

        with Server(SILENCE) as server, self.assertRaises(asyncio.TimeoutError):
            asyncio.run(run(server.url))

    def test_nothing_is_left_of_a_loop_that_ends_in_the_midst_of_a_call(self) -> None:
        async def run(server: Server, client: leads.AsyncClient) -> None:
            task = asyncio.create_task(client.post_lead(LEAD, idempotency_key="acme:1"))
            await asyncio.get_running_loop().run_in_executor(None, server.next_request)
            self.assertFalse(task.done())

        with Server(SILENCE, ACCEPTED) as server:
            client = leads.AsyncClient(KEY, server.url, connections=1, **VERY_PATIENT)
            asyncio.run(run(server, client))
            # The one turn that there is was given back.
            taken = asyncio.run(client.post_lead(LEAD, idempotency_key="acme:1"))
            asyncio.run(client.aclose())
        self.assertEqual(taken.status, "accepted")


async def told(client: leads.AsyncClient) -> BaseException:
    try:
        await client.post_lead(LEAD, idempotency_key="acme:1")
    except asyncio.CancelledError as cancelled:
        assert cancelled.__cause__ is not None
        return cancelled.__cause__
    raise AssertionError("the call was not cancelled")


class WhateverTheClientTest(unittest.TestCase):
    @both
    def test_a_time_out_of_a_try_covers_an_answer_that_comes_slowly(self, kind: Kind) -> None:
        head = b"HTTP/1.1 202 Accepted\r\nContent-Length: 1000\r\n\r\n{"
        with Server(head) as server, kind(server.url, tries=1, try_timeout=1) as client:
            with self.assertRaises(leads.UnavailableError) as caught:
                client.post()
        self.assertTrue(caught.exception.unknown_outcome)
