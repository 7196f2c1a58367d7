from __future__ import annotations

import json
import unittest
from email.utils import formatdate
from typing import Any

import leads_python as leads

from .both_clients import FakeClock, Kind, both
from .scripted_server import ACCEPTED, NOT_ACCEPTING, VOCABULARY, Server, answer


def on(clock: FakeClock) -> dict[str, Any]:
    return {"clock": clock, "sleep": clock.sleep, "random": lambda: 1.0}


class ClockTest(unittest.TestCase):
    @both
    def test_the_deadline_is_of_the_clock_that_was_given(self, kind: Kind) -> None:
        clock = FakeClock()
        with Server(NOT_ACCEPTING) as server, kind(server.url, tries=100, deadline=60, **on(clock)) as client:
            with self.assertRaises(leads.UnavailableError) as caught:
                client.post()
        self.assertEqual(clock.slept, [1, 2, 4, 8, 16])
        self.assertEqual(caught.exception.tries, 6)
        self.assertEqual((caught.exception.status, caught.exception.code), (503, "not_accepting"))

    @both
    def test_a_call_may_have_a_deadline_of_its_own(self, kind: Kind) -> None:
        clock = FakeClock()
        with Server(NOT_ACCEPTING) as server, kind(server.url, **on(clock)) as client:
            with self.assertRaises(leads.UnavailableError):
                client.post(deadline=2)
        self.assertEqual(clock.slept, [1])

    @both
    def test_a_date_in_retry_after_is_of_the_clock_that_was_given(self, kind: Kind) -> None:
        clock = FakeClock()
        later = answer(503, {"error": "not_accepting"}, Retry_After=formatdate(clock.now + 47, usegmt=True))
        with Server(later, ACCEPTED) as server, kind(server.url, **on(clock)) as client:
            client.post()
        self.assertEqual(clock.slept, [47])

    @both
    def test_the_vocabulary_is_kept_for_its_max_age_and_then_renewed_by_its_etag(self, kind: Kind) -> None:
        clock = FakeClock()
        read = answer(200, VOCABULARY, Cache_Control="public, max-age=300", ETag='"v1"')
        renewed = b'HTTP/1.1 304 Not Modified\r\nCache-Control: max-age=100\r\nETag: "v1"\r\n\r\n'
        with Server(read, renewed) as server, kind(server.url, **on(clock)) as client:
            first = client.vocabulary()
            clock.now += 299
            self.assertIs(client.vocabulary(), first)
            self.assertEqual(len(server.requests), 1)
            clock.now += 1
            self.assertEqual(client.vocabulary(), first)
            clock.now += 99
            client.vocabulary()
            self.assertEqual(len(server.requests), 2)
            clock.now += 1
            client.vocabulary()
        self.assertEqual([request.headers.get("if-none-match") for request in server.requests], [None, '"v1"', '"v1"'])
        self.assertEqual(first.areas, (leads.Area("kitchen", "confirmed"),))

    @both
    def test_a_renewal_that_says_nothing_leaves_the_max_age_as_it_was(self, kind: Kind) -> None:
        clock = FakeClock()
        read = answer(200, VOCABULARY, Cache_Control="max-age=300", ETag='"v1"')
        with Server(read, b"HTTP/1.1 304 Not Modified\r\n\r\n") as server, kind(server.url, **on(clock)) as client:
            client.vocabulary()
            for _ in range(2):
                clock.now += 300
                client.vocabulary()
                clock.now += 299
                client.vocabulary()
        self.assertEqual(len(server.requests), 3)

    @both
    def test_an_etag_is_sent_back_only_where_it_has_the_form_of_one(self, kind: Kind) -> None:
        sound = ('"v1"', 'W/"v1"', '""', '"\xe9"')
        for etag in (*sound, '"a\x01b"', '"a\tb"', '"a\x7fb"', '"a b"', '"a"b"', "v1", 'w/"v1"', '"v1', ""):
            body = json.dumps(VOCABULARY)
            head = f"HTTP/1.1 200 OK\r\nContent-Length: {len(body)}\r\nCache-Control: max-age=0\r\nETag: {etag}\r\n\r\n"
            with Server((head + body).encode("latin-1")) as server, kind(server.url) as client:
                client.vocabulary()
                client.vocabulary()
            sent = [request.headers.get("if-none-match") for request in server.requests]
            self.assertEqual(sent, [None, etag if etag in sound else None])

    @both
    def test_an_etag_stays_when_a_renewal_has_none_of_its_form(self, kind: Kind) -> None:
        read = answer(200, VOCABULARY, Cache_Control="max-age=0", ETag='"v1"')
        with Server(read, b'HTTP/1.1 304 Not Modified\r\nETag: "\x01"\r\n\r\n') as server, kind(server.url) as client:
            for _ in range(3):
                client.vocabulary()
        self.assertEqual([request.headers.get("if-none-match") for request in server.requests], [None, '"v1"', '"v1"'])

    @both
    def test_a_max_age_too_big_to_hold_is_a_year(self, kind: Kind) -> None:
        clock = FakeClock()
        read = answer(200, VOCABULARY, Cache_Control=f"max-age={'9' * 5_000}")
        with Server(read) as server, kind(server.url, **on(clock)) as client:
            for seconds in (0, 365 * 86_400 - 1, 1):
                clock.now += seconds
                client.vocabulary()
        self.assertEqual(len(server.requests), 2)

    @both
    def test_a_vocabulary_that_must_not_be_stored_is_not(self, kind: Kind) -> None:
        read = answer(200, VOCABULARY, Cache_Control="no-store, max-age=300", ETag='"v1"')
        with Server(read) as server, kind(server.url) as client:
            client.vocabulary()
            client.vocabulary()
        self.assertEqual([request.headers.get("if-none-match") for request in server.requests], [None, None])
