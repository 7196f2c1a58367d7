from __future__ import annotations

import asyncio
import os
import threading
import unittest
import warnings
from concurrent.futures import ThreadPoolExecutor
from typing import Callable

import leads_python as leads

from .both_clients import LEAD, Kind, both
from .scripted_server import ACCEPTED, KEY, NOT_ACCEPTING, PATIENCE_SECONDS, SILENCE, Request, Server, accepted


def told_by_key(request: Request) -> bytes:
    return accepted(event_id=f"event of {request.headers['idempotency-key']}")


class ConcurrencyTest(unittest.TestCase):
    def test_threads_share_a_client_and_its_bound_of_connections(self) -> None:
        with Server(told_by_key) as server, leads.Client(KEY, server.url, connections=3) as client:
            with ThreadPoolExecutor(16) as pool:
                keys = [f"acme:{n}" for n in range(200)]
                taken = list(pool.map(lambda key: client.post_lead(LEAD, idempotency_key=key), keys))
        self.assertEqual([each.event_id for each in taken], [f"event of {key}" for key in keys])
        self.assertLessEqual(server.connections, 3)
        self.assertEqual(len(server.requests), 200)

    def test_tasks_share_a_client_and_its_bound_of_connections(self) -> None:
        async def post_all(client: leads.AsyncClient) -> list[leads.Acknowledgement]:
            async with client:
                posts = [client.post_lead(LEAD, idempotency_key=f"acme:{n}") for n in range(200)]
                return await asyncio.gather(*posts)

        with Server(told_by_key) as server:
            taken = asyncio.run(post_all(leads.AsyncClient(KEY, server.url, connections=3)))
        self.assertEqual([each.event_id for each in taken], [f"event of acme:{n}" for n in range(200)])
        self.assertLessEqual(server.connections, 3)

    def test_event_loops_of_several_threads_share_a_client(self) -> None:
        with Server(told_by_key) as server:
            client = leads.AsyncClient(KEY, server.url, connections=2)

            def run(n: int) -> str:
                return asyncio.run(client.post_lead(LEAD, idempotency_key=f"acme:{n}")).event_id

            with ThreadPoolExecutor(8) as pool:
                told = list(pool.map(run, range(40)))
            asyncio.run(client.aclose())
        self.assertEqual(told, [f"event of acme:{n}" for n in range(40)])
        self.assertLessEqual(server.connections, 2)

    @both
    def test_one_connection_serves_calls_one_after_the_other(self, kind: Kind) -> None:
        with Server(NOT_ACCEPTING, ACCEPTED) as server, kind(server.url, sleep=lambda _: None) as client:
            for _ in range(5):
                client.post()
        self.assertEqual(server.connections, 1)

    @both
    def test_a_wait_does_not_keep_a_connection_from_others(self, kind: Kind) -> None:
        with Server(NOT_ACCEPTING, ACCEPTED) as server:
            # The second call is made in the midst of the first one's wait, with the one connection that there may be.
            calls: list[Callable[[], object]] = []
            with kind(server.url, connections=1, sleep=lambda _: in_another_thread(calls[0])) as client:
                calls.append(client.post)
                self.assertEqual(client.post().tries, 2)
        self.assertEqual(server.connections, 1)

    @both
    def test_whose_turn_does_not_come_before_the_deadline_has_sent_nothing(self, kind: Kind) -> None:
        with Server(SILENCE) as server, kind(server.url, connections=1, tries=1) as client:
            holder = threading.Thread(target=lambda: self.assertRaises(leads.UnavailableError, client.post))
            holder.start()
            server.next_request()
            with self.assertRaises(leads.UnavailableError) as caught:
                client.post(deadline=0.05)
            server.close_connections()
            holder.join()
        self.assertEqual(len(server.requests), 1)
        self.assertEqual((caught.exception.tries, caught.exception.request_id), (0, None))
        self.assertFalse(caught.exception.unknown_outcome)

    @both
    def test_a_connection_is_kept_no_longer_than_its_server_says(self, kind: Kind) -> None:
        for timeout, connections in ((1_000, 1), (1, 2)):
            said = accepted().replace(b"\r\n\r\n", b"\r\nKeep-Alive: max=5, timeout=%d\r\n\r\n" % timeout)
            with self.subTest(timeout=timeout), Server(said) as server, kind(server.url) as client:
                client.post()
                client.post()
                self.assertEqual(server.connections, connections)

    @both
    def test_a_connection_that_was_closed_meanwhile_costs_no_try(self, kind: Kind) -> None:
        with Server(ACCEPTED) as server, kind(server.url, tries=1) as client:
            client.post()
            server.close_connections()
            client.post()
        self.assertEqual(server.connections, 2)

    @both
    def test_a_client_that_is_closed_in_the_midst_of_a_call_closes_its_connection_afterwards(self, kind: Kind) -> None:
        def close_and_tell(request: Request) -> bytes:
            client.client._core.close()
            return ACCEPTED

        with Server(close_and_tell) as server:
            client = kind(server.url)
            self.assertEqual(client.post().status, "accepted")
            server.wait_for_the_end_of_connections()

    @both
    def test_what_came_unasked_is_not_taken_for_an_answer(self, kind: Kind) -> None:
        with Server(ACCEPTED + ACCEPTED, UNIQUE) as server, kind(server.url, tries=1) as client:
            client.post()
            self.assertEqual(client.post().event_id, "another")
        self.assertEqual(server.connections, 2)

    @unittest.skipUnless(hasattr(os, "fork"), "Needs fork")
    @both
    def test_a_forked_process_has_connections_of_its_own(self, kind: Kind) -> None:
        with Server(ACCEPTED) as server, kind(server.url) as client:
            client.post(idempotency_key="parent:1")
            with warnings.catch_warnings():
                # That other threads are not in the child is what this is about.
                warnings.simplefilter("ignore", DeprecationWarning)
                child = os.fork()
            if child == 0:
                try:
                    client.post(idempotency_key="child:1")
                    client.close()
                    os._exit(0)
                finally:
                    os._exit(1)
            self.assertEqual(os.waitpid(child, 0)[1], 0)
            client.post(idempotency_key="parent:2")
        told = [(request.headers["idempotency-key"], request.connection) for request in server.requests]
        self.assertEqual(told, [("parent:1", 1), ("child:1", 2), ("parent:2", 1)])


UNIQUE = accepted(event_id="another")


def in_another_thread(call: Callable[[], object]) -> None:
    thread = threading.Thread(target=call)
    thread.start()
    thread.join(PATIENCE_SECONDS)
