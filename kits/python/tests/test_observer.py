from __future__ import annotations

import unittest
from typing import Any

import leads_python as leads

from .both_clients import FakeClock, Kind, both
from .scripted_server import ACCEPTED, NOT_ACCEPTING, RATE_LIMITED, SILENCE, Server


class ObserverTest(unittest.TestCase):
    @both
    def test_an_observer_hears_of_every_try_and_every_wait(self, kind: Kind) -> None:
        heard: list[leads.Event] = []
        clock = FakeClock()
        options: dict[str, Any] = {
            "observer": heard.append,
            "clock": clock,
            "sleep": clock.sleep,
            "random": lambda: 0.5,
        }
        with Server(NOT_ACCEPTING, RATE_LIMITED, ACCEPTED) as server, kind(server.url, **options) as client:
            client.post(request_id="r1")
        self.assertEqual(
            heard,
            [
                leads.TryEnded("POST", 503, 0.0, "r1"),
                leads.WaitBegun(0.75, rate_limited=False, request_id="r1"),
                leads.TryEnded("POST", 429, 0.0, "r1"),
                leads.WaitBegun(1.125, rate_limited=True, request_id="r1"),
                leads.TryEnded("POST", 202, 0.0, "r1"),
            ],
        )
        self.assertEqual(clock.slept, [0.75, 1.125])

    @both
    def test_a_try_without_an_answer_has_no_status(self, kind: Kind) -> None:
        heard: list[leads.Event] = []
        with Server(b"") as server, kind(server.url, tries=1, observer=heard.append) as client:
            with self.assertRaises(leads.UnavailableError):
                client.post()
        self.assertEqual([event.status for event in heard if isinstance(event, leads.TryEnded)], [None])

    @both
    def test_a_try_takes_time(self, kind: Kind) -> None:
        heard: list[leads.Event] = []
        with Server(SILENCE) as server:
            with kind(server.url, tries=1, try_timeout=0.05, observer=heard.append) as client:
                with self.assertRaises(leads.UnavailableError):
                    client.post()
        self.assertGreaterEqual(next(event.duration for event in heard if isinstance(event, leads.TryEnded)), 0.05)

    @both
    def test_what_an_observer_raises_is_logged_and_changes_nothing(self, kind: Kind) -> None:
        def fail(event: leads.Event) -> None:
            raise ValueError("cannot count")

        with Server(ACCEPTED) as server, kind(server.url, observer=fail) as client:
            with self.assertLogs("leads_python", "ERROR") as logs:
                taken = client.post()
        self.assertEqual(taken.status, "accepted")
        self.assertIn("cannot count", logs.output[0])

    @both
    def test_a_key_check_and_the_vocabulary_are_heard_of_too(self, kind: Kind) -> None:
        heard: list[leads.Event] = []
        with Server(ACCEPTED) as server, kind(server.url, tries=1, observer=heard.append) as client:
            with self.assertRaises(leads.UnavailableError):
                client.check_key()
            with self.assertRaises(leads.UnavailableError):
                client.vocabulary()
        self.assertEqual([event.method for event in heard if isinstance(event, leads.TryEnded)], ["POST", "GET"])
